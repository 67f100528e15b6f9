#include "rewrite/assembly.h"

#include "analysis/hazards.h"
#include "hook/forward_flow.h"
#include "hook/inspect.h"
#include "isa/assembler.h"
#include "rewrite/argument.h"

#include <algorithm>

namespace luthier::rewrite {

namespace {

std::vector<std::string> linesOf(std::string_view text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const size_t begin = text.find_first_not_of(kSpace);
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

/// What is left of a line without labels and comments.
std::string_view statementOf(std::string_view line) {
  for (const std::string_view comment : {";", "//"})
    line = line.substr(0, line.find(comment));
  line = trimmed(line);
  // A label is the first word.
  if (const size_t colon = line.find(':'); colon != line.npos && line.find_first_of(" \t[,") > colon)
    return trimmed(line.substr(colon + 1));
  return line;
}

/// The line of each of so many instructions; none if the text is more than one instruction per line.
std::vector<uint32_t> instructionLines(const std::vector<std::string> &text, size_t count) {
  std::vector<uint32_t> lines;
  for (size_t n = 0; n < text.size(); ++n)
    if (const std::string_view statement = statementOf(text[n]); !statement.empty() && !statement.starts_with('.'))
      lines.push_back(static_cast<uint32_t>(n + 1));
  return lines.size() == count ? lines : std::vector<uint32_t>();
}

bool isGeneral(Reg reg, const isa::Target &target) {
  return number(reg) < target.sgprs || isVector(reg) || isAccumulator(reg);
}

/// Whether assembly may write it, if it is free or declared.
bool mayBeWritten(Reg reg, const isa::Target &target) {
  if (target.scalarFlatScratch && (reg == Reg::FlatScrLo || reg == Reg::FlatScrHi))
    return false;
  if (target.xnackMask && (reg == Reg::XnackMaskLo || reg == Reg::XnackMaskHi))
    return false;
  for (const Reg special : {Reg::Scc, Reg::VccLo, Reg::VccHi, Reg::M0, Reg::ExecLo, Reg::ExecHi, Reg::Null})
    if (reg == special)
      return true;
  return isGeneral(reg, target);
}

} // namespace

std::string AssemblyCode::place(const Instr &instr) const {
  const auto n = static_cast<size_t>(&instr - fragment_->fragment->code.instrs().data());
  if (n >= lines_.size())
    return std::string(instr.mnemonic());
  return fmt::format("line {}: {}:", lines_[n], statementOf(text_[lines_[n] - 1]));
}

Result<std::unique_ptr<AssemblyCode>> AssemblyCode::make(std::string_view text, const isa::Target &target,
                                                         unsigned waveSize) {
  std::unique_ptr<AssemblyCode> result(new AssemblyCode);
  result->text_ = linesOf(text);
  const auto fragment = std::make_shared<hook::Fragment>();
  fragment->asWritten = true;
  fragment->bytes = LUTHIER_TRY(isa::assemble(target, text, waveSize));
  result->fragment_ = std::make_unique<PreparedFragment>();
  result->fragment_->fragment = fragment;

  // What no fragment may have first, for an error with the line.
  const auto decoder = LUTHIER_TRY(isa::Decoder::create(target, waveSize));
  fragment->code = LUTHIER_TRY(decoder->decode(fragment->bytes, 0));
  std::vector<Opcode> opcodes;
  result->lines_ = instructionLines(result->text_, fragment->code.instrs().size());
  for (const Instr &instr : fragment->code.instrs()) {
    opcodes.push_back(instr.opcode());
    if (const char *reason = hook::refusal(*fragment, instr))
      return makeError("{} inserted assembly {}", result->place(instr), reason);
    for (const RegRange range : instr.writes())
      for (unsigned n = 0; n < range.count; ++n)
        if (!mayBeWritten(range.first + n, target))
          return makeError("{} {} must not be written by inserted assembly", result->place(instr),
                           toString(range.first + n));
  }
  if (opcodes.empty())
    return makeError("there is no instruction in the assembly");
  LUTHIER_TRY(hook::inspectAssembly(*fragment, target, waveSize));
  if (!result->lines_.empty() && opcodes.size() != fragment->code.instrs().size()) { // waits have been added
    std::vector<uint32_t> lines;
    size_t n = 0;
    for (const Instr &instr : fragment->code.instrs()) {
      lines.push_back(result->lines_[std::min(n, result->lines_.size() - 1)]);
      n += n < opcodes.size() && instr.opcode() == opcodes[n];
    }
    result->lines_ = std::move(lines);
  }
  std::vector<const Instr *> before;
  for (const Instr &instr : fragment->code.instrs()) {
    const Instr *const here = &instr;
    if (const unsigned missing = analysis::missingWaitStates(target, before, {&here, 1}))
      return makeError("{} it needs {} more wait state{} before it", result->place(instr), missing,
                       missing == 1 ? "" : "s");
    before.push_back(here);
    result->fragment_->instrs.push_back(
        {.instr = here, .word = isa::EncodingBits::of(instr.bytes().data(), instr.size()), .fields = {}});
  }
  result->findInputs();
  return result;
}

/// What may be read before it has been written, on any way.
void AssemblyCode::findInputs() {
  struct State {
    RegSet unwritten = {};
    bool merge(const State &other) {
      const RegSet old = unwritten;
      unwritten |= other.unwritten;
      return !(unwritten == old);
    }
  };
  const hook::Fragment &fragment = *fragment_->fragment;
  hook::statesBefore(fragment.code, State(), [&](size_t n, const Instr &instr, State &state) {
    if (n == 0)
      state.unwritten = fragment.reads;
    for (const RegRange range : instr.reads())
      for (unsigned i = 0; i < range.count; ++i)
        if (state.unwritten.contains(range.first + i))
          inputs_.insert(range.first + i);
    for (const RegRange range : instr.writes())
      state.unwritten.erase(range);
  });
  inputs_.erase({Reg::ExecLo, 2});
  inputs_.erase(Reg::Mode);
}

Result<void> AssemblyCode::checkInputs(const RegSet &known, const isa::Target &target) const {
  for (const Instr &instr : fragment_->fragment->code.instrs())
    for (const RegRange range : instr.reads())
      for (unsigned n = 0; n < range.count; ++n)
        if (const Reg reg = range.first + n; inputs_.contains(reg) && !known.contains(reg))
          if (auto checked = checkRegisters({reg, 1}, known, target); !checked && isGeneral(reg, target))
            return makeError("{} {}", place(instr), checked.error().message());
  return {};
}

Result<void> AssemblyCode::checkPlace(const analysis::LiveSets &live, const RegSet &mayChange,
                                      const RegSet &kept) const {
  const hook::Fragment &fragment = *fragment_->fragment;
  // Where other lanes are written than those that are active, or may be, none may have anything there.
  const bool allLanes = fragment.crossLane || fragment.writes.contains(Reg::ExecLo);
  for (const Instr &instr : fragment.code.instrs())
    for (const RegRange range : instr.writes())
      for (unsigned n = 0; n < range.count; ++n) {
        const Reg reg = range.first + n;
        if (mayChange.contains(reg) || reg == Reg::Null)
          continue;
        const bool exec = reg == Reg::ExecLo || reg == Reg::ExecHi;
        if (exec || live.active.contains(reg) || (allLanes && live.inactive.contains(reg)) || kept.contains(reg))
          return makeError("{} {} is in use there, and `changes` does not name it", place(instr), toString(reg));
      }
  return {};
}

} // namespace luthier::rewrite
