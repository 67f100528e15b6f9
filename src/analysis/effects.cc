#include "analysis/effects.h"

#include <array>
#include <string_view>
#include <vector>

namespace luthier::analysis {

namespace {

/// How an opcode changes EXEC when it writes it. "Source" means that the old EXEC is that source.
enum class ExecRule : uint8_t {
  Other,
  Narrows,
  Widens,
  NarrowsWithEither, ///< and
  NarrowsWithFirst,  ///< first source and not second
  WidensWithEither,  ///< or
  WidensWithFirst,
  Select,
};

struct OpcodeRow {
  std::string_view mnemonic;
  ExecRule rule = ExecRule::Other;
  uint8_t traits = 0;
};

// Names of all generations: gfx11 calls andn2 and_not1, and so on. Without suffix _b32 or _b64 both are meant.
constexpr OpcodeRow kRows[] = {
    {"s_and_saveexec", ExecRule::Narrows},
    {"s_andn1_saveexec", ExecRule::Narrows}, // EXEC = ~S0 & EXEC; andn2_saveexec is S0 & ~EXEC: Other
    {"s_and_not0_saveexec", ExecRule::Narrows},
    {"s_andn1_wrexec", ExecRule::Narrows},
    {"s_and_not0_wrexec", ExecRule::Narrows},
    {"s_or_saveexec", ExecRule::Widens},
    {"s_orn1_saveexec", ExecRule::Widens}, // EXEC = ~S0 | EXEC
    {"s_or_not0_saveexec", ExecRule::Widens},
    {"s_and", ExecRule::NarrowsWithEither},
    {"s_andn2", ExecRule::NarrowsWithFirst},
    {"s_and_not1", ExecRule::NarrowsWithFirst},
    {"s_or", ExecRule::WidensWithEither},
    {"s_orn2", ExecRule::WidensWithFirst},
    {"s_or_not1", ExecRule::WidensWithFirst},
    {"s_bitset0", ExecRule::Narrows},
    {"s_bitset1", ExecRule::Widens},
    {"s_wqm", ExecRule::WidensWithFirst},
    {"s_cselect", ExecRule::Select},
    {"v_readlane", ExecRule::Other, kReadsLane},
    {"v_writelane", ExecRule::Other, kWritesLane},
};

struct Table {
  std::vector<OpcodeRow> rows;

  Table() : rows(kOpcodeCount) {
    for (size_t n = 0; n < rows.size(); ++n) {
      std::string_view name = mnemonic(static_cast<Opcode>(n));
      if (name.starts_with("v_cmpx_")) {
        rows[n].rule = ExecRule::Narrows;
        continue;
      }
      for (const OpcodeRow &row : kRows)
        if (name == row.mnemonic ||
            ((name.ends_with("_b32") || name.ends_with("_b64")) && name.substr(0, name.size() - 4) == row.mnemonic))
          rows[n] = row;
    }
  }
};

const OpcodeRow &rowOf(Opcode opcode) {
  [[clang::no_destroy]] static const Table table;
  return table.rows[static_cast<size_t>(opcode)];
}

bool overlapsExec(RegRange range) { return range.contains(Reg::ExecLo) || range.contains(Reg::ExecHi); }

} // namespace

uint8_t traits(Opcode opcode) { return rowOf(opcode).traits; }

ExecChange execChange(const Instr &instr) {
  const ExecRule rule = rowOf(instr.opcode()).rule;
  if (rule == ExecRule::Other)
    return ExecChange::Other;

  // Sources in the order of assembly text; the destination comes first.
  RegRange destination = {};
  std::array<const Operand *, 2> sources = {};
  size_t count = 0;
  for (const Operand &operand : instr.operands()) {
    if (operand.kind == OperandKind::Modifier)
      continue;
    if (operand.kind == OperandKind::Register && operand.written)
      destination = operand.regs;
    else if (count < sources.size())
      sources[count++] = &operand;
  }
  if (rule == ExecRule::Narrows || rule == ExecRule::Widens) {
    // A saveexec that saves into EXEC itself, or half of a pair that reaches into it, is nobody's idiom.
    const bool saves = instr.mnemonic().find("exec_") != std::string_view::npos;
    if (saves && overlapsExec(destination))
      return ExecChange::Other;
    return rule == ExecRule::Narrows ? ExecChange::Narrow : ExecChange::Widen;
  }

  const auto isOld = [&](size_t n) {
    return n < count && sources[n]->kind == OperandKind::Register && sources[n]->regs == destination;
  };
  const auto isConstant = [&](size_t n, int64_t value) {
    return n < count && sources[n]->kind == OperandKind::Immediate && sources[n]->value == value;
  };
  switch (rule) {
  case ExecRule::NarrowsWithEither:
    return isOld(0) || isOld(1) ? ExecChange::Narrow : ExecChange::Other;
  case ExecRule::NarrowsWithFirst:
    return isOld(0) ? ExecChange::Narrow : ExecChange::Other;
  case ExecRule::WidensWithEither:
    return isOld(0) || isOld(1) ? ExecChange::Widen : ExecChange::Other;
  case ExecRule::WidensWithFirst:
    return isOld(0) ? ExecChange::Widen : ExecChange::Other;
  case ExecRule::Select:
    if ((isOld(0) && isConstant(1, 0)) || (isOld(1) && isConstant(0, 0)))
      return ExecChange::Narrow;
    if ((isOld(0) && isConstant(1, -1)) || (isOld(1) && isConstant(0, -1)))
      return ExecChange::Widen;
    return ExecChange::Other;
  default:
    return ExecChange::Other;
  }
}

} // namespace luthier::analysis
