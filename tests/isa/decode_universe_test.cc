// Every form of every instruction of gfx90a, decoded: nothing that LLVM's description or its assembly text names may be
// missing from what an Instr says, and the other way round.
#include "isa/decode.h"

#include "isa/disassembler.h"
#include "isa/llvm_mc.h"
#include "isa/opcode_universe.h"
#include "isa/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <regex>
#include <set>

namespace luthier::isa {
namespace {

const Target &gfx90a() { return *findTarget("gfx90a"); }

struct Example {
  std::string mnemonic;
  std::vector<uint8_t> bytes;
};

/// One per form. Registers are those of zero operands, mostly, and as many as there are.
const std::vector<Example> &examples() {
  static const std::vector<Example> all = [] {
    std::vector<Example> result;
    auto universe = opcodeUniverse(gfx90a());
    EXPECT_TRUE(universe);
    for (const OpcodeEntry &opcode : universe->opcodes)
      for (const OpcodeForm &form : opcode.forms) {
        std::vector<uint8_t> bytes(16);
        memcpy(bytes.data(), &form.bits, sizeof form.bits);
        result.push_back({opcode.mnemonic, std::move(bytes)});
      }
    return result;
  }();
  return all;
}

/// Calls `check` with every form's instruction.
template <typename Check> void forEach(Check &&check) {
  auto decoder = Decoder::create(gfx90a());
  auto disassembler = Disassembler::create(gfx90a());
  ASSERT_TRUE(decoder);
  ASSERT_TRUE(disassembler);
  ASSERT_GE(examples().size(), 2000u);
  for (const Example &example : examples()) {
    auto found = (*disassembler)->disassemble(example.bytes, 0);
    ASSERT_TRUE(found) << example.mnemonic;
    // s_endpgm behind it, lest zeros at its end be taken for padding.
    std::vector<uint8_t> bytes(example.bytes.begin(), example.bytes.begin() + found->size);
    bytes.insert(bytes.end(), {0, 0, 0x81, 0xbf});
    auto sequence = (*decoder)->decode(bytes, 0);
    ASSERT_TRUE(sequence) << example.mnemonic << ": " << sequence.error().message();
    ASSERT_EQ(sequence->instrs().size(), 2u) << example.mnemonic;
    const Instr &instr = sequence->instrs()[0];
    SCOPED_TRACE((*decoder)->text(instr));
    check(instr, (*decoder)->text(instr), example);
  }
}

RegSet setOf(std::span<const RegRange> ranges) {
  RegSet set;
  for (const RegRange &range : ranges)
    set.insert(range);
  return set;
}

/// Every register that assembly text names. Names that stand for no register of ours (apertures) are left out.
RegSet named(const std::string &text) {
  RegSet set;
  static const std::regex kNumbered(R"(\b([vsa])(?:(\d+)|\[(\d+):(\d+)\]))");
  for (auto it = std::sregex_iterator(text.begin(), text.end(), kNumbered); it != std::sregex_iterator(); ++it) {
    const std::smatch &match = *it;
    const Reg base = match[1] == "v" ? Reg::V0 : match[1] == "a" ? Reg::A0 : Reg::S0;
    const auto first = static_cast<unsigned>(std::stoul(match[2].matched ? match[2] : match[3]));
    const auto last = static_cast<unsigned>(std::stoul(match[2].matched ? match[2] : match[4]));
    for (unsigned n = first; n <= last; ++n)
      set.insert(base + n);
  }
  static const std::map<std::string, RegRange> kNames = {
      {"vcc", {Reg::VccLo, 2}},   {"vcc_lo", {Reg::VccLo, 1}},   {"vcc_hi", {Reg::VccHi, 1}},
      {"exec", {Reg::ExecLo, 2}}, {"exec_lo", {Reg::ExecLo, 1}}, {"exec_hi", {Reg::ExecHi, 1}},
      {"m0", {Reg::M0, 1}},       {"src_scc", {Reg::Scc, 1}},    {"flat_scratch", {Reg::FlatScrLo, 2}},
  };
  static const std::regex kWord(R"([a-z_0-9]+)");
  for (auto it = std::sregex_iterator(text.begin(), text.end(), kWord); it != std::sregex_iterator(); ++it)
    if (const auto found = kNames.find(it->str()); found != kNames.end())
      set.insert(found->second);
  return set;
}

TEST(DecodeUniverse, MnemonicsAreLlvms) {
  forEach([](const Instr &instr, const std::string &text, const Example &example) {
    EXPECT_EQ(instr.mnemonic(), example.mnemonic);
    EXPECT_TRUE(text.starts_with(example.mnemonic));
  });
}

TEST(DecodeUniverse, RegistersAreThoseOfTheText) {
  // Registers that an encoding implies without a trace in the text.
  RegSet implied;
  for (const RegRange range : {RegRange{Reg::ExecLo, 2}, RegRange{Reg::VccLo, 2}, RegRange{Reg::Scc, 1},
                               RegRange{Reg::Mode, 1}, RegRange{Reg::M0, 1}, RegRange{Reg::FlatScrLo, 2}})
    implied.insert(range);
  forEach([&](const Instr &instr, const std::string &text, const Example &) {
    const RegSet inText = named(text.substr(text.find(' ') == std::string::npos ? text.size() : text.find(' ')));
    const RegSet touched = setOf(instr.reads()) | setOf(instr.writes());
    const RegSet missing = inText - touched;
    for (unsigned n = 0; n < number(Reg::End); ++n)
      EXPECT_FALSE(missing.contains(static_cast<Reg>(n))) << toString(static_cast<Reg>(n)) << " is missing";
    // Nor more, but for what depends on an index and on an image's kind.
    if (instr.is(Property::Indexed) || instr.memorySpace() == MemorySpace::Image)
      return;
    const RegSet more = touched - inText - implied;
    for (unsigned n = 0; n < number(Reg::End); ++n)
      EXPECT_FALSE(more.contains(static_cast<Reg>(n))) << toString(static_cast<Reg>(n)) << " is not in the text";
  });
}

TEST(DecodeUniverse, WritesWhatLlvmSaysItDefines) {
  auto mc = LlvmMc::create(gfx90a(), 64);
  ASSERT_TRUE(mc);
  forEach([&](const Instr &instr, const std::string &, const Example &example) {
    llvm::MCInst inst;
    uint64_t size = 0;
    ASSERT_TRUE((*mc)->decode(example.bytes, 0, inst, size));
    EXPECT_EQ(inst.getOpcode(), instr.form_);
    const llvm::MCInstrDesc &desc = (*mc)->instructions->get(inst.getOpcode());
    // MODE is written by s_setreg only if it is the register named.
    RegSet writes = setOf(instr.writes());
    if (example.mnemonic.starts_with("s_setreg"))
      writes.insert(Reg::Mode);
    // The manual knows no SCC there, nor does the virtual GPU.
    if (example.mnemonic == "s_setvskip")
      writes.insert(Reg::Scc);
    const auto expectIn = [&](const RegSet &set, unsigned reg) {
      // LLVM's alias of each 32-bit part by its own means.
      std::string name = (*mc)->registers->getName(reg);
      for (llvm::MCRegUnitIterator unit(reg, (*mc)->registers.get()); unit.isValid(); ++unit) {
        llvm::MCRegUnitRootIterator root(*unit, (*mc)->registers.get());
        const std::string part = (*mc)->registers->getName(*root);
        if (part.ends_with("_HI16"))
          continue;
        std::string text = part.substr(0, part.find("_LO16"));
        if (text.starts_with("VGPR"))
          EXPECT_TRUE(set.contains(vgpr(static_cast<unsigned>(std::stoul(text.substr(4)))))) << name;
        else if (text.starts_with("AGPR"))
          EXPECT_TRUE(set.contains(agpr(static_cast<unsigned>(std::stoul(text.substr(4)))))) << name;
        else if (text.starts_with("SGPR"))
          EXPECT_TRUE(set.contains(sgpr(static_cast<unsigned>(std::stoul(text.substr(4)))))) << name;
        else if (text == "VCC_LO" || text == "VCC_HI")
          EXPECT_TRUE(set.contains(text == "VCC_LO" ? Reg::VccLo : Reg::VccHi)) << name;
        else if (text == "EXEC_LO" || text == "EXEC_HI")
          EXPECT_TRUE(set.contains(text == "EXEC_LO" ? Reg::ExecLo : Reg::ExecHi)) << name;
        else if (text == "SCC" || text == "MODE")
          EXPECT_TRUE(set.contains(text == "SCC" ? Reg::Scc : Reg::Mode)) << name;
        else if (text.starts_with("M0"))
          EXPECT_TRUE(set.contains(Reg::M0)) << name;
        else
          ADD_FAILURE() << "what is " << text;
      }
    };
    for (unsigned n = 0; n < desc.getNumDefs(); ++n)
      if (inst.getOperand(n).isReg() && inst.getOperand(n).getReg())
        expectIn(writes, inst.getOperand(n).getReg());
    for (const llvm::MCPhysReg reg : desc.implicit_defs())
      expectIn(writes, reg);
    // And reads what is tied to a destination.
    for (unsigned n = desc.getNumDefs(); n < desc.getNumOperands() && n < inst.getNumOperands(); ++n)
      if (const int tied = desc.getOperandConstraint(n, llvm::MCOI::TIED_TO);
          tied >= 0 && instr.is(Property::CrossLane) == false && inst.getOperand(n).isReg())
        expectIn(setOf(instr.reads()), inst.getOperand(static_cast<unsigned>(tied)).getReg());
  });
}

TEST(DecodeUniverse, PropertiesAreConsistent) {
  forEach([](const Instr &instr, const std::string &text, const Example &) {
    const bool memory = instr.is(Property::Load) || instr.is(Property::Store);
    EXPECT_EQ(instr.memory().has_value(), memory);
    if (memory) {
      EXPECT_NE(instr.memorySpace(), MemorySpace::None);
      EXPECT_GT(instr.memory()->bytes, 0);
      EXPECT_EQ(instr.memory()->result.empty(), !instr.is(Property::Load) || instr.memory()->toLds);
      if (instr.is(Property::Store) && !text.starts_with("ds_append") && !text.starts_with("ds_consume") &&
          !text.starts_with("buffer_store_lds") && text.find("_src2_") == std::string::npos) {
        EXPECT_FALSE(instr.memory()->data.empty());
      }
    }
    if (instr.is(Property::Atomic)) {
      EXPECT_TRUE(instr.is(Property::Store));
    }
    EXPECT_EQ(instr.is(Property::WritesExec), setOf(instr.writes()).containsAny({Reg::ExecLo, 2}));
    if (instr.is(Property::Branch)) {
      EXPECT_TRUE(instr.target());
      EXPECT_TRUE(instr.is(Property::Terminator));
    }
    EXPECT_FALSE(instr.is(Property::Scalar) && instr.is(Property::Vector));
    // Lanes matter to all but scalar instructions, and to few of those.
    if (!instr.is(Property::Scalar) && !instr.is(Property::IgnoresExec)) {
      EXPECT_TRUE(setOf(instr.reads()).containsAny({Reg::ExecLo, 2}));
    }
  });
}

TEST(DecodeUniverse, FewInstructionsHaveNoProperty) {
  std::set<std::string_view> none;
  forEach([&](const Instr &instr, const std::string &, const Example &) {
    if (!instr.properties_)
      none.insert(instr.mnemonic());
  });
  EXPECT_THAT(none,
              testing::UnorderedElementsAre("buffer_invl2", "buffer_wbinvl1", "buffer_wbinvl1_vol", "buffer_wbl2",
                                            "ds_gws_barrier", "ds_gws_init", "ds_gws_sema_br", "ds_gws_sema_p",
                                            "ds_gws_sema_release_all", "ds_gws_sema_v", "ds_nop", "image_get_resinfo"));
}

} // namespace
} // namespace luthier::isa
