#include "rewrite/neighbours.h"

#include "analysis/hazards.h"
#include "analysis/replays.h"

#include <algorithm>

namespace luthier::rewrite {

namespace {

using analysis::Block;
using Path = Neighbours::Path;

/// Beyond that it is taken for granted that some path has the worst neighbour.
constexpr size_t kMostPaths = 256;
/// Memory instructions in a row that are looked at.
constexpr size_t kRun = 8;
/// No rule asks for more between a vector instruction that writes a scalar register and one that reads it.
constexpr unsigned kFarthestFromVector = 5;

/// Wait states that are missing between such an instruction of `code` and whatever comes `distance` behind it.
unsigned missingBehindVector(std::span<const Instr *const> code, unsigned distance) {
  for (size_t n = code.size(); n-- > 0 && distance < kFarthestFromVector; ++distance) {
    const Instr &instr = *code[n];
    if (!instr.is(Property::Vector))
      continue;
    for (RegRange range : instr.writes())
      if (isScalar(range.first))
        return kFarthestFromVector - distance;
  }
  return 0;
}

Path join(std::initializer_list<std::span<const Instr *const>> parts) {
  Path all;
  for (auto part : parts)
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

} // namespace

void Neighbours::startEntry() {
  place_ = Place::Entry;
  block_ = 0;
  here_.clear();
  before_.reset();
}

void Neighbours::startBlock(uint32_t block) {
  if (place_ == Place::Entry)
    entry_ = std::move(here_);
  place_ = Place::Block;
  block_ = block;
  changed_ = false;
  here_.clear();
  before_.reset();
}

void Neighbours::endBlock() {
  if (changed_)
    written_[block_] = std::move(here_);
  here_.clear();
}

void Neighbours::startEdge(uint32_t to) {
  place_ = Place::Edge;
  block_ = to;
  here_.clear();
  before_.reset();
}

void Neighbours::add(const CodeSequence &inserted) {
  inserted_.push_back(inserted);
  const auto instrs = inserted_.back().instrs();
  here_.insert(here_.end(), instrs.begin(), instrs.end());
  changed_ = true;
}

void Neighbours::prependTail(Path &path, uint32_t block) const {
  const size_t window = analysis::hazardWindow(glue_.target());
  Path longer;
  if (const Path &written = written_[block]; !written.empty())
    longer.assign(written.end() - static_cast<ptrdiff_t>(std::min(written.size(), window)), written.end());
  else {
    const Block &from = cfg_.blocks()[block];
    for (uint32_t n = from.count - std::min<uint32_t>(from.count, static_cast<uint32_t>(window)); n < from.count; ++n)
      longer.push_back(&cfg_.instrs()[from.first + n]);
  }
  longer.insert(longer.end(), path.begin(), path.end());
  path = std::move(longer);
}

void Neighbours::appendHead(Path &path, uint32_t block, size_t length) const {
  const Block &to = cfg_.blocks()[block];
  const Path &written = written_[block];
  for (size_t n = 0; n < (written.empty() ? to.count : written.size()) && path.size() < length; ++n)
    path.push_back(written.empty() ? &cfg_.instrs()[to.first + n] : written[n]);
}

/// Control paths to the start of this block: the last instructions before it, per path.
Neighbours::Paths Neighbours::before() const {
  const size_t window = analysis::hazardWindow(glue_.target());
  Paths paths;
  std::vector<std::pair<Path, uint32_t>> open;
  open.emplace_back(Path(), block_);
  while (!open.empty()) {
    auto [path, start] = std::move(open.back());
    open.pop_back();
    const auto predecessors = cfg_.predecessors(cfg_.blocks()[start]);
    if (path.size() >= window) {
      paths.all.push_back(std::move(path));
      continue;
    }
    if (start == 0 || predecessors.empty())
      paths.all.push_back(start == 0 ? join({entry_, path}) : path);
    if (paths.all.size() + open.size() + predecessors.size() > kMostPaths) {
      paths.more = true;
      return paths;
    }
    for (uint32_t edge : predecessors) {
      const uint32_t from = cfg_.edges()[edge].from;
      Path longer = path;
      prependTail(longer, from);
      open.emplace_back(std::move(longer), from);
    }
  }
  return paths;
}

Neighbours::Paths Neighbours::behind(uint32_t next, std::span<const Instr *const> code, size_t length) const {
  Paths paths;
  std::vector<std::pair<Path, uint32_t>> open;
  const Block &block = cfg_.blocks()[block_];
  const auto appendRest = [&](Path &path) {
    for (uint32_t n = next; n <= block.last() && path.size() < length; ++n)
      path.push_back(&cfg_.instrs()[n]);
  };
  Path start;
  if (place_ == Place::Edge)
    appendHead(start, block_, length);
  else
    appendRest(start);
  open.emplace_back(std::move(start), block_);
  while (!open.empty()) {
    auto [path, at] = std::move(open.back());
    open.pop_back();
    const auto successors = cfg_.successors(cfg_.blocks()[at]);
    if (path.size() >= length || successors.empty()) {
      paths.all.push_back(std::move(path));
      continue;
    }
    if (paths.all.size() + open.size() + successors.size() > kMostPaths) {
      paths.more = true;
      return paths;
    }
    for (const analysis::Edge &edge : successors) {
      Path longer = path;
      if (edge.to == block_ && place_ == Place::Block) { // this one again, as far as it is written
        for (const auto part : {std::span<const Instr *const>(here_), code})
          for (size_t n = 0; n < part.size() && longer.size() < length; ++n)
            longer.push_back(part[n]);
        appendRest(longer);
      } else
        appendHead(longer, edge.to, length);
      open.emplace_back(std::move(longer), edge.to);
    }
  }
  return paths;
}

unsigned Neighbours::missing(std::span<const Instr *const> first, std::span<const Instr *const> second) const {
  const unsigned states = analysis::missingWaitStates(glue_.target(), first, second);
  return !states && replays_ && analysis::needsBreak(first, second) ? 1 : states;
}

void Neighbours::space(PlacedSite &placed, uint32_t next) {
  const unsigned window = analysis::hazardWindow(glue_.target());
  if (!window) {
    placed.finish();
    return;
  }
  // What comes first, to this; also where the hook is branched around.
  const auto whole = [&] { return join({placed.before.instrs(), placed.fragment.instrs(), placed.after.instrs()}); };
  const auto around = [&] {
    return join({placed.before.instrs(), placed.after.instrs().subspan(placed.guard->instrs)});
  };
  const Path inserted = whole(), skipped = placed.guard ? around() : Path();
  unsigned states = 0;
  const auto comes = [&](const Path &path) {
    states = std::max({states, missing(path, inserted), placed.guard ? missing(path, skipped) : 0});
  };
  if (here_.size() >= window)
    comes(here_);
  else {
    if (!before_)
      before_ = before();
    for (const Path &path : before_->all)
      comes(join({path, here_}));
    if (before_->more)
      states = std::max(states, window);
  }
  // Within: the hook's own code is right, and so are the parts around it.
  const unsigned toHook = missing(placed.before.instrs(), placed.fragment.instrs());
  const unsigned fromHook = missing(join({placed.before.instrs(), placed.fragment.instrs()}), placed.after.instrs());
  placed.padBefore(glue_, states);
  placed.padBeforeFragment(glue_, toHook);
  placed.padBehindFragment(glue_, fromHook);
  if (placed.guard)
    placed.padAround(glue_, missing(placed.before.instrs(), placed.after.instrs().subspan(placed.guard->instrs)));

  // To what follows, as far as any rule reaches.
  const Path code = whole(), shorter = placed.guard ? around() : Path();
  unsigned reach = std::max(analysis::hazardReach(glue_.target(), code),
                            placed.guard ? analysis::hazardReach(glue_.target(), shorter) : 0);
  unsigned missingBehind = 0;
  if (reach || (replays_ && code.back()->memorySpace() != MemorySpace::None)) {
    const Paths paths = behind(next, code, std::max<size_t>(reach, replays_ ? kRun : 0));
    for (const Path &path : paths.all)
      missingBehind = std::max({missingBehind, missing(code, path), placed.guard ? missing(shorter, path) : 0});
    if (paths.more)
      missingBehind = std::max(missingBehind, reach);
  }
  // Behind calls and returns there may be anything.
  const Block &block = cfg_.blocks()[block_];
  const unsigned rest = next <= block.last() ? block.last() - next + 1 : 0;
  if (rest < kFarthestFromVector)
    missingBehind = std::max(missingBehind, missingBehindVector(code, rest));
  placed.padBehind(glue_, missingBehind);
  placed.finish();
  add(placed.before);
  add(placed.fragment);
  add(placed.after);
}

unsigned Neighbours::missingBefore(std::span<const Instr *const> code) const {
  const size_t reach = analysis::hazardReach(glue_.target(), code);
  unsigned states = 0;
  std::vector<std::pair<Path, uint32_t>> open;
  Path start = entry_;
  if (!cfg_.blocks().empty())
    appendHead(start, 0, std::max(reach, kRun));
  open.emplace_back(std::move(start), 0);
  for (size_t visited = 0; !open.empty(); ++visited) {
    if (visited > kMostPaths)
      return static_cast<unsigned>(reach);
    auto [path, at] = std::move(open.back());
    open.pop_back();
    const auto successors =
        cfg_.blocks().empty() ? std::span<const analysis::Edge>() : cfg_.successors(cfg_.blocks()[at]);
    if (path.size() >= reach || successors.empty()) {
      states = std::max(states, missing(code, path));
      continue;
    }
    for (const analysis::Edge &edge : successors) {
      Path longer = path;
      appendHead(longer, edge.to, reach);
      open.emplace_back(std::move(longer), edge.to);
    }
  }
  return states;
}

} // namespace luthier::rewrite
