#include "rewrite/neighbours.h"

#include "analysis/hazards.h"
#include "analysis/replays.h"
#include "analysis/seam_hazards.h"
#include "isa/pending_scalars.h"

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

/// Vector memory or LDS.
bool hasMemory(std::span<const Instr *const> code) {
  return std::ranges::any_of(code, [](const Instr *instr) {
    return instr->memorySpace() != MemorySpace::None && instr->memorySpace() != MemorySpace::Scalar;
  });
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

void Neighbours::waitForScalars(PlacedSite &placed) const {
  RegSet read = readByVectors_;
  for (const CodeSequence *part : {&placed.before, &placed.fragment, &placed.after})
    for (const Instr *instr : part->instrs())
      read |= analysis::scalarsReadByVectors({instr, 1});
  CodeSequence wait;
  glue_.cure(wait, static_cast<analysis::Cures>(analysis::Cure::Drain), Reg::V0);
  // What comes before has written any of them; so has the hook, and whoever branches around it.
  const auto addTo = [&](CodeSequence &code, auto &&isEntry, auto &&inserted) {
    isa::PendingScalars state(read, read);
    size_t at = 0;
    for (size_t n = 0; n < code.instrs().size(); ++n) {
      if (isEntry(n))
        state.wroteAll(read);
      if (state.holdUp(*code.instrs()[n])) {
        code.insert(at, n, wait);
        inserted(n);
        at += wait.size();
        ++n;
        state.wait();
      }
      state.execute(*code.instrs()[n]);
      at += code.instrs()[n]->size();
    }
    return state;
  };
  isa::PendingScalars state = addTo(
      placed.before, [](size_t) { return false; },
      [&](size_t n) {
        for (PlacedSite::Guard &guard : placed.guards)
          if (n < guard.before) {
            guard.at += wait.size();
            ++guard.before;
          }
      });
  // In the hook, its own writes are waited for (hook/scalar_waits.h).
  if (std::ranges::any_of(placed.fragment.instrs(), [&](const Instr *instr) { return state.holdUp(*instr); }))
    placed.before.append(wait);
  addTo(
      placed.after,
      [&](size_t n) { return std::ranges::find(placed.guards, n, &PlacedSite::Guard::instrs) != placed.guards.end(); },
      [&](size_t n) {
        for (PlacedSite::Guard &guard : placed.guards)
          if (n < guard.instrs) {
            guard.into += wait.size();
            ++guard.instrs;
          }
      });
}

void Neighbours::cureSeams(PlacedSite &placed, uint32_t next) const {
  const isa::Target &target = glue_.target();
  if (!target.seamHazards)
    return;
  // The call and the return are branches between what is around the hook and the hook.
  if (placed.called && (target.seamHazards & isa::setOf({isa::SeamHazard::LdsBranchVmem})) &&
      hasMemory(placed.executed()) && (hasMemory(placed.before.instrs()) || hasMemory(placed.after.instrs()))) {
    CodeSequence wait;
    glue_.add(wait, GlueOp::WaitStores);
    placed.before.append(wait);
    placed.insertBehindFragment(wait);
  }
  const Path inserted = join({placed.before.instrs(), placed.executed(), placed.after.instrs()});
  const Block &block = cfg_.blocks()[block_];
  const std::span<const Instr> rest =
      next <= block.last() ? cfg_.instrs().subspan(next, block.last() - next + 1) : std::span<const Instr>();
  const analysis::SeamCures cures = analysis::seamCures(target, glue_.waveSize(), inserted, readByVectors_, rest);
  if (isa::hasPendingScalars(target))
    waitForScalars(placed);
  CodeSequence first, last;
  glue_.cure(first, cures.before, Reg::V0);
  glue_.cure(last, cures.behind, cures.moved);
  placed.surround(first, last);
}

/// The branches around the hook must not be among those that go elsewhere.
void Neighbours::finish(PlacedSite &placed) const {
  constexpr size_t kForbidden = 0x3f;
  if (glue_.target().seamHazards & isa::setOf({isa::SeamHazard::Offset3f}))
    while (std::ranges::any_of(placed.guards, [&](const auto &guard) { return placed.distance(guard) == kForbidden; }))
      placed.padBehindFragment(glue_, 1);
  placed.finish();
}

void Neighbours::space(PlacedSite &placed, uint32_t next) {
  cureSeams(placed, next);
  const unsigned window = analysis::hazardWindow(glue_.target());
  if (!window) {
    finish(placed);
    return;
  }
  // What comes first, to this; also where the hook is branched around.
  const auto ways = [&] {
    std::vector<Path> all = {join({placed.before.instrs(), placed.executed(), placed.after.instrs()})};
    for (const PlacedSite::Guard &guard : placed.guards)
      all.push_back(join({guard.upTo(placed), guard.from(placed)}));
    return all;
  };
  unsigned states = 0;
  const auto comes = [&, inserted = ways()](const Path &path) {
    for (const Path &way : inserted)
      states = std::max(states, missing(path, way));
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
  const unsigned toHook = missing(placed.before.instrs(), placed.executed());
  const unsigned fromHook = missing(join({placed.before.instrs(), placed.executed()}), placed.after.instrs());
  placed.padBefore(glue_, states);
  placed.padBeforeFragment(glue_, toHook);
  placed.padBehindFragment(glue_, fromHook);
  for (size_t n = 0; n < placed.guards.size(); ++n)
    placed.padAround(glue_, n, missing(placed.guards[n].upTo(placed), placed.guards[n].from(placed)));

  // To what follows, as far as any rule reaches.
  const std::vector<Path> last = ways();
  const Path &code = last.front();
  unsigned reach = 0, missingBehind = 0;
  for (const Path &way : last)
    reach = std::max(reach, analysis::hazardReach(glue_.target(), way));
  if (reach || (replays_ && code.back()->memorySpace() != MemorySpace::None)) {
    const Paths paths = behind(next, code, std::max<size_t>(reach, replays_ ? kRun : 0));
    for (const Path &path : paths.all)
      for (const Path &way : last)
        missingBehind = std::max(missingBehind, missing(way, path));
    if (paths.more)
      missingBehind = std::max(missingBehind, reach);
  }
  // Behind calls and returns there may be anything.
  const Block &block = cfg_.blocks()[block_];
  const unsigned rest = next <= block.last() ? block.last() - next + 1 : 0;
  if (rest < kFarthestFromVector)
    missingBehind = std::max(missingBehind, missingBehindVector(code, rest));
  placed.padBehind(glue_, missingBehind);
  finish(placed);
  add(placed.before);
  if (placed.called) // its code stays where it is
    here_.insert(here_.end(), placed.executed().begin(), placed.executed().end());
  else
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
