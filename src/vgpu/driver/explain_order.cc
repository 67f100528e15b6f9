// What the checks of races and barriers have found, in words.

#include "vgpu/driver/explain.h"

#include "vgpu/wave/device.h"
#include "vgpu/wave/workgroup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace luthier::vgpu {

namespace {

using check::Finding;
using Kind = BarrierProblem::Kind;

constexpr uint64_t kWord = 4;

/// "write of 4 bytes"
std::string actionOf(const CheckedInst *inst, bool write) {
  if (!inst)
    return write ? "write" : "read";
  return fmt::format("{} of {} byte{}",
                     inst->atomic ? "atomic operation"
                     : write      ? "write"
                                  : "read",
                     inst->bytes, inst->bytes == 1 ? "" : "s");
}

const char *nameOf(MissingOrder missing) {
  switch (missing) {
  case MissingOrder::Barrier:
    return "a barrier between the two (s_barrier; __syncthreads in HIP)";
  case MissingOrder::BarrierWait:
    return "a wait before the barrier that is between the two: the first access may still be on its way";
  case MissingOrder::Synchronisation:
    return "synchronisation of the two workgroups: a release by the first that the second acquires";
  case MissingOrder::ReleaseWait:
    return "a wait before the release: the first access may still be on its way (s_waitcnt; __threadfence in HIP)";
  case MissingOrder::Acquire:
    return "an acquire: the second access may read what its cache has kept (invalidate; __threadfence in HIP)";
  case MissingOrder::Scope:
    return "the scope of the agent: the value was read as among the waves of one workgroup";
  case MissingOrder::Kernels:
    return "an order of the two kernels: they ran at the same time (one stream, or an event between two)";
  }
  return "";
}

std::vector<uint32_t> numbersOf(uint64_t lanes) {
  std::vector<uint32_t> numbers;
  for (uint64_t m = lanes; m; m &= m - 1)
    numbers.push_back(static_cast<uint32_t>(__builtin_ctzll(m)));
  return numbers;
}

/// "waves 0, 2-3 at 0x10, wave 1 has ended"
std::vector<std::string> notesOf(const BarrierProblem &problem, uint64_t begin) {
  struct Group {
    const CheckedInst *barrier;
    uint32_t barriers;
    bool ended;
    std::vector<uint32_t> waves;
  };
  std::vector<Group> groups;
  for (uint32_t n = 0; n < problem.waves.size(); ++n) {
    const auto &wave = problem.waves[n];
    auto same = std::ranges::find_if(groups, [&](const Group &group) {
      return group.barrier == wave.barrier && group.barriers == wave.barriers && group.ended == wave.ended;
    });
    if (same == groups.end())
      same = groups.insert(same, {wave.barrier, wave.barriers, wave.ended, {}});
    same->waves.push_back(n);
  }
  std::vector<std::string> notes;
  for (const Group &group : groups) {
    std::string where = group.barrier ? fmt::format("at barrier {}, {:#06x}", group.barriers, group.barrier->pc - begin)
                                      : "at no barrier so far";
    if (group.ended)
      where = group.barrier ? fmt::format("ended behind {} barrier{}", group.barriers, group.barriers == 1 ? "" : "s")
                            : "ended without coming to a barrier";
    notes.push_back(
        fmt::format("{} {}: {}", group.waves.size() == 1 ? "wave" : "waves", check::ranges(group.waves), where));
  }
  return notes;
}

std::string messageOf(const BarrierProblem &problem, const Wave &wave) {
  const auto lanes = numbersOf(problem.lanes);
  switch (problem.kind) {
  case Kind::Lanes:
    return fmt::format("lane{} {} of wave {} went around this barrier, and on behind it", lanes.size() > 1 ? "s" : "",
                       check::ranges(lanes), wave.index);
  case Kind::Waves:
    return fmt::format("wave {} went around this barrier, and on behind it", wave.index);
  case Kind::Mixed:
    return "waves of a workgroup met at different barriers";
  case Kind::SignalledTwice:
    return fmt::format("wave {} signals the barrier again before it has waited for it", wave.index);
  case Kind::WaitsUnsignalled:
    return fmt::format("wave {} waits for a barrier that it has not signalled", wave.index);
  case Kind::EndsSignalled:
    return fmt::format("wave {} has signalled the barrier and ends without waiting for it", wave.index);
  case Kind::Stuck:
    return "no wave of the workgroup can go on: all that are left wait at a barrier";
  }
  return "";
}

} // namespace

std::string_view Explainer::ruleOf(const BarrierProblem &problem) {
  namespace rule = check::rule;
  switch (problem.kind) {
  case Kind::Lanes:
    return rule::kBarrierLanes;
  case Kind::Waves:
    return rule::kBarrierSkipped;
  case Kind::Mixed:
    return rule::kBarrierMixed;
  case Kind::SignalledTwice:
  case Kind::WaitsUnsignalled:
  case Kind::EndsSignalled:
    return rule::kBarrierSplit;
  case Kind::Stuck:
    break;
  }
  return rule::kBarrierStuck;
}

Finding Explainer::explain(const Wave &wave, const Inst *inst, const Race &race, const Allocations &allocations) const {
  Finding finding = describe(wave, inst);
  const CheckedInst &mine = checkedInst(inst);
  const PastAccess &past = race.past;
  finding.rule = ruleOf(race);
  const std::string place =
      race.lds ? fmt::format("LDS offset {:#x}", race.first()) : fmt::format("{:#x}", race.first());
  finding.message = fmt::format("{} at {} races with a {} by another wave", actionOf(&mine, race.write), place,
                                actionOf(past.inst, past.write));
  finding.address = race.first();
  if (!race.scalar)
    for (const uint32_t lane : numbersOf(race.lanes))
      finding.lanes.push_back({lane, race.addresses[lane]});
  finding.missing = nameOf(race.missing);
  check::OtherSide &other = finding.other.emplace();
  other.what = fmt::format("{}, earlier", actionOf(past.inst, past.write));
  other.workgroup = past.workgroup;
  other.wave = past.wave;
  if (!past.inst || past.inst->operands.space != MemorySpace::Scalar)
    other.lanes = numbersOf(past.lanes);
  if (past.inst)
    addCode(other, {past.inst->pc, past.inst->words * kWord, past.kernelObject, *wave.device, past.inst->lanes});
  if (!race.lds)
    if (const auto neighbour = allocations.nearest(race.first(), 1);
        neighbour && neighbour->where == Allocations::Neighbour::Where::Inside)
      finding.memory = memoryOf(*neighbour, true);
  return finding;
}

std::string_view Explainer::ruleOf(const Race &race) {
  return race.lds ? check::rule::kLdsRace : check::rule::kGlobalRace;
}

Finding Explainer::explain(const Wave &wave, const BarrierProblem &problem) const {
  const CheckedInst &barrier = *problem.barrier;
  Finding finding = describe(wave, barrier.pc, barrier.words * kWord);
  finding.rule = ruleOf(problem);
  finding.message = messageOf(problem, wave);
  finding.hasAddress = false;
  finding.notes = notesOf(problem, barrier.pc - finding.offset);
  for (const uint32_t lane : numbersOf(problem.lanes))
    finding.lanes.push_back({lane, 0});
  if (problem.other) {
    check::OtherSide &other = finding.other.emplace();
    other.what = problem.kind == Kind::Mixed ? "the barrier of the others" : "where they go on";
    other.workgroup = wave.group->id();
    other.wave = wave.index;
    const uint64_t kernelObject = wave.group->dispatch().launch().kernelObject;
    addCode(other, {problem.other->pc, problem.other->words * kWord, kernelObject, *wave.device, wave.lanes});
  }
  return finding;
}

} // namespace luthier::vgpu
