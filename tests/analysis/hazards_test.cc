// Wait states against two judges: what LLVM inserts between all pairs of some hundred instructions, and code that
// others have compiled, which must have no pair that is too close.

#include "analysis/callgraph.h"
#include "analysis/hazards.h"
#include "analysis/program.h"
#include "analysis/replays.h"
#include "code.h"
#include "object/container.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <unistd.h>

namespace luthier::analysis {
namespace {

using test::Code;

/// Wait states that a pair needs which has nothing between.
unsigned waitStatesBetween(const isa::Target &target, const Instr &earlier, const Instr &later) {
  const Instr *before[] = {&earlier}, *after[] = {&later};
  return missingWaitStates(target, before, after);
}

/// An instruction with bytes of its own.
struct Decoded {
  std::vector<uint8_t> bytes;
  isa::InstrSequence sequence;
  const Instr &instr() const { return sequence.instrs()[0]; }
};

struct Generation {
  std::string name; ///< in hazard_instructions.txt
  std::string target;
};
void PrintTo(const Generation &generation, std::ostream *stream) { *stream << generation.target; }

std::vector<std::string> instructionsFor(const std::string &generation) {
  std::vector<std::string> list;
  std::ifstream file(HAZARD_INSTRUCTIONS);
  for (std::string line; std::getline(file, line);) {
    const size_t bar = line.find(" | ");
    if (line.starts_with('#') || bar == line.npos)
      continue;
    std::istringstream names(line.substr(0, bar));
    for (std::string name; names >> name;)
      if (name == generation)
        list.push_back(line.substr(bar + 3));
  }
  return list;
}

class HazardJudge : public testing::TestWithParam<Generation> {
protected:
  /// What LLVM makes of functions of two instructions each: the instructions' bytes, nops between them included.
  static std::vector<std::vector<std::vector<uint8_t>>> compile(const std::string &target,
                                                                const std::vector<std::string> &functions,
                                                                const std::string &attributes = "-xnack") {
    const std::string base = testing::TempDir() + "/hazards-" + target + "-" + std::to_string(getpid());
    {
      std::ofstream file(base + ".mir");
      for (size_t n = 0; n < functions.size(); ++n)
        file << "---\nname: f" << n << "\nbody: |\n  bb.0:\n" << functions[n] << "    S_ENDPGM 0\n...\n";
    }
    const std::string command = std::string(LLC) + " -mtriple=amdgcn-amd-amdhsa -mcpu=" + target +
                                " -mattr=" + attributes + " -start-before=post-RA-hazard-rec -show-mc-encoding " +
                                base + ".mir -o " + base + ".s";
    EXPECT_EQ(system(command.c_str()), 0) << command;
    std::vector<std::vector<std::vector<uint8_t>>> result(functions.size());
    std::vector<std::vector<uint8_t>> *current = nullptr;
    std::ifstream file(base + ".s");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with('f') && line.find(':') != line.npos)
        current = &result.at(std::stoul(line.substr(1)));
      const size_t at = line.find("encoding: [");
      if (at == line.npos || !current)
        continue;
      std::vector<uint8_t> &bytes = current->emplace_back();
      for (const char *next = line.c_str() + at + 11; next[-1] != ']';) {
        char *end;
        bytes.push_back(static_cast<uint8_t>(strtoul(next, &end, 16)));
        next = end + 1;
      }
      if (line.find("s_endpgm") != line.npos) {
        current->pop_back();
        current = nullptr;
      }
    }
    std::filesystem::remove(base + ".mir");
    std::filesystem::remove(base + ".s");
    return result;
  }
  /// Compares what LLVM puts between two instructions with what we say.
  static void expectSame(const isa::Target &target, const std::vector<std::string> &functions) {
    const auto compiled = compile(std::string(target.name), functions);
    const auto decoder = isa::Decoder::create(target);
    ASSERT_TRUE(decoder) << decoder.error().message();
    const auto decode = [&](const std::vector<uint8_t> &bytes) {
      Decoded decoded{bytes, {}};
      auto sequence = (*decoder)->decodeOne(decoded.bytes, 0);
      EXPECT_TRUE(sequence) << sequence.error().message();
      decoded.sequence = *std::move(sequence);
      return decoded;
    };
    unsigned hazards = 0, differences = 0;
    std::map<unsigned, unsigned> byStates;
    for (size_t n = 0; n < compiled.size(); ++n) {
      SCOPED_TRACE(functions[n]);
      ASSERT_GE(compiled[n].size(), 2u);
      const Decoded first = decode(compiled[n].front()), second = decode(compiled[n].back());
      unsigned inserted = 0;
      for (size_t k = 1; k + 1 < compiled[n].size(); ++k)
        if (const Decoded between = decode(compiled[n][k]); between.instr().opcode() == Opcode::S_NOP)
          inserted += waitStatesOf(target, between.instr());
      const unsigned ours = waitStatesBetween(target, first.instr(), second.instr());
      // LLVM leaves out what the manual says of matrix instructions behind dot products, and forgets what it knows of
      // LDS where it is GDS.
      const bool mayBeMore = (first.instr().mnemonic().starts_with("v_dot") && second.instr().is(Property::Matrix)) ||
                             second.instr().memorySpace() == MemorySpace::Gds;
      // It takes op_sel_hi of packed instructions for the bit that chooses a half of the result.
      const bool mayBeLess =
          target.hazards == isa::HazardSet::Gfx940 && inserted == 1 && first.instr().mnemonic().starts_with("v_dot");
      if (!(ours == inserted || (mayBeMore && ours > inserted) || (mayBeLess && ours < inserted))) {
        if (++differences <= 10)
          ADD_FAILURE() << "LLVM " << inserted << ", we " << ours;
      }
      EXPECT_LE(ours, hazardWindow(target));
      hazards += inserted > 0;
      ++byStates[inserted];
    }
    EXPECT_EQ(differences, 0u);
    EXPECT_GT(hazards, 0u);
    printf("%s: %zu pairs, %u with wait states:", std::string(target.name).c_str(), compiled.size(), hazards);
    for (const auto &[states, count] : byStates)
      if (states)
        printf(" %u x %u", count, states);
    printf("\n");
  }
};

TEST_P(HazardJudge, AgreesWithLlvmOnAllPairs) {
  const isa::Target &target = *isa::findTarget(GetParam().target);
  const std::vector<std::string> instructions = instructionsFor(GetParam().name);
  ASSERT_GE(instructions.size(), 5u);
  std::vector<std::string> functions;
  for (const std::string &earlier : instructions)
    for (const std::string &later : instructions) {
      // Nothing comes behind the one; LLVM 19 crashes at what comes behind the other.
      if (earlier.starts_with("S_RFE") || earlier.starts_with("GLOBAL_LOAD_LDS"))
        continue;
      functions.push_back("    " + earlier + "\n    " + later + "\n");
    }
  expectSame(target, functions);
}

// Sequences as they come: at every gap, what is missing behind all that went before.
TEST_P(HazardJudge, AgreesWithLlvmOnSequences) {
  const isa::Target &target = *isa::findTarget(GetParam().target);
  std::vector<std::string> instructions = instructionsFor(GetParam().name);
  std::erase_if(instructions, [](const std::string &text) { // where the two differ, or nothing follows
    return text.find("S_RFE") != text.npos || text.find("GLOBAL_LOAD_LDS") != text.npos ||
           text.find("V_DOT") != text.npos || text.find("DS_ADD_RTN") != text.npos;
  });
  constexpr unsigned kFunctions = 1500, kLength = 12;
  std::mt19937 random(1);
  std::vector<std::string> functions;
  for (unsigned n = 0; n < kFunctions; ++n) {
    std::string body;
    for (unsigned k = 0; k < kLength; ++k)
      body += "    " + instructions[random() % instructions.size()] + "\n";
    functions.push_back(body);
  }
  const auto compiled = compile(GetParam().target, functions);
  const auto decoder = isa::Decoder::create(target);
  ASSERT_TRUE(decoder) << decoder.error().message();
  unsigned gaps = 0, differences = 0;
  for (size_t n = 0; n < compiled.size(); ++n) {
    SCOPED_TRACE(functions[n]);
    std::vector<uint8_t> code;
    for (const std::vector<uint8_t> &bytes : compiled[n])
      code.insert(code.end(), bytes.begin(), bytes.end());
    const auto sequence = (*decoder)->decode(code, 0);
    ASSERT_TRUE(sequence) << sequence.error().message();
    std::vector<const Instr *> before;
    unsigned inserted = 0;
    std::vector<const Instr *> nops;
    for (const Instr &instr : sequence->instrs()) {
      if (instr.opcode() == Opcode::S_NOP) {
        inserted += waitStatesOf(target, instr);
        nops.push_back(&instr);
        continue;
      }
      const Instr *after[] = {&instr};
      const unsigned ours = missingWaitStates(target, before, after);
      gaps += inserted > 0;
      if (ours != inserted && ++differences <= 10)
        ADD_FAILURE() << std::hex << instr.address() << std::dec << " " << instr.mnemonic() << ": LLVM " << inserted
                      << ", we " << ours;
      before.insert(before.end(), nops.begin(), nops.end());
      nops.clear();
      inserted = 0;
      before.push_back(&instr);
    }
    const auto fine = verifyHazards(target, Cfg::build(sequence->instrs(), {}));
    EXPECT_TRUE(fine) << fine.error().message();
  }
  EXPECT_EQ(differences, 0u);
  EXPECT_GT(gaps, 0u);
}

class ReplayJudge : public HazardJudge {};

// Where accesses may be repeated, LLVM ends runs of memory instructions as we do, we more for FLAT and its like.
TEST_P(ReplayJudge, AgreesWithLlvmOnReplays) {
  const isa::Target &target = *isa::findTarget(GetParam().target);
  const std::vector<std::string> instructions = {
      "$sgpr4 = S_LOAD_DWORD_IMM $sgpr0_sgpr1, 0, 0",
      "$sgpr6_sgpr7 = S_LOAD_DWORDX2_IMM $sgpr4_sgpr5, 8, 0",
      "$sgpr0_sgpr1 = S_LOAD_DWORDX2_IMM $sgpr10_sgpr11, 8, 0",
      "$sgpr10 = S_BUFFER_LOAD_DWORD_IMM $sgpr12_sgpr13_sgpr14_sgpr15, 8, 0",
      "$vgpr0 = BUFFER_LOAD_DWORD_OFFEN $vgpr1, $sgpr12_sgpr13_sgpr14_sgpr15, 0, 0, 0, 0, implicit $exec",
      "$vgpr1 = BUFFER_LOAD_DWORD_OFFEN $vgpr2, $sgpr12_sgpr13_sgpr14_sgpr15, 0, 0, 0, 0, implicit $exec",
      "$vgpr2_vgpr3 = BUFFER_LOAD_DWORDX2_OFFSET $sgpr12_sgpr13_sgpr14_sgpr15, 0, 0, 0, 0, implicit $exec",
      "BUFFER_STORE_DWORD_OFFEN_exact $vgpr4, $vgpr1, $sgpr12_sgpr13_sgpr14_sgpr15, 0, 0, 0, 0, implicit $exec",
      "$vgpr8 = V_MOV_B32_e32 1, implicit $exec",
      "$sgpr20 = S_MOV_B32 1",
  };
  constexpr unsigned kFunctions = 400, kLength = 5;
  std::mt19937 random(2);
  std::vector<std::string> functions;
  for (unsigned n = 0; n < kFunctions; ++n) {
    std::string body;
    for (unsigned k = 0; k < kLength; ++k)
      body += "    " + instructions[random() % instructions.size()] + "\n";
    functions.push_back(body);
  }
  const auto compiled = compile(GetParam().target, functions, "+xnack");
  const auto decoder = isa::Decoder::create(target);
  ASSERT_TRUE(decoder) << decoder.error().message();
  unsigned broken = 0, differences = 0;
  for (size_t n = 0; n < compiled.size(); ++n) {
    SCOPED_TRACE(functions[n]);
    std::vector<uint8_t> code;
    for (const std::vector<uint8_t> &bytes : compiled[n])
      code.insert(code.end(), bytes.begin(), bytes.end());
    const auto sequence = (*decoder)->decode(code, 0);
    ASSERT_TRUE(sequence) << sequence.error().message();
    EXPECT_TRUE(verifyReplays(Cfg::build(sequence->instrs(), {})));
    std::vector<const Instr *> run;
    for (const Instr &instr : sequence->instrs()) {
      if (instr.opcode() == Opcode::S_NOP) {
        // Without it, the two would be one run.
        const Instr *after[] = {&instr + 1};
        ++broken;
        if (!needsBreak(run, after) && ++differences <= 10)
          ADD_FAILURE() << "LLVM breaks before " << (&instr + 1)->mnemonic();
        run.clear();
        continue;
      }
      const Instr *after[] = {&instr};
      // We mind stores whose operands get overwritten, too: where no load is in the run, LLVM does not.
      bool loads = false;
      for (size_t k = run.size(); k-- > 0 && run[k]->memorySpace() == instr.memorySpace();)
        loads |= run[k]->is(Property::Load);
      if (loads && needsBreak(run, after) && ++differences <= 10)
        ADD_FAILURE() << "LLVM does not break before " << instr.mnemonic();
      run.push_back(&instr);
    }
  }
  EXPECT_EQ(differences, 0u);
  EXPECT_GT(broken, 20u);
}

/// A tuple of registers as machine IR names it.
std::string tuple(const char *file, unsigned first, unsigned count) {
  std::string text = "$";
  for (unsigned n = 0; n < count; ++n)
    text += (n ? "_" : "") + std::string(file) + std::to_string(first + n);
  return text;
}

struct MatrixInstruction {
  const char *name; ///< LLVM's
  unsigned result, a, b;
  const char *generations;
};

// Each has a number of passes, which decides how long its result takes.
constexpr MatrixInstruction kMatrix[] = {
    {"V_MFMA_F32_32X32X1F32", 32, 1, 1, "908 90a 940"}, {"V_MFMA_F32_16X16X1F32", 16, 1, 1, "908 90a 940"},
    {"V_MFMA_F32_4X4X1F32", 4, 1, 1, "908 90a 940"},    {"V_MFMA_F32_32X32X2F32", 16, 1, 1, "908 90a 940"},
    {"V_MFMA_F32_16X16X4F32", 4, 1, 1, "908 90a 940"},  {"V_MFMA_F32_32X32X4F16", 32, 2, 2, "908 90a 940"},
    {"V_MFMA_F32_16X16X4F16", 16, 2, 2, "908 90a 940"}, {"V_MFMA_F32_4X4X4F16", 4, 2, 2, "908 90a 940"},
    {"V_MFMA_F32_32X32X8F16", 16, 2, 2, "908 90a 940"}, {"V_MFMA_F32_16X16X16F16", 4, 2, 2, "908 90a 940"},
    {"V_MFMA_I32_32X32X4I8", 32, 1, 1, "908 90a 940"},  {"V_MFMA_I32_16X16X4I8", 16, 1, 1, "908 90a 940"},
    {"V_MFMA_I32_4X4X4I8", 4, 1, 1, "908 90a 940"},     {"V_MFMA_I32_32X32X8I8", 16, 1, 1, "908 90a"},
    {"V_MFMA_I32_16X16X16I8", 4, 1, 1, "908 90a"},      {"V_MFMA_I32_32X32X16I8", 16, 2, 2, "940"},
    {"V_MFMA_I32_16X16X32I8", 4, 2, 2, "940"},          {"V_MFMA_F32_32X32X2BF16", 32, 1, 1, "908 90a"},
    {"V_MFMA_F32_16X16X2BF16", 16, 1, 1, "908 90a"},    {"V_MFMA_F32_4X4X2BF16", 4, 1, 1, "908 90a"},
    {"V_MFMA_F32_32X32X4BF16", 16, 1, 1, "908 90a"},    {"V_MFMA_F32_16X16X8BF16", 4, 1, 1, "908 90a"},
    {"V_MFMA_F32_32X32X4BF16_1K", 32, 2, 2, "90a 940"}, {"V_MFMA_F32_16X16X4BF16_1K", 16, 2, 2, "90a 940"},
    {"V_MFMA_F32_4X4X4BF16_1K", 4, 2, 2, "90a 940"},    {"V_MFMA_F32_32X32X8BF16_1K", 16, 2, 2, "90a 940"},
    {"V_MFMA_F32_16X16X16BF16_1K", 4, 2, 2, "90a 940"}, {"V_MFMA_F64_16X16X4F64", 8, 2, 2, "90a 940"},
    {"V_MFMA_F64_4X4X4F64", 2, 2, 2, "90a 940"},        {"V_MFMA_F32_16X16X8XF32", 4, 2, 2, "940"},
    {"V_MFMA_F32_32X32X4XF32", 16, 2, 2, "940"},        {"V_MFMA_F32_16X16X32_BF8_FP8", 4, 2, 2, "940"},
    {"V_MFMA_F32_32X32X16_FP8_BF8", 16, 2, 2, "940"},   {"V_SMFMAC_F32_16X16X32_F16", 4, 2, 4, "940"},
    {"V_SMFMAC_F32_32X32X16_F16", 16, 2, 4, "940"},     {"V_SMFMAC_F32_16X16X32_BF16", 4, 2, 4, "940"},
    {"V_SMFMAC_F32_32X32X16_BF16", 16, 2, 4, "940"},    {"V_SMFMAC_I32_16X16X64_I8", 4, 2, 4, "940"},
    {"V_SMFMAC_I32_32X32X32_I8", 16, 2, 4, "940"},      {"V_SMFMAC_F32_16X16X64_BF8_BF8", 4, 2, 4, "940"},
    {"V_SMFMAC_F32_32X32X32_FP8_FP8", 16, 2, 4, "940"},
};

TEST_P(HazardJudge, KnowsHowLongMatrixInstructionsTake) {
  const isa::Target &target = *isa::findTarget(GetParam().target);
  if (!target.accVgprs)
    return; // it has none
  const bool unified = target.unifiedVgprs;
  const std::string file = unified ? "vgpr" : "agpr";
  const auto text = [&](const MatrixInstruction &m, unsigned result, unsigned c, unsigned a) {
    const std::string sources = tuple("vgpr", a, m.a) + ", " + tuple("vgpr", 72, m.b) + ", ";
    const std::string name = m.name;
    if (name.starts_with("V_SMFMAC"))
      return tuple(file.c_str(), result, m.result) + " = " + name + "_e64 " + sources + "$vgpr80, 0, 0, " +
             tuple(file.c_str(), result, m.result) + ", implicit $mode, implicit $exec";
    return tuple(file.c_str(), result, m.result) + " = " + name + (unified ? "_vgprcd_e64 " : "_e64 ") + sources +
           tuple(file.c_str(), c, m.result) + ", 0, 0, 0, implicit $mode, implicit $exec";
  };
  std::vector<const MatrixInstruction *> known;
  for (const MatrixInstruction &m : kMatrix)
    if ((" " + std::string(m.generations) + " ").find(" " + GetParam().name + " ") != std::string::npos)
      known.push_back(&m);
  std::vector<std::string> functions;
  for (const MatrixInstruction *first : known) {
    const std::string earlier = "    " + text(*first, 0, 0, 64) + "\n    ";
    const std::string shifted = "    " + text(*first, 0, 32, 64) + "\n    "; // C is elsewhere
    for (const MatrixInstruction *second : known) {
      functions.push_back(earlier + text(*second, 0, 0, 64) + "\n");  // accumulates further, or overlaps
      functions.push_back(shifted + text(*second, 2, 2, 64) + "\n");  // overlaps
      functions.push_back(shifted + text(*second, 32, 32, 0) + "\n"); // reads as A
    }
    for (const std::string &start : {earlier, shifted})
      if (unified) {
        functions.push_back(start + "$vgpr96 = V_ADD_F32_e32 $vgpr1, $vgpr97, implicit $mode, implicit $exec\n");
        functions.push_back(start + "$vgpr0 = V_MOV_B32_e32 1, implicit $exec\n");
        functions.push_back(start + "$vgpr33 = V_MOV_B32_e32 1, implicit $exec\n");
        functions.push_back(start + "GLOBAL_STORE_DWORD $vgpr96_vgpr97, $vgpr1, 0, 0, implicit $exec\n");
        functions.push_back(start + "$vgpr0 = DS_READ_B32_gfx9 $vgpr96, 0, 0, implicit $exec\n");
      } else {
        functions.push_back(start + "$vgpr96 = V_ACCVGPR_READ_B32_e64 $agpr1, implicit $exec\n");
        functions.push_back(start + "$agpr1 = V_ACCVGPR_WRITE_B32_e64 $vgpr1, implicit $exec\n");
        functions.push_back(start + "$agpr33 = V_ACCVGPR_WRITE_B32_e64 $vgpr1, implicit $exec\n");
      }
  }
  expectSame(target, functions);
}

INSTANTIATE_TEST_SUITE_P(Targets, HazardJudge,
                         testing::Values(Generation{"8", "gfx803"}, Generation{"9", "gfx900"},
                                         Generation{"9", "gfx906"}, Generation{"908", "gfx908"},
                                         Generation{"90a", "gfx90a"}, Generation{"940", "gfx940"},
                                         Generation{"940", "gfx942"}, Generation{"10", "gfx1030"}),
                         [](const auto &parameter) { return parameter.param.target; });
// Others repeat no access.
INSTANTIATE_TEST_SUITE_P(Targets, ReplayJudge,
                         testing::Values(Generation{"9", "gfx900"}, Generation{"9", "gfx906"},
                                         Generation{"908", "gfx908"}, Generation{"90a", "gfx90a"},
                                         Generation{"940", "gfx940"}, Generation{"940", "gfx942"}),
                         [](const auto &parameter) { return parameter.param.target; });

class CompiledCode : public testing::TestWithParam<const char *> {};

// Compiled code keeps its distances, in loops and across branches; with one of its s_nop shortened, it does not. LLVM
// waits too long where paths meet: the longest instruction of one counts from the nearest of another.
TEST_P(CompiledCode, IsAsTightAsItMayBe) {
  const auto container = object::Container::open(std::string(HAZARD_OBJECTS) + "/hazards." + GetParam() + ".co");
  ASSERT_TRUE(container) << container.error().message();
  const auto images = container->images();
  ASSERT_TRUE(images) << images.error().message();
  const auto object = images->at(0).codeObject();
  ASSERT_TRUE(object) << object.error().message();
  const auto program = Program::create(*object);
  ASSERT_TRUE(program) << program.error().message();
  const auto graph = CallGraph::build(**program);
  ASSERT_TRUE(graph) << graph.error().message();
  const isa::Target &target = object->target();
  const auto decoder = isa::Decoder::create(target);
  ASSERT_TRUE(decoder) << decoder.error().message();
  unsigned nops = 0, needed = 0;
  for (const CallNode &node : graph->nodes()) {
    SCOPED_TRACE(node.symbol->name);
    const Cfg &cfg = node.function->cfg();
    const auto fine = verifyHazards(target, cfg);
    EXPECT_TRUE(fine) << fine.error().message();
    const auto instrs = cfg.instrs();
    std::vector<uint8_t> code(instrs.front().bytes().data(),
                              instrs.back().bytes().data() + instrs.back().bytes().size());
    for (const Instr &instr : instrs) {
      if (instr.opcode() != Opcode::S_NOP || instr.operands()[0].value == 0)
        continue;
      ++nops;
      const size_t at = instr.address() - instrs.front().address();
      --code[at];
      const auto tighter = (*decoder)->decode(code, instrs.front().address());
      ASSERT_TRUE(tighter) << tighter.error().message();
      needed += !verifyHazards(target, Cfg::build(tighter->instrs(), {}));
      ++code[at];
    }
  }
  EXPECT_GE(needed, 4u);
  EXPECT_LE(nops - needed, nops / 10);
  printf("%s: %u of %u s_nop could not be shorter\n", GetParam(), needed, nops);
}

INSTANTIATE_TEST_SUITE_P(Targets, CompiledCode, testing::Values("gfx803", "gfx906", "gfx908", "gfx90a", "gfx942"),
                         [](const auto &parameter) { return parameter.param; });

std::string verdict(std::string_view source, std::string_view target = "gfx90a") {
  const Code code(source, {.target = target});
  const auto fine = verifyHazards(code.target(), code.cfg());
  return fine ? "" : fine.error().message();
}

TEST(VerifyHazards, NamesThePair) {
  EXPECT_EQ(verdict("v_readfirstlane_b32 s0, v0\n s_nop 1\n buffer_load_dword v1, off, s[0:3], 0\n s_endpgm"),
            "0x1008: buffer_load_dword must be 5 wait states behind v_readfirstlane_b32 at 0x1000, and is 2");
  EXPECT_EQ(verdict("v_readfirstlane_b32 s0, v0\n s_nop 4\n buffer_load_dword v1, off, s[0:3], 0\n s_endpgm"), "");
  EXPECT_EQ(verdict("v_readfirstlane_b32 s4, v0\n buffer_load_dword v1, off, s[0:3], 0\n s_endpgm"), "");
}

TEST(VerifyHazards, LooksAlongAllPaths) {
  // The short way round, and the loop's end before its start.
  EXPECT_NE(verdict(R"(
    v_mov_b32 v0, 1
    s_cbranch_scc0 near
    s_nop 4
  near:
    v_mov_b32_dpp v1, v0 row_shr:1
    s_endpgm)"),
            "");
  EXPECT_NE(verdict(R"(
    s_nop 0
  loop:
    v_mov_b32_dpp v1, v0 row_shr:1
    v_mov_b32 v0, 1
    s_cbranch_scc0 loop
    s_endpgm)"),
            "");
  EXPECT_EQ(verdict(R"(
    s_nop 0
  loop:
    v_mov_b32_dpp v1, v0 row_shr:1
    v_mov_b32 v0, 1
    s_nop 0
    s_cbranch_scc0 loop
    s_endpgm)"),
            "");
}

// Rules of the manuals that LLVM has no use for.
TEST(WaitStates, OfTheManualsOnly) {
  const auto between = [](std::string_view source, std::string_view target = "gfx90a") {
    const Code code(source, {.target = target});
    return waitStatesBetween(code.target(), code[0], code[1]);
  };
  EXPECT_EQ(between("v_cmp_eq_u32 vcc, v0, v1\n v_mov_b32 v2, src_vccz"), 5u);
  EXPECT_EQ(between("v_cmpx_eq_u32 vcc, v0, v1\n v_mov_b32 v2, src_execz"), 5u);
  EXPECT_EQ(between("s_mov_b64 vcc, 0\n v_mov_b32 v2, src_vccz"), 0u);
  EXPECT_EQ(between("s_setreg_b32 hwreg(HW_REG_MODE, 28, 1), s0\n v_mov_b32 v2, 1", "gfx906"), 2u);
  EXPECT_EQ(between("s_setreg_b32 hwreg(HW_REG_MODE, 0, 8), s0\n v_mov_b32 v2, 1", "gfx906"), 0u);
  EXPECT_EQ(between("s_setvskip s0, s1\n s_getreg_b32 s2, hwreg(HW_REG_MODE)", "gfx906"), 2u);
  EXPECT_EQ(between("s_mov_b32 m0, s0\n v_add_f32 v0, src_lds_direct, v1", "gfx906"), 1u);
  EXPECT_EQ(between("v_dot4_i32_i8 v0, v1, v2, v3\n v_mfma_f32_4x4x1f32 v[4:7], v0, v1, v[4:7]"), 3u);
}

TEST(WaitStates, AreCountedAcrossTheSeam) {
  const Code code("v_readfirstlane_b32 s0, v0\n s_nop 0\n v_mov_b32 v9, 0\n buffer_load_dword v1, off, s[0:3], 0");
  const Instr *all[] = {&code[0], &code[1], &code[2], &code[3]};
  for (size_t seam = 1; seam < 4; ++seam)
    EXPECT_EQ(missingWaitStates(code.target(), std::span(all).first(seam), std::span(all).subspan(seam)), 3u);
  // Both on one side are somebody else's.
  EXPECT_EQ(missingWaitStates(code.target(), all, {}), 0u);
  EXPECT_EQ(missingWaitStates(code.target(), {}, all), 0u);
  EXPECT_EQ(missingWaitStates(*isa::findTarget("gfx1100"), std::span(all).first(1), std::span(all).subspan(1)), 0u);
  EXPECT_EQ(hazardWindow(*isa::findTarget("gfx1100")), 0u);
  EXPECT_EQ(hazardWindow(*isa::findTarget("gfx906")), 5u);
  EXPECT_EQ(hazardWindow(*isa::findTarget("gfx90a")), 19u);
}

// What lies between can make a pair need more: on either side of the seam.
TEST(WaitStates, DependOnWhatIsBetween) {
  const Code code("v_mov_b32 v20, 0\n v_mfma_f64_4x4x4f64 v[0:1], v[2:3], v[4:5], v[0:1]\n"
                  " global_store_dword v[30:31], v20, off\n v_mov_b32 v21, 0");
  const Instr *all[] = {&code[0], &code[1], &code[2]}, *plain[] = {&code[0], &code[3], &code[2]};
  for (size_t seam = 1; seam < 3; ++seam) {
    EXPECT_EQ(missingWaitStates(code.target(), std::span(all).first(seam), std::span(all).subspan(seam)), 1u);
    EXPECT_EQ(missingWaitStates(code.target(), std::span(plain).first(seam), std::span(plain).subspan(seam)), 0u);
  }
}

} // namespace
} // namespace luthier::analysis
