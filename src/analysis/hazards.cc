#include "analysis/hazards.h"

#include "analysis/hazard_match.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <vector>

namespace luthier::analysis {

using namespace hazard;

namespace {

constexpr unsigned kMostPasses = 16;
constexpr unsigned kNear = 5; ///< wait states that all but a few rules are content with

unsigned statesOf(const Rule &rule, unsigned passes) {
  return static_cast<unsigned>(std::max(0, rule.states + (rule.plusPasses ? static_cast<int>(passes) : 0)));
}

/// The rules of one generation, and which pairs of classes any of them is about.
class Rules {
public:
  static const Rules &of(const isa::Target &target) {
    constexpr unsigned kSets = static_cast<unsigned>(isa::HazardSet::Gfx10) + 1;
    [[clang::no_destroy]] static const std::array<Rules, kSets> all = [] {
      std::array<Rules, kSets> sets;
      for (unsigned n = 1; n < kSets; ++n) // there are none for the first
        sets[n].collect(static_cast<Generation>(generation(static_cast<isa::HazardSet>(n))));
      return sets;
    }();
    return all[static_cast<unsigned>(target.hazards)];
  }

  unsigned window() const { return window_; }
  /// What may be too close behind an instruction, and up to which distance.
  struct Follow {
    Classes later = 0;
    unsigned reach = 0;
  };
  Follow behind(Classes earlier) const {
    Follow all;
    for (Classes left = earlier & earlier_; left; left &= left - 1) {
      const Follow &one = behind_[std::countr_zero(left)];
      all = {all.later | one.later, std::max(all.reach, one.reach)};
    }
    return all;
  }
  /// Classes of earlier instructions that reach further than kNear.
  Classes far() const { return far_; }
  /// Classes that may be too close behind anything.
  Classes later() const { return later_; }

  /// The most wait states that any rule wants between the two, if more than `enough`, else `enough`. `matrix` are the
  /// matrix instructions between.
  unsigned wanted(const Info &earlier, const Info &later, Classes between, std::span<const Instr *const> matrix,
                  unsigned enough) const {
    const FormTraits &traits = traitsOf(*earlier.instr);
    const unsigned passes = newer_ ? traits.passes940 : traits.passes;
    for (const Rule *rule : rules_) {
      if (!(rule->earlier & earlier.classes) || !(rule->later & later.classes) ||
          (rule->earlierNot & earlier.classes) || (rule->laterNot & later.classes) ||
          (rule->between && !(rule->between & between)) || (rule->unless & between) ||
          (rule->passes && rule->passes != passes))
        continue;
      const unsigned states = statesOf(*rule, passes);
      if (states > enough && connected(rule->share, *earlier.instr, *later.instr) &&
          !((earlier.classes & kMfma) && superseded(*rule, *earlier.instr, *later.instr, matrix)))
        enough = states;
    }
    return enough;
  }

private:
  void collect(Generation generation) {
    newer_ = generation == kGfx940;
    const auto add = [&](std::span<const Rule> rules) {
      for (const Rule &rule : rules) {
        if (!(rule.generations & generation))
          continue;
        rules_.push_back(&rule);
        window_ = std::max(window_, statesOf(rule, kMostPasses));
        earlier_ |= rule.earlier;
        later_ |= rule.later;
        const unsigned reach = statesOf(rule, kMostPasses);
        for (Classes left = rule.earlier; left; left &= left - 1) {
          Follow &follow = behind_[std::countr_zero(left)];
          follow = {follow.later | rule.later, std::max(follow.reach, reach)};
        }
        if (reach > kNear)
          far_ |= rule.earlier;
      }
    };
    add(kScalarRules);
    add(kVectorRules);
    add(kGfx908Rules);
    add(kUnifiedRules);
  }

  std::vector<const Rule *> rules_;
  std::array<Follow, 64> behind_ = {};
  Classes earlier_ = 0, later_ = 0, far_ = 0;
  unsigned window_ = 0;
  bool newer_ = false;
};

} // namespace

unsigned hazardWindow(const isa::Target &target) { return Rules::of(target).window(); }

unsigned waitStatesOf(const isa::Target &target, const Instr &instr) {
  if (instr.opcode() != Opcode::S_NOP || instr.operands().empty())
    return 1;
  const auto count = static_cast<unsigned>(instr.operands()[0].value);
  return (count & ((1u << target.nopBits) - 1)) + 1;
}

unsigned missingWaitStates(const isa::Target &target, std::span<const Instr *const> before,
                           std::span<const Instr *const> after) {
  const Rules &rules = Rules::of(target);
  struct Near {
    Info info;
    Rules::Follow follow;
    Classes between;   ///< what lies between it and the seam
    unsigned distance; ///< wait states between it and the seam
  };
  std::array<Near, 32> near;
  unsigned count = 0, distance = 0, reach = 0; // how far behind the seam they reach
  Classes between = 0, follow = 0;
  for (size_t n = before.size(); n-- && distance < rules.window() && count < near.size();) {
    if (distance < kNear || (traitsOf(*before[n]).classes & rules.far())) {
      const Info info = infoOf(*before[n]);
      if (const Rules::Follow behind = rules.behind(info.classes); behind.reach > distance) {
        near[count++] = {info, behind, between, distance};
        follow |= behind.later;
        reach = std::max(reach, behind.reach - distance);
      }
      between |= info.classes;
    }
    distance += waitStatesOf(target, *before[n]);
  }
  if (!count)
    return 0;
  unsigned missing = 0;
  distance = 0;
  between = 0;
  for (size_t k = 0; k < after.size() && distance < reach; ++k) {
    const Info info = infoOf(*after[k]);
    if (info.classes & follow)
      for (unsigned n = 0; n < count; ++n) {
        const unsigned have = near[n].distance + distance;
        if (!(near[n].follow.later & info.classes) || have + missing >= near[n].follow.reach)
          continue;
        std::vector<const Instr *> matrix;
        if ((near[n].info.classes & kMfma) && ((near[n].between | between) & kMfma)) {
          for (unsigned m = 0; m < n; ++m)
            if (near[m].info.classes & kMfma)
              matrix.push_back(near[m].info.instr);
          for (size_t m = 0; m < k; ++m)
            if (traitsOf(*after[m]).classes & kMfma)
              matrix.push_back(after[m]);
        }
        missing = rules.wanted(near[n].info, info, near[n].between | between, matrix, have + missing) - have;
      }
    between |= info.classes;
    distance += waitStatesOf(target, *after[k]);
  }
  return missing;
}

unsigned hazardReach(const isa::Target &target, std::span<const Instr *const> code) {
  const Rules &rules = Rules::of(target);
  unsigned reach = 0, distance = 0;
  for (size_t n = code.size(); n-- && distance < rules.window();) {
    if (distance < kNear || (traitsOf(*code[n]).classes & rules.far()))
      if (const Rules::Follow behind = rules.behind(infoOf(*code[n]).classes); behind.reach > distance)
        reach = std::max(reach, behind.reach - distance);
    distance += waitStatesOf(target, *code[n]);
  }
  return reach;
}

namespace {

/// Looks backwards from one instruction after the other.
class Verifier {
public:
  Verifier(const isa::Target &target, const Cfg &cfg) : target_(target), cfg_(cfg), rules_(Rules::of(target)) {
    infos_.reserve(cfg.instrs().size());
    for (const Instr &instr : cfg.instrs())
      infos_.push_back(infoOf(instr));
    reached_.resize(cfg.blocks().size());
  }

  /// Calls `found` for each later instruction that has one too close before it, until that says false.
  template <class Found> void run(Found &&found) {
    for (const Block &block : cfg_.blocks())
      for (uint32_t n = block.first; n <= block.last(); ++n)
        if (infos_[n].classes & rules_.later())
          if (const auto finding = check(block, n); finding && !found(*finding))
            return;
  }

private:
  struct Path {
    uint32_t block;
    unsigned distance;
    Classes between;
    std::vector<const Instr *> matrix; ///< matrix instructions on the way
  };

  std::optional<HazardFinding> check(const Block &block, uint32_t later) {
    ++round_;
    paths_.clear();
    if (const auto finding = back(block, later, later, {cfg_.number(block), 0, 0, {}}))
      return finding;
    for (size_t n = 0; n < paths_.size(); ++n) {
      const Path path = paths_[n]; // a copy: there will be more
      const Block &from = cfg_.blocks()[path.block];
      if (const auto finding = back(from, from.first + from.count, later, path))
        return finding;
    }
    return {};
  }

  /// From before instruction `end` to the block's start, and notes the blocks from which to go on.
  std::optional<HazardFinding> back(const Block &block, uint32_t end, uint32_t later, Path path) {
    for (uint32_t n = end; n > block.first;) {
      if (path.distance >= rules_.window())
        return {};
      const Info &info = infos_[--n];
      const unsigned states = rules_.behind(info.classes).later & infos_[later].classes
                                  ? rules_.wanted(info, infos_[later], path.between, path.matrix, path.distance)
                                  : 0;
      if (states > path.distance)
        return HazardFinding{info.instr, infos_[later].instr, states, path.distance};
      path.between |= info.classes;
      if (info.classes & kMfma)
        path.matrix.push_back(info.instr);
      path.distance += waitStatesOf(target_, *info.instr);
    }
    if (path.distance >= rules_.window())
      return {};
    for (const uint32_t number : cfg_.predecessors(block)) {
      const Edge &edge = cfg_.edges()[number];
      if (cfg_.blocks()[edge.from].call != CallKind::None || !cfg_.mayBeTaken(edge))
        continue;
      // A block that was reached on a shorter way has nothing to add, unless it is for what lies between.
      Reached &reached = reached_[edge.from];
      if (reached.round == round_ && reached.distance <= path.distance && !(path.between & ~reached.between))
        continue;
      if (reached.round != round_)
        reached = {round_, path.distance, path.between};
      else
        reached = {round_, std::min(reached.distance, path.distance), reached.between | path.between};
      paths_.push_back({edge.from, path.distance, path.between, path.matrix});
    }
    return {};
  }

  struct Reached {
    uint32_t round = 0;
    unsigned distance = 0;
    Classes between = 0;
  };

  const isa::Target &target_;
  const Cfg &cfg_;
  const Rules &rules_;
  std::vector<Info> infos_;
  std::vector<Path> paths_;
  std::vector<Reached> reached_;
  uint32_t round_ = 0;
};

} // namespace

std::vector<HazardFinding> findHazards(const isa::Target &target, const Cfg &cfg) {
  std::vector<HazardFinding> findings;
  if (hazardWindow(target))
    Verifier(target, cfg).run([&](const HazardFinding &finding) {
      findings.push_back(finding);
      return true;
    });
  return findings;
}

Result<void> verifyHazards(const isa::Target &target, const Cfg &cfg) {
  std::optional<HazardFinding> first;
  if (hazardWindow(target))
    Verifier(target, cfg).run([&](const HazardFinding &finding) {
      first = finding;
      return false;
    });
  if (!first)
    return {};
  return makeError("{:#x}: {} must be {} wait states behind {} at {:#x}, and is {}", first->later->address(),
                   first->later->mnemonic(), first->wanted, first->earlier->mnemonic(), first->earlier->address(),
                   first->found);
}

} // namespace luthier::analysis
