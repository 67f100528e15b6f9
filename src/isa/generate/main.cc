// Writes what the isa layer knows of LLVM's tables: `generate HEADER SOURCE`.
//
// HEADER is luthier/opcode.h, the enumeration of all mnemonics of all generations. SOURCE has the tables of isa/form.h.
// Both are made from the LLVM that is installed, so that numbers of instructions and registers always agree with the
// LLVM that decodes.

#include "isa/form.h"
#include "isa/generate/classify.h"
#include "isa/generate/llvm_tables.h"
#include "isa/generate/roles.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

namespace luthier::isa::generate {

namespace {

// --- Registers ---------------------------------------------------------------------------------------------------

bool consume(std::string_view &text, std::string_view prefix) {
  if (!text.starts_with(prefix))
    return false;
  text.remove_prefix(prefix.size());
  return true;
}

RegisterRow rangeRow(Reg first, unsigned count) {
  return {static_cast<uint16_t>(number(first)), static_cast<uint8_t>(count), 0, false};
}

/// The registers behind LLVM's name of one: "VGPR4_VGPR5", "SGPR3", "VCC_LO", "FLAT_SCR_vi", "VGPR0_HI16". None for
/// those that are no place to keep a value.
RegisterRow rowOf(const LlvmRegister &reg) {
  static constexpr std::pair<std::string_view, Reg> kNumbered[] = {
      {"VGPR", Reg::V0}, {"AGPR", Reg::A0}, {"SGPR", Reg::S0}, {"TTMP", Reg::Ttmp0}};
  struct Named {
    std::string_view prefix;
    Reg first;
    unsigned count;
  };
  // The longer ones first. FLAT_SCRATCH of gfx7 has another place, but gfx7 is no target.
  static constexpr Named kNamed[] = {
      {"VCC_LO", Reg::VccLo, 1},
      {"VCC_HI", Reg::VccHi, 1},
      {"VCC", Reg::VccLo, 2},
      {"EXEC_LO", Reg::ExecLo, 1},
      {"EXEC_HI", Reg::ExecHi, 1},
      {"EXEC", Reg::ExecLo, 2},
      {"FLAT_SCR_LO_vi", Reg::FlatScrLo, 1},
      {"FLAT_SCR_HI_vi", Reg::FlatScrHi, 1},
      {"FLAT_SCR_vi", Reg::FlatScrLo, 2},
      {"FLAT_SCR_LO", Reg::FlatScratchLo, 1},
      {"FLAT_SCR_HI", Reg::FlatScratchHi, 1},
      {"FLAT_SCR", Reg::FlatScratchLo, 2},
      {"XNACK_MASK_LO", Reg::XnackMaskLo, 1},
      {"XNACK_MASK_HI", Reg::XnackMaskHi, 1},
      {"XNACK_MASK", Reg::XnackMaskLo, 2},
      {"SGPR_NULL", Reg::Null, 1},
      {"M0", Reg::M0, 1},
      {"MODE", Reg::Mode, 1},
      {"SCC", Reg::Scc, 1},
      {"SRC_SCC", Reg::Scc, 1},
  };
  for (const auto &[prefix, first] : kNumbered) {
    std::string_view rest = reg.name;
    if (!consume(rest, prefix) || rest.empty() || rest[0] < '0' || rest[0] > '9')
      continue;
    const unsigned index = static_cast<unsigned>(std::stoul(std::string(rest)));
    unsigned count = 0;
    for (size_t at = reg.name.find(prefix); at != std::string::npos; at = reg.name.find(prefix, at + 1))
      ++count;
    RegisterRow row = rangeRow(first + index, count);
    row.high = reg.name.ends_with("_HI16");
    return row;
  }
  for (const Named &named : kNamed)
    if (std::string_view(reg.name).starts_with(named.prefix))
      return rangeRow(named.first, named.count);
  const bool computed = reg.name.starts_with("SRC_") || reg.name.starts_with("LDS_DIRECT");
  return {0, 0, static_cast<uint8_t>(computed ? reg.code & 0xff : 0), false};
}

// --- Forms -------------------------------------------------------------------------------------------------------

bool isOldDestination(const LlvmInstruction &instruction, unsigned n) {
  const LlvmOperand &operand = instruction.operands[n];
  return n >= instruction.defs &&
         (operand.tiedTo || operand.name == Name::VdstIn || operand.name == Name::VdataIn ||
          operand.name == Name::Old || (instruction.mnemonic.starts_with("s_bitset") && n == 2));
}

std::vector<OperandForm> operandsOf(const LlvmInstruction &instruction, uint32_t flags) {
  const std::string_view mnemonic = instruction.mnemonic;
  std::vector<OperandForm> operands;
  std::map<unsigned, size_t> placeOf;
  for (unsigned n = 0; n < instruction.operands.size(); ++n) {
    if (isOldDestination(instruction, n))
      continue;
    const LlvmOperand &operand = instruction.operands[n];
    OperandForm out = {static_cast<uint8_t>(n), roleOf(instruction, operand), shapeOf(operand), n < instruction.defs,
                       n >= instruction.defs};
    out.half = operand.isShortHalf;
    if (out.written && operand.name == Name::None)
      out.role = Role::Destination;
    // LLVM has registers that are written by index among the sources.
    if (n == 0 && (flags & kIndexedWrite))
      out = {out.index, Role::Destination, out.shape, true, true};
    if (mnemonic.starts_with("s_subvector_loop") && operand.name == Name::Sdst)
      out = {out.index, Role::Destination, out.shape, true, true};
    // Destinations that are sources too, of which LLVM says nothing.
    if (n == 0 && (mnemonic.starts_with("s_cmov") || mnemonic.starts_with("s_bitset") || mnemonic == "v_pk_fmac_f16" ||
                   mnemonic == "v_cvt_pkaccum_u8_f32"))
      out.read = true;
    placeOf[n] = operands.size();
    operands.push_back(out);
  }
  const bool dppOrSdwa = flags & (kDpp | kSdwa);
  for (unsigned n = 0; n < instruction.operands.size(); ++n)
    if (isOldDestination(instruction, n) && !(dppOrSdwa && instruction.operands[n].name == Name::Old))
      operands[placeOf.at(instruction.operands[n].tiedTo.value_or(0))].read = true;
  if (mnemonic.starts_with("s_subvector_loop"))
    std::ranges::reverse(operands);
  // In assembly, FLAT's address stands before the data, and an offset register before the base that it is added to.
  const bool flat =
      mnemonic.starts_with("flat_") || mnemonic.starts_with("global_") || mnemonic.starts_with("scratch_");
  for (size_t n = 0; flat && n + 1 < operands.size(); ++n) {
    const Name first = instruction.operands[operands[n].index].name;
    if (instruction.operands[operands[n + 1].index].name == Name::Vaddr &&
        (first == Name::Saddr || first == Name::Vdata))
      std::swap(operands[n], operands[n + 1]);
  }
  return operands;
}

class Builder {
public:
  explicit Builder(const LlvmTables &tables) {
    std::set<std::string_view> mnemonics;
    for (const LlvmInstruction &instruction : tables.instructions)
      if (!instruction.mnemonic.empty())
        mnemonics.insert(instruction.mnemonic);
    mnemonics_.assign(mnemonics.begin(), mnemonics.end());
    for (const LlvmRegister &reg : tables.registers)
      registers_.push_back(rowOf(reg));
    forms_.push_back({}); // of all that is LLVM's own
    for (const LlvmInstruction &instruction : tables.instructions)
      formOf_.push_back(instruction.mnemonic.empty() ? 0 : intern(formOf(instruction)));
  }

  std::string header() const;
  std::string source() const;

private:
  Form formOf(const LlvmInstruction &instruction) {
    const std::string_view mnemonic = instruction.mnemonic;
    const auto opcode = std::ranges::lower_bound(mnemonics_, mnemonic) - mnemonics_.begin();
    Class kind = classify(instruction);
    auto has = [&](Name name) {
      return std::ranges::any_of(instruction.operands, [&](const LlvmOperand &o) { return o.name == name; });
    };
    if (has(Name::DstUnused) || has(Name::Src0Sel))
      kind.flags |= kSdwa;
    if (has(Name::DppCtrl) || has(Name::Dpp8)) {
      kind.flags |= kDpp;
      kind.properties |= static_cast<uint32_t>(Property::CrossLane);
    }
    if (has(Name::DppCtrl))
      kind.flags |= kDppMasks;
    if (instruction.name.find("_TFE_") != std::string::npos)
      kind.flags |= kTfe;
    if (hasHalfResult(mnemonic)) {
      const bool selects = has(Name::OpSel) && !has(Name::OpSelHi);
      const bool keeps = selects || mnemonic == "v_mac_f16" || mnemonic == "v_madak_f16" || mnemonic == "v_madmk_f16";
      kind.flags |= keeps ? kKeepsHalf : kKeepsHalf10;
      if (instruction.size == 8 && !has(Name::DppCtrl) && !has(Name::DstUnused) && !has(Name::Imm))
        kind.flags |= kSelectsHalf;
    }
    // A form of VOP1 or VOP2 with SDWA, DPP or a literal is as long as VOP3, and shorter than VOP3 with DPP.
    const bool dpp = has(Name::DppCtrl) || has(Name::Dpp8);
    const bool vop3 = mnemonic.starts_with("v_") && !mnemonic.starts_with("v_dual") && !has(Name::Imm) &&
                      !has(Name::DstUnused) && !has(Name::Src0Sel) && instruction.size == (dpp ? 12 : 8);
    // VOP3P without op_sel_hi has the same modifiers. SWMMAC's op_sel is the set of indices.
    const bool wave = mnemonic.starts_with("v_wmma") || mnemonic.starts_with("v_swmmac");
    if (vop3 && mnemonic.starts_with("v_swmmac"))
      kind.flags |= kPacked | kOpSelField;
    else if (vop3 && (has(Name::OpSelHi) || wave || mnemonic.starts_with("v_dot4_f32")))
      kind.flags |= kPacked;
    else if (vop3 && !(kind.properties & static_cast<uint32_t>(Property::Matrix)) &&
             !(has(Name::Vdst) && has(Name::Sdst)))
      kind.flags |= kOpSelField;
    // A half of the loaded register, and what cannot be told from it.
    const bool d16 =
        mnemonic.find("_d16") != mnemonic.npos && (kind.properties & static_cast<uint32_t>(Property::Load));
    if (mnemonic.starts_with("s_subvector_loop") || (mnemonic.starts_with("s_") && mnemonic.ends_with("_b64")))
      kind.flags |= kScalar64;

    Form form = {};
    form.opcode = static_cast<uint16_t>(opcode);
    form.size = static_cast<uint8_t>(instruction.size);
    form.space = kind.space;
    form.bytes = kind.bytes;
    std::vector<OperandForm> operands = operandsOf(instruction, kind.flags);
    // WMMA with 16-bit results that has op_sel writes the half of each register that it says.
    const bool halves =
        mnemonic.starts_with("v_wmma_") && mnemonic.find("f16_16x") != mnemonic.npos && has(Name::OpSel);
    // Conversions to 8-bit floats write one half of their result, or one byte.
    const bool bytes = mnemonic.ends_with("_fp8_f32") || mnemonic.ends_with("_bf8_f32");
    if (d16 || halves || bytes)
      for (OperandForm &operand : operands)
        operand.read |= operand.written;
    if (d16 || halves || bytes ||
        (kind.properties & static_cast<uint32_t>(Property::IgnoresExec) && mnemonic == "v_writelane_b32") ||
        mnemonic == "v_fma_mixlo_f16" || mnemonic == "v_fma_mixhi_f16" || mnemonic == "v_mad_mixlo_f16" ||
        mnemonic == "v_mad_mixhi_f16")
      kind.properties |= static_cast<uint32_t>(Property::PartialWrite);
    form.properties = kind.properties;
    form.literal = literalField(instruction, operands, kind);
    form.operandCount = static_cast<uint8_t>(operands.size());
    addImplicits(instruction, kind, form);
    form.flags = kind.flags;
    form.operands = place(operandForms_, operands);
    return form;
  }

  static LiteralField literalField(const LlvmInstruction &instruction, const std::vector<OperandForm> &operands,
                                   const Class &kind) {
    if (!std::ranges::any_of(operands,
                             [](const OperandForm &o) { return o.shape == OperandShape::Value && !o.written; }))
      return LiteralField::None;
    if (kind.space != MemorySpace::None || (kind.flags & (kDpp | kSdwa)))
      return LiteralField::None;
    if (instruction.mnemonic.starts_with("s_"))
      return instruction.size == 4 ? LiteralField::Scalar : LiteralField::None;
    if (instruction.mnemonic.starts_with("v_dual"))
      return LiteralField::Dual;
    const bool constant =
        std::ranges::any_of(operands, [](const OperandForm &o) { return o.shape == OperandShape::Constant; });
    if (instruction.mnemonic.starts_with("v_")) // v_madak_f32 is VOP2 with the literal counted in
      return instruction.size == 4 || constant ? LiteralField::Vop : LiteralField::Vop3;
    return LiteralField::None;
  }

  /// LLVM's implicit registers, and where they say less, or more, than the hardware does.
  void addImplicits(const LlvmInstruction &instruction, Class &kind, Form &form) {
    const std::string_view mnemonic = instruction.mnemonic;
    std::vector<RegRange> reads, writes;
    auto add = [&](std::vector<RegRange> &list, RegRange range) {
      if (range.count && std::ranges::find(list, range) == list.end())
        list.push_back(range);
    };
    auto ranges = [&](const std::vector<unsigned> &regs, std::vector<RegRange> &list) {
      for (const unsigned reg : regs)
        add(list, {static_cast<Reg>(registers_[reg].first), registers_[reg].count});
    };
    ranges(instruction.reads, reads);
    ranges(instruction.writes, writes);
    // LDS instructions read their limit from M0 before gfx9; some use it for other things, then and later.
    auto contains = [&](std::string_view part) { return mnemonic.find(part) != mnemonic.npos; };
    if (mnemonic.starts_with("ds_") && !contains("append") && !contains("consume") && !contains("addtid") &&
        !contains("gws") && !contains("ordered") && !contains("direct") && !contains("param"))
      if (std::erase(reads, RegRange{Reg::M0, 1}))
        kind.flags |= kLdsLimitInM0;
    if (mnemonic.starts_with("s_quadmask") || mnemonic.starts_with("s_wqm"))
      add(writes, {Reg::Scc, 1});
    if (mnemonic == "s_set_gpr_idx_mode")
      add(reads, {Reg::M0, 1});           // of which it replaces some bits
    if (mnemonic.starts_with("scratch_")) // LLVM forgets it where the data goes to LDS
      add(reads, {Reg::FlatScratchLo, 2});
    if (mnemonic == "s_setvskip") {
      reads = {{Reg::Mode, 1}};
      writes = {{Reg::Mode, 1}};
    }
    // With an operand for the result, VCC is written when it is that operand.
    if (contains("_class_") && instruction.defs > 0 && instruction.name.find("_sdwa") != std::string::npos)
      std::erase_if(writes, [](RegRange range) { return range.contains(Reg::VccLo); });
    // What hardware registers are is known only with the operand.
    if (kind.flags & (kReadsHardware | kWritesHardware)) {
      reads.clear();
      writes.clear();
    }
    if (kind.flags & kFork) {
      add(reads, {Reg::ExecLo, 2});
      add(writes, {Reg::ExecLo, 2});
      kind.properties |= static_cast<uint32_t>(Property::Indexed);
    }
    form.properties = kind.properties;
    form.implicitReadCount = static_cast<uint8_t>(reads.size());
    form.implicitWriteCount = static_cast<uint8_t>(writes.size());
    reads.insert(reads.end(), writes.begin(), writes.end());
    form.implicits = static_cast<uint16_t>(place(implicits_, reads));
  }

  /// Where `items` are in `pool`, appended if they are not there yet.
  template <typename T> static uint32_t place(std::vector<T> &pool, const std::vector<T> &items) {
    auto found = std::ranges::search(pool, items).begin();
    if (found == pool.end())
      found = pool.insert(pool.end(), items.begin(), items.end());
    return items.empty() ? 0 : static_cast<uint32_t>(found - pool.begin());
  }

  uint16_t intern(const Form &form) {
    const auto key =
        fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}", form.opcode, form.size, static_cast<int>(form.literal),
                    form.properties, form.flags, static_cast<int>(form.space), form.bytes, form.operandCount,
                    form.implicitReadCount, form.implicitWriteCount, form.operands, form.implicits);
    const auto [known, isNew] = known_.try_emplace(key, static_cast<uint16_t>(forms_.size()));
    if (isNew)
      forms_.push_back(form);
    return known->second;
  }

  std::vector<std::string_view> mnemonics_;
  std::vector<RegisterRow> registers_;
  std::vector<Form> forms_;
  std::vector<uint16_t> formOf_;
  std::vector<OperandForm> operandForms_;
  std::vector<RegRange> implicits_;
  std::map<std::string, uint16_t> known_;
};

std::string upper(std::string_view text) {
  std::string result(text);
  for (char &c : result)
    c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return result;
}

std::string Builder::header() const {
  std::string text = "// Written by isa/generate from LLVM's tables.\n"
                     "#pragma once\n\n#include <cstdint>\n#include <optional>\n#include <string_view>\n\n"
                     "namespace luthier {\n\n"
                     "/// Every mnemonic of any generation, in alphabetical order.\n"
                     "enum class Opcode : uint16_t {\n";
  for (const std::string_view mnemonic : mnemonics_)
    text += fmt::format("  {},\n", upper(mnemonic));
  text += fmt::format("}};\n\ninline constexpr unsigned kOpcodeCount = {};\n\n", mnemonics_.size());
  text += "/// The vendor's name, in lower case: \"v_add_f32\".\n"
          "std::string_view mnemonic(Opcode opcode);\n"
          "/// The other way; nothing for a name that no generation has.\n"
          "std::optional<Opcode> opcodeFromName(std::string_view mnemonic);\n\n"
          "} // namespace luthier\n";
  return text;
}

std::string Builder::source() const {
  std::string text = "// Written by isa/generate from LLVM's tables.\n"
                     "#include \"isa/form.h\"\n#include \"luthier/opcode.h\"\n\n#include <algorithm>\n\n"
                     "namespace luthier {\n\nnamespace {\nconstexpr std::string_view kMnemonics[] = {\n";
  for (const std::string_view mnemonic : mnemonics_)
    text += fmt::format("\"{}\",\n", mnemonic);
  text += "};\n} // namespace\n\n"
          "std::string_view mnemonic(Opcode opcode) { return kMnemonics[static_cast<unsigned>(opcode)]; }\n\n"
          "std::optional<Opcode> opcodeFromName(std::string_view mnemonic) {\n"
          "  const auto *found = std::ranges::lower_bound(kMnemonics, mnemonic);\n"
          "  if (found == std::end(kMnemonics) || *found != mnemonic)\n    return std::nullopt;\n"
          "  return static_cast<Opcode>(found - std::begin(kMnemonics));\n}\n\n"
          "namespace isa {\n\nnamespace {\nconstexpr uint16_t kFormOfInstructionRows[] = {";
  text += fmt::format("{}", fmt::join(formOf_, ","));
  text += "};\n\nconstexpr Form kFormRows[] = {\n";
  for (const Form &f : forms_)
    text += fmt::format("{{{},{},LiteralField({}),{},{},MemorySpace({}),{},{},{},{},{},{}}},\n", f.opcode, f.size,
                        static_cast<int>(f.literal), f.properties, f.flags, static_cast<int>(f.space), f.bytes,
                        f.operandCount, f.implicitReadCount, f.implicitWriteCount, f.operands, f.implicits);
  text += "};\n\nconstexpr OperandForm kOperandFormRows[] = {\n";
  for (const OperandForm &o : operandForms_)
    text += fmt::format("{{{},Role({}),OperandShape({}),{},{},{}}},\n", o.index, static_cast<int>(o.role),
                        static_cast<int>(o.shape), o.written, o.read, o.half);
  text += "};\n\nconstexpr RegRange kImplicitRegisterRows[] = {\n";
  for (const RegRange &r : implicits_)
    text += fmt::format("{{Reg({}),{}}},\n", number(r.first), r.count);
  text += "};\n\nconstexpr RegisterRow kRegisterRowRows[] = {\n";
  for (const RegisterRow &r : registers_)
    text += fmt::format("{{{},{},{},{}}},\n", r.first, r.count, r.code, r.high);
  text += "};\n} // namespace\n\n"
          "constinit const std::span<const uint16_t> kFormOfInstruction = kFormOfInstructionRows;\n"
          "constinit const std::span<const Form> kForms = kFormRows;\n"
          "constinit const std::span<const OperandForm> kOperandForms = kOperandFormRows;\n"
          "constinit const std::span<const RegRange> kImplicitRegisters = kImplicitRegisterRows;\n"
          "constinit const std::span<const RegisterRow> kRegisterRows = kRegisterRowRows;\n\n"
          "} // namespace isa\n} // namespace luthier\n";
  return text;
}

bool write(const char *path, const std::string &text) {
  FILE *file = fopen(path, "w");
  if (!file)
    return false;
  const bool ok = fwrite(text.data(), 1, text.size(), file) == text.size();
  return fclose(file) == 0 && ok;
}

int run(const char *headerPath, const char *sourcePath) {
  const auto tables = readLlvmTables();
  if (!tables) {
    fmt::print(stderr, "error: {}\n", tables.error().message());
    return 1;
  }
  const Builder builder(*tables);
  if (!write(headerPath, builder.header()) || !write(sourcePath, builder.source())) {
    fmt::print(stderr, "error: cannot write {} and {}\n", headerPath, sourcePath);
    return 1;
  }
  return 0;
}

} // namespace
} // namespace luthier::isa::generate

int main(int argc, char **argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: {} HEADER SOURCE\n", argv[0]);
    return 2;
  }
  return luthier::isa::generate::run(argv[1], argv[2]);
}
