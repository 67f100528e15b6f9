#include "vgpu/wave/workgroup.h"

#include "vgpu/state/fp_mode.h"
#include "vgpu/wave/code_cache.h"
#include "vgpu/wave/device.h"
#include "vgpu/wave/observer.h"
#include "vgpu/wave/running.h"
#include "vgpu/wave/strict_resources.h"
#include "vgpu/wave/wave_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace luthier::vgpu {

namespace {

constexpr size_t kPage = AddressSpace::kPageSize;

/// How much further into its first page each wave record begins than the one before. At the same place in all of them,
/// the waves of a workgroup would compete for a few sets of the host's first-level cache: a set is chosen by the
/// address within a page, and has room for eight lines. An odd number of half rows, so that waves of 32 lanes, which
/// use the first half of each row, use all sets between them.
constexpr size_t kStep = 5 * (kMaxLanes / 2) * sizeof(uint32_t);

/// The most workgroups that a worker takes at once: enough for the host to see long runs of addresses.
constexpr uint64_t kMostTaken = 256;

} // namespace

WavePool::~WavePool() {
  for (Wave *wave : free_)
    free(reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(wave) & ~uintptr_t{kPage - 1}));
}

Wave *WavePool::take() {
  if (!free_.empty()) {
    Wave *wave = free_.back();
    free_.pop_back();
    return wave;
  }
  // Not `new Wave()`: clearing 128 KiB of registers that the kernel does not have would cost more than small kernels
  // do. On pages of its own: speed depends on where the allocator puts it (docs/performance.md).
  const size_t offset = made_++ * kStep % kPage;
  auto *memory = static_cast<std::byte *>(aligned_alloc(kPage, (offset + sizeof(Wave) + kPage - 1) / kPage * kPage));
  if (!memory)
    abort();
  Wave *wave = reinterpret_cast<Wave *>(memory + offset);
  wave->clearCaches();
  return wave;
}

/// The number of the next workgroup; the grid's size or more when there is none.
///
/// A worker takes several, and fewer towards the end of the grid, so that all workers are done at the same time. This
/// keeps what kernels may rely on. The lowest unfinished workgroup is always resident or the next that its worker
/// starts, so waiting for lower ones ends. Waiting for all of them (a grid barrier) needs a grid that fits the modelled
/// GPU, and there workers take one at a time. So they do with scratch, whose slots must go to the lowest workgroups
/// first.
uint64_t Workgroup::takeIndex(Dispatch &dispatch, GroupRange *taken) {
  if (taken && !taken->empty())
    return taken->next++;
  auto &next = dispatch.nextGroup_;
  uint64_t count = 1;
  if (taken && !dispatch.launch().privateSegmentSize && dispatch.groupCount_ > dispatch.maxResident_) {
    const uint64_t begun = std::min(next.load(std::memory_order_relaxed), dispatch.groupCount_);
    const uint64_t workers = dispatch.participants_.load(std::memory_order_relaxed);
    count = std::clamp<uint64_t>((dispatch.groupCount_ - begun) / (4 * std::max<uint64_t>(workers, 1)), 1, kMostTaken);
  }
  const uint64_t first = next.fetch_add(count, std::memory_order_acq_rel);
  if (taken)
    *taken = {std::min(first + 1, dispatch.groupCount_), std::min(first + count, dispatch.groupCount_)};
  return first;
}

std::unique_ptr<Workgroup> Workgroup::startNext(Dispatch &dispatch, WavePool &pool, OpcodeCount *counts,
                                                GroupRange *taken) {
  const Launch &launch = dispatch.launch();
  // Scratch first: a workgroup that has been claimed must run.
  std::vector<uint32_t> slots;
  if (launch.privateSegmentSize && !launch.scratch->acquire(dispatch.start_.fullWaves(), slots))
    return nullptr;
  const uint64_t index = takeIndex(dispatch, taken);
  if (index >= dispatch.groupCount_) {
    if (!slots.empty())
      launch.scratch->release(slots);
    return nullptr;
  }
  return make(dispatch, index, pool, counts, std::move(slots));
}

std::unique_ptr<Workgroup> Workgroup::make(Dispatch &dispatch, uint64_t index, WavePool &pool, OpcodeCount *counts,
                                           std::vector<uint32_t> slots) {
  const Launch &launch = dispatch.launch();
  const uint32_t lanes = dispatch.lanes();
  auto group = std::unique_ptr<Workgroup>(new Workgroup(dispatch, index, pool));
  group->scratchSlots_ = std::move(slots);
  group->lds_ = std::move(pool.lds_);
  group->lds_.assign(launch.groupSegmentSize, 0);
  group->waves_ = std::move(pool.waves_);
  group->waves_.resize((product(group->size_) + lanes - 1) / lanes);
  WaveStart::Place place{.group = group.get(),
                         .groupId = group->id_,
                         .groupSize = group->size_,
                         .groupWaves = static_cast<uint32_t>(group->waves_.size()),
                         .index = 0,
                         .lds = group->lds_.data(),
                         .counts = counts,
                         .scratchOffset = 0};
  for (; place.index < place.groupWaves; ++place.index) {
    if (launch.privateSegmentSize)
      place.scratchOffset = group->scratchSlots_[place.index] * launch.scratch->bytesPerWave();
    dispatch.start_.start(*(group->waves_[place.index] = pool.take()), place);
  }
  group->running_ = static_cast<uint32_t>(group->waves_.size());
  group->interpreted_.resize(group->waves_.size());
  if (dispatch.observation_)
    group->observe(dispatch.start_.fullWaves());
  return group;
}

void Workgroup::observe(uint32_t wavesPerGroup) {
  const auto &groups = dispatch_.groups_;
  const uint64_t first = (id_[0] + uint64_t{groups[0]} * (id_[1] + uint64_t{groups[1]} * id_[2])) * wavesPerGroup;
  if (const StrictMachine *machine = dispatch_.observation_->machine.get())
    machine->start(lds_, waves_, first);
  if (dispatch_.observation_->initCheck) {
    undefinedLds_ = std::make_unique<UndefinedBytes>();
    undefinedLds_->reset(lds_.size());
  }
  checks_ = GroupChecks::of(dispatch_, *dispatch_.observation_, first, static_cast<uint32_t>(waves_.size()));
  for (Wave *wave : waves_) {
    auto observer = std::make_unique<WaveObserver>(*dispatch_.observation_, first + wave->index, checks_.get(),
                                                   undefinedLds_.get());
    if (!observer->active())
      continue;
    observer->start(*wave);
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

void Workgroup::releaseBarrier() {
  for (Wave *wave : waves_)
    if (wave->stop == Stop::Barrier)
      wave->stop = Stop::None;
}

bool Workgroup::signalBarrier(Wave &wave) {
  const bool first = std::ranges::none_of(waves_, &Wave::barrierSignalled);
  wave.barrierSignalled = true;
  completeBarrier();
  return first;
}

/// If all waves that have not ended have signalled.
void Workgroup::completeBarrier() {
  const auto arrived = [](const Wave *wave) { return wave->stop == Stop::End || wave->barrierSignalled; };
  if (!std::ranges::all_of(waves_, arrived) || std::ranges::none_of(waves_, &Wave::barrierSignalled))
    return;
  for (Wave *wave : waves_) {
    wave->barrierSignalled = false;
    wave->barrierComplete = true;
  }
  if (checks_)
    checks_->complete();
  releaseBarrier();
}

/// All that are left wait at a split barrier that nobody can complete: each needs a signal from one that waits.
bool Workgroup::isStuck() const {
  return dispatch_.device().target().splitBarriers && std::ranges::all_of(waves_, [](const Wave *wave) {
           return wave->stop == Stop::End || (wave->stop == Stop::Barrier && !wave->barrierComplete);
         });
}

void Workgroup::reportStuck() {
  const Wave *first = *std::ranges::find(waves_, Stop::Barrier, &Wave::stop);
  if (checks_)
    checks_->stuck(*first);
  std::string text = fmt::format("no wave of workgroup {} of {} can go on: all that are left wait at a barrier",
                                 position(), kernelName());
  for (const Wave *wave : waves_)
    text += fmt::format("\n  wave {:<6} {}", wave->index,
                        wave->stop == Stop::End ? "has ended" : fmt::format("waits at {:#x}", wave->pc(wave->ip)));
  fault({Fault::Kind::Trap, first->pc(first->ip), false, std::move(text)});
}

/// Signals in [22:16], members in [10:4], valid in [0].
uint32_t Workgroup::barrierState() const {
  const auto signals = static_cast<uint32_t>(std::ranges::count_if(waves_, &Wave::barrierSignalled));
  return signals << 16 | running_ << 4 | 1;
}

namespace {

/// The instruction that a wave waits in; its ip may be behind that already.
uint64_t standsAt(const Wave &wave, bool splitBarriers) {
  constexpr uint64_t kWaitBytes = 4, kGwsBytes = 8; // SOPP and SOP1; DS
  const uint64_t next = wave.pc(wave.ip);
  switch (wave.stop) {
  case Stop::Barrier:
    return splitBarriers ? next : next - kWaitBytes; // s_barrier_wait looks again
  case Stop::Yield:
    return next - kWaitBytes;
  case Stop::Gws:
    return next - kGwsBytes;
  default:
    return next;
  }
}

} // namespace

void Workgroup::addPlaces(std::vector<WavePlace> &places) const {
  const bool split = dispatch_.device().target().splitBarriers;
  const auto count = [&](auto is) { return static_cast<uint32_t>(std::ranges::count_if(waves_, is)); };
  const auto arrived = [&](const Wave *w) { return split ? w->barrierSignalled : w->stop == Stop::Barrier; };
  WavePlace place{.group = id_[0] + uint64_t{dispatch_.groups_[0]} * (id_[1] + uint64_t{dispatch_.groups_[1]} * id_[2]),
                  .atBarrier = count(arrived),
                  .ended = count([](const Wave *w) { return w->stop == Stop::End; }),
                  .waves = static_cast<uint32_t>(waves_.size())};
  for (const Wave *wave : waves_) {
    if (wave->stop == Stop::End)
      continue;
    place.pc = standsAt(*wave, split);
    place.stop = wave->stop;
    place.wave = wave->index;
    places.push_back(place);
  }
}

void Workgroup::ended(const Wave &wave, HostFpMode &fp) {
  if (checks_)
    checks_->ended(wave);
  completeBarrier();
  if (const auto &report = dispatch_.launch().onWaveEnd) {
    fp.setOwn();
    report(*this, wave);
  }
}

Stop Workgroup::step(uint32_t index) {
  Wave &wave = *waves_[index];
  if (wave.stop == Stop::Gws && wave.device->gws().called(wave.gwsTicket))
    wave.stop = Stop::None;
  if (wave.stop != Stop::None && wave.stop != Stop::Yield)
    return wave.stop;
  HostFpMode fp;
  wave.run(wave.ip->words == 0 ? 2 : 1, fp, true); // the hop to the next chunk is no instruction
  if (wave.stop == Stop::End)
    --running_;
  if (wave.stop == Stop::End || wave.stop == Stop::Fault)
    ended(wave, fp);
  const auto atBarrier = std::ranges::count_if(waves_, [](const Wave *w) { return w->stop == Stop::Barrier; });
  if (atBarrier && atBarrier == running_)
    releaseBarrier();
  return wave.stop;
}

Workgroup::Progress Workgroup::run() {
  bool ran = false;
  HostFpMode fp;
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
      if (!enterTranslated(*wave, fp)) {
        interpreted_[wave->index] = true;
        wave->run(kQuantum, fp);
      }
      switch (wave->stop) {
      case Stop::None:
        ran = true;
        break;
      case Stop::Barrier:
        ++atBarrier;
        break;
      case Stop::End:
        translated_ += !interpreted_[wave->index];
        ended(*wave, fp);
        if (--running_ == 0) {
          if (checks_)
            checks_->finish(waves_);
          return Progress::Finished;
        }
        break;
      case Stop::Fault:
        ended(*wave, fp);
        return Progress::Finished;
      default:
        break;
      }
    }
    if (atBarrier && atBarrier == running_) {
      if (isStuck()) {
        reportStuck();
        return Progress::Finished;
      }
      if (checks_ && !dispatch_.device().target().splitBarriers)
        checks_->release(waves_);
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
