#include "vgpu/driver/check_session.h"

#include "support/log.h"
#include "support/variables.h"
#include "vgpu/wave/device.h"
#include "vgpu/wave/dispatch.h"
#include "vgpu/wave/workgroup.h"

#include <algorithm>

namespace luthier::vgpu {

std::unique_ptr<CheckSession> CheckSession::fromEnvironment(AddressSpace &space, LoadedCode &code,
                                                            MemoryManager &memory) {
  const auto folder = env::text(env::kCheckRecords), list = env::text(env::kChecks);
  if (!folder || !list) // without a list, hooks check (memcheck/hooks)
    return nullptr;
  const auto checks = check::Checks::parse(*list);
  if (!checks) {
    log::error("nothing is checked: {}: {}", env::kChecks, checks.error().message());
    return nullptr;
  }
  auto records = check::RecordWriter::open(*folder);
  if (!records) {
    log::error("nothing is checked: {}", records.error().message());
    return nullptr;
  }
  const auto leaks = env::flag(env::kCheckLeaks, false);
  return std::unique_ptr<CheckSession>(
      new CheckSession(space, code, memory, *checks, *std::move(records), leaks && *leaks));
}

CheckSession::CheckSession(AddressSpace &space, LoadedCode &code, MemoryManager &memory, check::Checks checks,
                           std::unique_ptr<check::RecordWriter> records, bool leaks)
    : code_(code), explainer_(code, memory), guards_(space), application_(guards_), checks_(checks),
      records_(std::move(records)), leaks_(leaks) {
  // ROCr makes host memory of pages of its own, which the driver takes for the application's.
  application_.isDevice = [&memory](uint64_t begin) {
    const auto buffer = memory.nearest(begin);
    return buffer && buffer->allocation.kind == Allocation::Kind::Device;
  };
  if (checks.has(check::Check::Memory)) {
    memoryCheck_ = std::make_shared<MemoryCheck>(space, application_.allocations());
    memoryCheck_->onFinding = [this](const Wave &wave, const Inst *inst, const BadAccess &access) {
      found(wave, inst, access);
    };
  }
  if (checks.has(check::Check::Wait)) {
    auto waits = std::make_shared<WaitCheck>();
    waits->onFinding = [this](const Wave &wave, const Inst *inst, const EarlyUse &use) { found(wave, inst, use); };
    waitCheck_ = std::move(waits);
  }
  if (checks.has(check::Check::Init)) {
    initCheck_ = std::make_shared<InitCheck>();
    const auto stores = env::flag(env::kCheckInitStores, false);
    initCheck_->stores = stores && *stores;
    initCheck_->onFinding = [this](const Wave &wave, const Inst *inst, const UndefinedUse &use) {
      found(wave, inst, use);
    };
    application_.onUndefined = [this](uint64_t begin, uint64_t size) { initCheck_->memory.undefine(begin, size); };
    application_.onGivenBack = [this](uint64_t begin, uint64_t size) { initCheck_->memory.define(begin, size); };
    application_.onCopied = [this](uint64_t to, uint64_t from, uint64_t size) {
      initCheck_->memory.copy(to, from, size);
    };
    initCheck_->hostSees = [this](uint64_t address) {
      const auto live = application_.allocations().liveAround(address, 1);
      return live && live->kind != Allocation::Kind::Device;
    };
  }
  if (checks.has(check::Check::Race)) {
    auto races = std::make_shared<RaceCheck>(*checkedCode_);
    races->onRace = [this](const Wave &wave, const Inst *inst, const Race &race) { found(wave, inst, race); };
    races->onNotChecked = [this](const std::string &what) {
      std::lock_guard lock(mutex_);
      if (notChecked_.insert(what).second)
        records_->notChecked(what);
    };
    raceCheck_ = std::move(races);
  }
  if (checks.has(check::Check::Barrier)) {
    auto barriers = std::make_shared<BarrierCheck>();
    barriers->onProblem = [this](const Wave &wave, const BarrierProblem &problem) { found(wave, problem); };
    barrierCheck_ = std::move(barriers);
  }
}

void CheckSession::watch(Device &device) {
  device.memoryCheck = memoryCheck_;
  device.raceCheck = raceCheck_;
  device.barrierCheck = barrierCheck_;
  device.waitCheck = waitCheck_;
  device.initCheck = initCheck_;
  if (raceCheck_ || barrierCheck_)
    device.checkedCode = checkedCode_;
  device.onLaunch = [this](const Launch &launch) { launched(launch); };
}

void CheckSession::launched(const Launch &launch) {
  application_.allocations().useForArguments(launch.kernarg);
  const auto buffer = raceCheck_ ? code_.hostcallBuffer(launch.kernelObject, launch.kernarg) : std::nullopt;
  const auto hostcall = buffer ? application_.allocations().liveAround(*buffer, 1) : std::nullopt;
  std::lock_guard lock(mutex_);
  if (hostcall)
    hostcallBuffers_[hostcall->begin] = hostcall->end;
  const bool isNew = kernels_.insert(launch.kernelObject).second;
  records_->countLaunch(isNew);
  if (isNew && kernels_.size() == 1 && !application_.sizesKnown())
    records_->notChecked("sizes of allocations in bytes: ROCr did not hand over its table of functions "
                         "(HSA_TOOLS_LIB), so accesses are checked by pages");
}

bool CheckSession::sharedWithHost(uint64_t address) {
  if (isMailbox && isMailbox(address))
    return true;
  std::lock_guard lock(mutex_);
  const auto behind = hostcallBuffers_.upper_bound(address);
  return behind != hostcallBuffers_.begin() && address < std::prev(behind)->second;
}

void CheckSession::found(const Wave &wave, const Inst *inst, const BadAccess &access) {
  record({explainer_.ruleOf(wave, access, &application_.allocations()), wave.group->dispatch().launch().kernelObject,
          wave.pc(inst), 0},
         [&] { return explainer_.explain(wave, inst, access, &application_.allocations()); });
}

void CheckSession::found(const Wave &wave, const Inst *inst, const Race &race) {
  if (!race.lds && sharedWithHost(race.first()))
    return;
  const uint64_t mine = wave.pc(inst), other = race.past.inst ? race.past.inst->pc : 0;
  const auto [low, high] = std::minmax(mine, other); // which of the two came first is by chance
  record({Explainer::ruleOf(race), wave.group->dispatch().launch().kernelObject, low, high},
         [&] { return explainer_.explain(wave, inst, race, application_.allocations()); });
}

void CheckSession::found(const Wave &wave, const BarrierProblem &problem) {
  record({Explainer::ruleOf(problem), wave.group->dispatch().launch().kernelObject, problem.barrier->pc,
          problem.other ? problem.other->pc : 0},
         [&] { return explainer_.explain(wave, problem); });
}

void CheckSession::found(const Wave &wave, const Inst *inst, const EarlyUse &use) {
  record({check::rule::kMissingWait, wave.group->dispatch().launch().kernelObject, wave.pc(inst), 0},
         [&] { return explainer_.explain(wave, inst, use); });
}

void CheckSession::found(const Wave &wave, const Inst *inst, const UndefinedUse &use) {
  record({Explainer::ruleOf(use), wave.group->dispatch().launch().kernelObject, wave.pc(inst), 0},
         [&] { return explainer_.explain(wave, inst, use, application_.allocations()); });
}

template <class Make> void CheckSession::record(const Place &place, Make make) {
  // Held while the finding is made: other waves at the same place wait for its number.
  std::lock_guard lock(mutex_);
  if (const auto at = known_.find(place); at != known_.end()) {
    records_->again(at->second);
    return;
  }
  known_.emplace(place, records_->add(make()));
}

void CheckSession::finish() {
  if (!leaks_)
    return;
  for (const Allocation &allocation : application_.allocations().live())
    if (allocation.claimed)
      records_->add(memcheck::leak(allocation));
}

} // namespace luthier::vgpu
