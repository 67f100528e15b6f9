#include "analysis/replays.h"

#include <algorithm>

namespace luthier::analysis {

namespace {

enum class Kind : uint8_t { None, Scalar, Vector };

Kind kindOf(const Instr &instr) {
  switch (instr.memorySpace()) {
  case MemorySpace::Scalar:
    return Kind::Scalar;
  case MemorySpace::Flat:
  case MemorySpace::Global:
  case MemorySpace::Scratch:
  case MemorySpace::Buffer:
  case MemorySpace::Image:
    return Kind::Vector;
  default:
    return Kind::None;
  }
}

/// What the instructions of a run read and write.
struct Run {
  Kind kind = Kind::None;
  RegSet reads, writes;

  void add(const Instr &instr) {
    kind = kindOf(instr);
    for (RegRange range : instr.reads())
      reads.insert(range);
    for (RegRange range : instr.writes())
      writes.insert(range);
  }
  /// Whether the instruction must not go on with it, as LLVM sees it.
  bool endsBefore(const Instr &instr) const {
    if (kind == Kind::None || kindOf(instr) != kind || writes.empty())
      return false;
    if (instr.is(Property::Store))
      return true;
    Run longer = *this;
    longer.add(instr);
    return !(longer.reads & longer.writes).empty();
  }
  /// Whether it overwrites what the run reads. LLVM minds only behind loads; stores are repeated all the same.
  bool isSpoiltBy(const Instr &instr) const {
    return kindOf(instr) == kind &&
           std::ranges::any_of(instr.writes(), [&](RegRange range) { return reads.containsAny(range); });
  }
};

} // namespace

bool mayReplay(const object::CodeObject &object) {
  return object.target().xnackMask && object.targetId().find("xnack-") == std::string_view::npos;
}

bool needsBreak(std::span<const Instr *const> before, std::span<const Instr *const> after) {
  if (before.empty() || after.empty())
    return false;
  const Kind kind = kindOf(*before.back());
  if (kind == Kind::None || kindOf(*after.front()) != kind)
    return false;
  size_t first = before.size();
  while (first > 0 && kindOf(*before[first - 1]) == kind)
    --first;
  Run run;
  for (; first < before.size(); ++first)
    run.add(*before[first]);
  for (const Instr *instr : after) {
    if (kindOf(*instr) != kind)
      return false;
    if (run.endsBefore(*instr) || run.isSpoiltBy(*instr))
      return true;
    run.add(*instr);
  }
  return false;
}

Result<void> verifyReplays(const Cfg &cfg) {
  for (const Block &block : cfg.blocks()) {
    Run run;
    for (const Instr &instr : cfg.instrs(block)) {
      if (kindOf(instr) != run.kind)
        run = {};
      if (run.endsBefore(instr))
        return makeError("{:#x}: {} must not be executed again together with what is before it", instr.address(),
                         instr.mnemonic());
      if (kindOf(instr) != Kind::None)
        run.add(instr);
    }
  }
  return {};
}

} // namespace luthier::analysis
