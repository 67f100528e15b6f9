#include "vgpu/driver/check_session.h"

#include "support/log.h"
#include "support/variables.h"
#include "vgpu/driver/host_stack.h"
#include "vgpu/wave/device.h"
#include "vgpu/wave/dispatch.h"
#include "vgpu/wave/workgroup.h"

#include <algorithm>
#include <limits>

namespace luthier::vgpu {

namespace {

constexpr uint64_t kDefaultQuarantine = 256; // MiB

/// The function of HIP that the application has called, if it was that.
bool calledThrough(const HostStack &stack, std::string_view function) {
  return std::ranges::any_of(describeHostStack(stack),
                             [&](const check::HostFrame &frame) { return frame.function == function; });
}

constexpr size_t kLeftOut = std::numeric_limits<size_t>::max(); ///< a place that is not reported

/// The protocol by which device code calls the host: packets go from wave to wave by way of the host, whose part in
/// their order nobody sees here.
bool isHostcall(const check::Finding &finding) {
  constexpr std::string_view kFunction = "__ockl_hostcall";
  return finding.other && finding.function.starts_with(kFunction) && finding.other->function.starts_with(kFunction);
}

} // namespace

std::unique_ptr<CheckSession> CheckSession::fromEnvironment(AddressSpace &space, LoadedCode &code,
                                                            MemoryManager &memory) {
  const auto folder = env::text(env::kCheckRecords);
  if (!folder)
    return nullptr;
  const auto checks = check::Checks::parse(env::text(env::kChecks).value_or(""));
  if (!checks) {
    log::error("nothing is checked: {}: {}", env::kChecks, checks.error().message());
    return nullptr;
  }
  auto records = check::RecordWriter::open(*folder);
  if (!records) {
    log::error("nothing is checked: {}", records.error().message());
    return nullptr;
  }
  const auto quarantine = env::number(env::kCheckQuarantine, kDefaultQuarantine);
  const auto leaks = env::flag(env::kCheckLeaks, false);
  return std::unique_ptr<CheckSession>(new CheckSession(space, code, memory, *checks, *std::move(records),
                                                        (quarantine ? *quarantine : kDefaultQuarantine) << 20,
                                                        leaks && *leaks));
}

CheckSession::CheckSession(AddressSpace &space, LoadedCode &code, MemoryManager &memory, check::Checks checks,
                           std::unique_ptr<check::RecordWriter> records, uint64_t quarantineBytes, bool leaks)
    : memory_(memory), explainer_(code, memory), allocations_(space), checks_(checks), records_(std::move(records)),
      quarantineBytes_(quarantineBytes), leaks_(leaks) {
  if (checks.has(check::Check::Memory)) {
    memoryCheck_ = std::make_shared<MemoryCheck>(space, allocations_);
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
    initCheck_->hostSees = [this](uint64_t address) {
      const auto live = allocations_.liveAround(address, 1);
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
  allocations_.useForArguments(launch.kernarg);
  std::lock_guard lock(mutex_);
  const bool isNew = kernels_.insert(launch.kernelObject).second;
  records_->countLaunch(isNew);
  if (isNew && kernels_.size() == 1 && !tableSeen_)
    records_->notChecked("sizes of allocations in bytes: ROCr did not hand over its table of functions "
                         "(HSA_TOOLS_LIB), so accesses are checked by pages");
}

void CheckSession::found(const Wave &wave, const Inst *inst, const BadAccess &access) {
  record(
      {explainer_.ruleOf(wave, access, &allocations_), wave.group->dispatch().launch().kernelObject, wave.pc(inst), 0},
      [&] { return explainer_.explain(wave, inst, access, &allocations_); });
}

void CheckSession::found(const Wave &wave, const Inst *inst, const Race &race) {
  if (!race.lds && isMailbox && isMailbox(race.first()))
    return;
  const uint64_t mine = wave.pc(inst), other = race.past.inst ? race.past.inst->pc : 0;
  const auto [low, high] = std::minmax(mine, other); // which of the two came first is by chance
  record({Explainer::ruleOf(race), wave.group->dispatch().launch().kernelObject, low, high},
         [&] { return explainer_.explain(wave, inst, race, allocations_); });
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
         [&] { return explainer_.explain(wave, inst, use, allocations_); });
}

template <class Make> void CheckSession::record(const Place &place, Make make) {
  // Held while the finding is made: other waves at the same place wait for its number.
  std::lock_guard lock(mutex_);
  if (const auto at = known_.find(place); at != known_.end()) {
    if (at->second != kLeftOut)
      records_->again(at->second);
    return;
  }
  const check::Finding finding = make();
  known_.emplace(place, isHostcall(finding) ? kLeftOut : records_->add(finding));
}

void CheckSession::allocated(uint64_t begin, uint64_t size) {
  Allocation allocation;
  allocation.begin = begin;
  allocation.size = size;
  // ROCr makes host memory of pages of its own, which the driver takes for the application's.
  const auto buffer = memory_.nearest(begin);
  const bool device = buffer && buffer->allocation.kind == Allocation::Kind::Device;
  allocation.kind = device ? Allocation::Kind::Device : Allocation::Kind::Host;
  allocation.allocatedAt = captureHostStack();
  // HIP keeps arguments of all its launches together. Whoever uses ROCr alone may have anything beside them.
  allocation.mayBeKernarg = !device && passesThroughHip(allocation.allocatedAt);
  // What HIP allocates for itself it fills in ways of its own; what it allocates for its caller is claimed.
  if (initCheck_ && device && !passesThroughHip(allocation.allocatedAt))
    initCheck_->memory.undefine(begin, size);
  allocations_.add(std::move(allocation));
}

void CheckSession::claimed(uint64_t begin) {
  allocations_.claim(begin);
  const auto live = initCheck_ ? allocations_.liveAround(begin, 1) : std::nullopt;
  if (live && live->begin == begin && live->kind == Allocation::Kind::Device)
    initCheck_->memory.undefine(live->begin, live->end - live->begin);
}

void CheckSession::copied(uint64_t to, uint64_t from, uint64_t size) {
  if (initCheck_)
    initCheck_->memory.copy(to, from, size);
}

void CheckSession::registered(uint64_t host, uint64_t begin, uint64_t size) {
  Allocation allocation;
  allocation.begin = begin;
  allocation.size = size;
  allocation.kind = Allocation::Kind::Registered;
  allocation.allocatedAt = captureHostStack();
  allocations_.add(std::move(allocation));
  std::lock_guard lock(mutex_);
  registered_[host] = begin;
}

void CheckSession::unregistered(uint64_t host) {
  uint64_t begin = 0;
  {
    std::lock_guard lock(mutex_);
    const auto found = registered_.find(host);
    if (found == registered_.end())
      return;
    begin = found->second;
    registered_.erase(found);
  }
  allocations_.free(begin, captureHostStack());
}

void CheckSession::managed(uint64_t begin, uint64_t size) {
  HostStack stack = captureHostStack();
  // The same call also gives advice on memory that exists.
  if (!calledThrough(stack, "hipMallocManaged"))
    return;
  Allocation allocation;
  allocation.begin = begin;
  allocation.size = size;
  allocation.kind = Allocation::Kind::Managed;
  allocation.allocatedAt = std::move(stack);
  allocations_.add(std::move(allocation));
}

void CheckSession::freedByHip(uint64_t begin) {
  const auto live = allocations_.liveAround(begin, 1);
  if (!live || live->begin != begin || live->kind != Allocation::Kind::Managed)
    return;
  allocations_.free(begin, captureHostStack());
  allocations_.forget(begin); // the host may use the addresses again at once
}

CheckSession::Freed CheckSession::freed(uint64_t begin) {
  const auto live = allocations_.liveAround(begin, 1);
  if (live && live->begin == begin && allocations_.free(begin, captureHostStack())) {
    std::lock_guard lock(mutex_);
    quarantine_.emplace_back(begin, live->end - begin);
    quarantined_ += live->end - begin;
    return Freed::Kept;
  }
  std::lock_guard lock(mutex_);
  return std::ranges::find(quarantine_, begin, &std::pair<uint64_t, uint64_t>::first) != quarantine_.end()
             ? Freed::Again
             : Freed::Unknown;
}

std::vector<uint64_t> CheckSession::release(bool all) {
  std::vector<uint64_t> addresses;
  std::vector<std::pair<uint64_t, uint64_t>> gone;
  {
    std::lock_guard lock(mutex_);
    while (!quarantine_.empty() && (all || quarantined_ > quarantineBytes_)) {
      addresses.push_back(quarantine_.front().first);
      gone.push_back(quarantine_.front());
      quarantined_ -= quarantine_.front().second;
      quarantine_.pop_front();
    }
  }
  for (const auto &[begin, size] : gone) {
    allocations_.forget(begin);
    if (initCheck_)
      initCheck_->memory.define(begin, size); // whoever has it next may write it unseen
  }
  return addresses;
}

void CheckSession::finish() {
  if (!leaks_)
    return;
  for (const Allocation &allocation : allocations_.live())
    if (allocation.claimed)
      records_->add(Explainer::leak(allocation));
}

} // namespace luthier::vgpu
