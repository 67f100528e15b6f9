#include "vgpu/wave/workgroup.h"

#include "vgpu/device.h"
#include "vgpu/wave/code_cache.h"
#include "vgpu/wave/observer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace luthier::vgpu {

namespace {

/// Instructions that a wave executes before others get their turn: long enough that switching costs nothing, short
/// enough that a wave spinning on a lock does not keep its holder waiting for long.
constexpr uint64_t kQuantum = 4096;

/// Workgroups that a worker takes at once.
constexpr uint64_t kTake = 8;

uint32_t product(const std::array<uint32_t, 3> &size) { return size[0] * size[1] * size[2]; }

} // namespace

WavePool::~WavePool() {
  for (Wave *wave : free_)
    free(wave);
}

Wave *WavePool::take() {
  if (!free_.empty()) {
    Wave *wave = free_.back();
    free_.pop_back();
    return wave;
  }
  // Not `new Wave()`: clearing 128 KiB of registers that the kernel does not have would cost more than small kernels
  // do.
  void *memory = aligned_alloc(alignof(Wave), sizeof(Wave));
  if (!memory)
    abort();
  return static_cast<Wave *>(memory);
}

/// The number of the next workgroup; the grid's size or more when there is none.
///
/// Taking several keeps what kernels may rely on. The lowest unfinished workgroup is always resident or the next that
/// its worker starts, so waiting for lower ones ends. Waiting for all of them (a grid barrier) needs a grid that fits
/// the modelled GPU, and there workers take one at a time, as they do at the end of a grid to share what is left. So
/// they do with scratch, whose slots must go to the lowest workgroups first.
uint64_t Workgroup::takeIndex(Dispatch &dispatch, GroupRange *taken) {
  if (taken && !taken->empty())
    return taken->next++;
  auto &next = dispatch.nextGroup_;
  const bool several = taken && !dispatch.launch().privateSegmentSize &&
                       next.load(std::memory_order_relaxed) + dispatch.maxResident_ + kTake < dispatch.groupCount_;
  const uint64_t count = several ? kTake : 1;
  const uint64_t first = next.fetch_add(count, std::memory_order_acq_rel);
  if (taken)
    *taken = {std::min(first + 1, dispatch.groupCount_), std::min(first + count, dispatch.groupCount_)};
  return first;
}

std::unique_ptr<Workgroup> Workgroup::startNext(Dispatch &dispatch, WavePool &pool, OpcodeCount *counts,
                                                GroupRange *taken) {
  const Launch &launch = dispatch.launch();
  const uint32_t lanes = dispatch.device().target().waveSize;
  auto wavesFor = [&](uint32_t items) { return (items + lanes - 1) / lanes; };
  // Scratch first: a workgroup that has been claimed must run.
  std::vector<uint32_t> slots;
  const uint32_t mostItems = uint32_t(launch.workgroup[0]) * launch.workgroup[1] * launch.workgroup[2];
  if (launch.privateSegmentSize && !launch.scratch->acquire(wavesFor(mostItems), slots))
    return nullptr;
  const uint64_t index = takeIndex(dispatch, taken);
  if (index >= dispatch.groupCount_) {
    if (!slots.empty())
      launch.scratch->release(slots);
    return nullptr;
  }
  auto group = std::unique_ptr<Workgroup>(new Workgroup(dispatch, index, pool));
  group->scratchSlots_ = std::move(slots);
  group->lds_ = std::move(pool.lds_);
  group->lds_.assign(launch.groupSegmentSize, 0);
  const KernelDescriptor descriptor = descriptorAt(launch.kernelObject);
  group->waves_ = std::move(pool.waves_);
  group->waves_.resize(wavesFor(product(group->size_)));
  for (uint32_t n = 0; n < group->waves_.size(); ++n) {
    Wave *wave = group->waves_[n] = pool.take();
    group->initialise(*wave, descriptor, n, n * lanes);
    wave->counts = counts;
  }
  group->running_ = static_cast<uint32_t>(group->waves_.size());
  if (dispatch.observation_)
    group->observe(wavesFor(mostItems));
  return group;
}

void Workgroup::observe(uint32_t wavesPerGroup) {
  const auto &groups = dispatch_.groups_;
  const uint64_t first = (id_[0] + uint64_t{groups[0]} * (id_[1] + uint64_t{groups[1]} * id_[2])) * wavesPerGroup;
  for (Wave *wave : waves_) {
    auto observer = std::make_unique<WaveObserver>(*dispatch_.observation_, first + wave->index);
    if (!observer->active())
      continue;
    wave->observer = observer.get();
    observers_.push_back(std::move(observer));
  }
}

Workgroup::Workgroup(Dispatch &dispatch, uint64_t index, WavePool &pool) : dispatch_(dispatch), pool_(pool) {
  const Launch &launch = dispatch.launch();
  const auto &groups = dispatch.groups_;
  id_ = {static_cast<uint32_t>(index % groups[0]), static_cast<uint32_t>(index / groups[0] % groups[1]),
         static_cast<uint32_t>(index / groups[0] / groups[1])};
  for (unsigned d = 0; d < 3; ++d)
    size_[d] = std::min<uint32_t>(launch.workgroup[d], launch.grid[d] - id_[d] * launch.workgroup[d]);
}

Workgroup::~Workgroup() {
  for (Wave *wave : waves_)
    pool_.give(wave);
  pool_.lds_ = std::move(lds_);
  pool_.waves_ = std::move(waves_);
  if (!scratchSlots_.empty())
    dispatch_.launch().scratch->release(scratchSlots_);
}

std::string Workgroup::kernelName() const { return dispatch_.kernelName(); }

std::string Workgroup::position() const { return fmt::format("({}, {}, {})", id_[0], id_[1], id_[2]); }

// The state that the packet processor sets up before a wave's first instruction (AMDGPUUsage, "Initial Kernel Execution
// State"): user SGPRs in the order of their enable bits, then system SGPRs, then work-item ids.
void Workgroup::initialise(Wave &w, const KernelDescriptor &descriptor, uint32_t index, uint32_t firstItem) {
  const Launch &launch = dispatch_.launch();
  Device &device = dispatch_.device();
  const isa::Target &target = device.target();

  w.vgprCount = std::min<uint32_t>(descriptor.vgprs(target), 512);
  memset(w.v, 0, std::min<uint32_t>(w.vgprCount, target.vgprs) * sizeof w.v[0]);
  if (w.vgprCount > 8 && target.accVgprs)
    memset(w.v[kAccBase], 0, std::min<uint32_t>(w.vgprCount, target.accVgprs) * sizeof w.v[0]);
  memset(w.s, 0, sizeof w.s);
  for (uint64_t &key : w.broadcast32For)
    key = ~0ull; // no 32-bit value
  w.broadcast64Valid = 0;
  w.execLanesFor = 0;
  memset(w.execLanes, 0, sizeof w.execLanes);
  w.scc = 0;
  w.mode = descriptor.mode();
  w.lanes = target.waveSize;
  w.stop = Stop::None;
  w.chunk = w.recentChunks[0] = w.recentChunks[1] = w.recentChunks[2] = w.recentChunks[3] = dispatch_.entryChunk_;
  w.code = dispatch_.code_.get();
  w.group = this;
  w.device = &device;
  w.memory = &device.memory();
  w.deviceMask = device.mask();
  w.lds = lds_.data();
  w.ldsSize = static_cast<uint32_t>(lds_.size());
  w.index = index;
  w.sharedAperture = device.config().sharedApertureBase;
  w.privateAperture = device.config().privateApertureBase;
  w.counts = nullptr;
  w.observer = nullptr;
  w.gwsTicket = 0;

  uint64_t scratchOffset = 0;
  w.scratchBase = w.scratchBytes = 0;
  if (launch.privateSegmentSize) {
    scratchOffset = scratchSlots_[index] * launch.scratch->bytesPerWave();
    w.scratchBase = launch.scratch->base() + scratchOffset;
    w.scratchBytes = launch.scratch->bytesPerWave();
  }

  unsigned next = 0;
  auto push = [&](uint32_t value) { w.s[next++] = value; };
  auto push64 = [&](uint64_t value) {
    push(static_cast<uint32_t>(value));
    push(static_cast<uint32_t>(value >> 32));
  };
  if (descriptor.privateSegmentBuffer()) {
    if (launch.scratch)
      for (uint32_t word : launch.scratch->resource())
        push(word);
    else
      next += 4;
  }
  if (descriptor.dispatchPtr())
    push64(launch.packet);
  if (descriptor.queuePtr())
    push64(launch.queue);
  if (descriptor.kernargPtr())
    push64(launch.kernarg);
  if (descriptor.dispatchId())
    push64(launch.dispatchId);
  if (descriptor.flatScratchInit())
    push64(launch.scratch ? launch.scratch->base() : 0);
  if (descriptor.privateSegmentSizeSgpr())
    push(launch.privateSegmentSize);
  next = descriptor.userSgprs();
  for (unsigned d = 0; d < 3; ++d)
    if (descriptor.workgroupId(d))
      push(id_[d]);
  if (descriptor.workgroupInfo())
    push(static_cast<uint32_t>(waves_.size()) | (index == 0 ? 0x80000000u : 0));
  if (descriptor.usesScratch() && !KernelDescriptor::architectedFlatScratch(target))
    push(static_cast<uint32_t>(scratchOffset));

  setWorkitemIds(w, descriptor, firstItem);
  w.ip = dispatch_.entry_;
}

/// EXEC and the work-item ids: the wave's lanes are work-items firstItem, firstItem + 1, ... of the workgroup.
void Workgroup::setWorkitemIds(Wave &w, const KernelDescriptor &descriptor, uint32_t firstItem) const {
  const bool packed = dispatch_.device().target().packedWorkitemIds;
  const uint32_t active = std::min(w.lanes, product(size_) - firstItem);
  w.setExec(active == 64 ? ~0ull : (1ull << active) - 1);
  if (size_[1] == 1 && size_[2] == 1) { // y and z are zero, as all registers are
    for (uint32_t lane = 0; lane < active; ++lane)
      w.v[0][lane] = firstItem + lane;
    return;
  }
  const uint32_t wanted = descriptor.workitemIds();
  uint32_t x = firstItem % size_[0], y = firstItem / size_[0] % size_[1], z = firstItem / size_[0] / size_[1];
  for (uint32_t lane = 0; lane < active; ++lane) {
    const uint32_t givenY = wanted > 0 ? y : 0, givenZ = wanted > 1 ? z : 0;
    if (packed) {
      w.v[0][lane] = x | givenY << 10 | givenZ << 20;
    } else {
      w.v[0][lane] = x;
      w.v[1][lane] = givenY;
      w.v[2][lane] = givenZ;
    }
    if (++x == size_[0]) {
      x = 0;
      if (++y == size_[1]) {
        y = 0;
        ++z;
      }
    }
  }
}

void Workgroup::releaseBarrier() {
  for (Wave *wave : waves_)
    if (wave->stop == Stop::Barrier)
      wave->stop = Stop::None;
}

void Workgroup::ended(const Wave &wave) {
  if (const auto &report = dispatch_.launch().onWaveEnd)
    report(*this, wave);
}

Stop Workgroup::step(uint32_t index) {
  Wave &wave = *waves_[index];
  if (wave.stop == Stop::Gws && wave.device->gws().called(wave.gwsTicket))
    wave.stop = Stop::None;
  if (wave.stop != Stop::None && wave.stop != Stop::Yield)
    return wave.stop;
  wave.run(wave.ip->words == 0 ? 2 : 1); // the hop to the next chunk is no instruction
  if (wave.stop == Stop::End)
    --running_;
  if (wave.stop == Stop::End || wave.stop == Stop::Fault)
    ended(wave);
  const auto atBarrier = std::ranges::count_if(waves_, [](const Wave *w) { return w->stop == Stop::Barrier; });
  if (atBarrier && atBarrier == running_)
    releaseBarrier();
  return wave.stop;
}

Workgroup::Progress Workgroup::run() {
  bool ran = false;
  // Waves that meet at barriers are kept going within one turn, for a while.
  for (unsigned phase = 0; phase < 16; ++phase) {
    bool released = false;
    uint32_t atBarrier = 0;
    for (Wave *wave : waves_) {
      if (wave->stop == Stop::End)
        continue;
      if (wave->stop == Stop::Gws && wave->device->gws().called(wave->gwsTicket))
        wave->stop = Stop::None;
      if (wave->stop == Stop::Barrier || wave->stop == Stop::Gws) {
        atBarrier += wave->stop == Stop::Barrier;
        continue;
      }
      wave->run(kQuantum);
      switch (wave->stop) {
      case Stop::None:
        ran = true;
        break;
      case Stop::Barrier:
        ++atBarrier;
        break;
      case Stop::End:
        ended(*wave);
        if (--running_ == 0)
          return Progress::Finished;
        break;
      case Stop::Fault:
        ended(*wave);
        return Progress::Finished;
      default:
        break;
      }
    }
    if (atBarrier && atBarrier == running_) {
      releaseBarrier();
      released = true;
    }
    if (!released)
      break;
    ran = true;
  }
  return ran ? Progress::Ran : Progress::Waiting;
}

} // namespace luthier::vgpu
