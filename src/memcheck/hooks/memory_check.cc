// The tool of `luthier check memory --instrument`: the memory check as hooks, for any GPU.
//
// Hooks look up each access in a table of what the application has allocated (shared.h) and hand over what they do not
// find. A thread here judges it with all that is known of the application's memory, which ROCr's table tells
// (hsa_allocations.h), and records findings as the virtual GPU does. The wave waits for that: when its access then ends
// the process, the report is written.
#include "luthier-memory-check_hooks.h"

#include "check/records.h"
#include "memcheck/application_memory.h"
#include "memcheck/bad_access.h"
#include "memcheck/hooks/process_memory.h"
#include "memcheck/hooks/range_table.h"
#include "support/log.h"
#include "support/thread.h"
#include "support/variables.h"

#include <luthier/tool.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <errno.h> // program_invocation_short_name
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <unistd.h>

namespace luthier::memcheck {

namespace {

using memory_check::Shared;
using memory_check::Slot;

/// A place where hooks look: an instruction of a kernel, with what a finding says of it.
struct Place {
  check::CodePlace code;
  uint32_t bytes = 0, waveSize = 0;
  bool scalar = false, write = false;
  uint64_t argumentBytes = 0;
  std::map<std::string_view, size_t> known; ///< findings by class
  std::optional<size_t> last;               ///< the finding that was added to last
};

struct LaunchFacts {
  Dim3 grid, workgroup;
};

std::vector<check::CodeLine> linesAround(const Function &function, const std::vector<std::string> &texts, size_t at) {
  std::vector<check::CodeLine> lines;
  const auto instrs = function.instrs();
  const size_t end = std::min(instrs.size(), at + check::kLinesBehind + 1);
  for (size_t n = at - std::min(at, check::kLinesBefore); n < end; ++n)
    lines.push_back({instrs[n].address() - function.address(), texts[n]});
  return lines;
}

class MemoryCheck : public Tool {
public:
  void start() override {
    const auto folder = env::text(env::kCheckRecords);
    auto records = folder ? check::RecordWriter::open(*folder)
                          : Result<std::unique_ptr<check::RecordWriter>>(makeError("it belongs to `luthier check`"));
    if (!records)
      return warn(fmt::format("nothing is checked: {}", records.error().message()));
    records_ = *std::move(records);
  }

  void instrument(Kernel &kernel, Site at) override {
    if (!records_)
      return;
    at.observe();
    if (!prepare())
      return;
    uint64_t argumentBytes = 0;
    for (const KernelArgument &argument : kernel.arguments())
      argumentBytes = std::max<uint64_t>(argumentBytes, uint64_t{argument.offset} + argument.size);
    // Compilers load up to there, rather than three dwords alone.
    constexpr uint64_t kAlignment = 16;
    const uint64_t loaded = (argumentBytes + kAlignment - 1) / kAlignment * kAlignment;
    const uint32_t scratch = kernel.resources().scratch;
    bool any = false;
    for (const Function &function : kernel.functions()) {
      std::vector<std::string> texts;
      for (const Instr &instr : function.instrs())
        texts.push_back(function.text(instr));
      for (size_t n = 0; n < texts.size(); ++n) {
        const Instr &instr = function.instrs()[n];
        const std::optional<MemoryAccess> access = instr.memory();
        if (!access || !(access->load || access->store || access->atomic))
          continue;
        if (!std::exchange(any, true)) {
          at.entry(kernel).call(hooks::start);
          withHooks_.insert(kernel.id());
        }
        Place place = describe(kernel, function, instr, *access);
        place.code.code = linesAround(function, texts, n);
        place.argumentBytes = argumentBytes;
        const auto site = add(std::move(place));
        if (!site)
          return;
        for (unsigned which = 0; which <= access->two; ++which)
          callHook(at.before(instr), instr, *access, which, *site, {.scratch = scratch, .arguments = loaded});
      }
    }
  }

  Decision launch(Launch &launch) override {
    if (!records_ || !shared_)
      return Decision::Instrumented;
    refresh();
    records_->countLaunch(kernels_.insert(launch.kernel().id()).second);
    {
      const std::lock_guard lock(mutex_);
      launches_[launch.number()] = {launch.grid(), launch.workgroup()};
    }
    running_.notify_one();
    return Decision::Instrumented;
  }

  void finished(const Launch &launch) override {
    const std::lock_guard lock(mutex_);
    launches_.erase(launch.number());
    if (records_ && !launch.instrumented() && withHooks_.contains(launch.kernel().id()))
      records_->uncountLaunch();
  }

  void exit() override {
    stopThread();
    if (!records_)
      return;
    const std::lock_guard lock(mutex_);
    for (size_t n = 0; shared_ && n < places_.size(); ++n)
      for (uint32_t more = std::atomic_ref(shared_->counted[n]).load(); places_[n].last && more; --more)
        records_->again(*places_[n].last);
    if (const uint32_t lost = shared_ ? std::atomic_ref(shared_->lost).load() : 0)
      notCheckedLocked(fmt::format("{} accesses that were made when the application was exiting", lost));
    const auto leaks = env::flag(env::kCheckLeaks, false);
    if (application_ && leaks && *leaks)
      for (const Allocation &allocation : application_->allocations().live())
        if (allocation.claimed)
          records_->add(leak(allocation));
  }

private:
  Place describe(const Kernel &kernel, const Function &function, const Instr &instr, const MemoryAccess &access) {
    Place place;
    place.code.kernel = kernel.name();
    place.code.symbol = kernel.symbol();
    if (function.symbol() != kernel.symbol())
      place.code.function = function.name();
    place.code.offset = instr.address() - function.address();
    place.code.pc = instr.address();
    for (const SourceLine &line : function.sources(instr))
      place.code.source.push_back({line.file, line.line, 0, line.function});
    place.bytes = access.bytes;
    place.waveSize = kernel.waveSize();
    place.scalar = access.space == MemorySpace::Scalar;
    place.write = access.store || access.atomic;
    return place;
  }

  /// Its number; none when there is no room.
  std::optional<uint32_t> add(Place place) {
    const std::lock_guard lock(mutex_);
    if (places_.size() == memory_check::kMostSites) {
      notCheckedLocked(fmt::format("memory instructions behind the first {} of the process", places_.size()));
      return std::nullopt;
    }
    places_.push_back(std::move(place));
    return static_cast<uint32_t>(places_.size() - 1);
  }

  struct Limits {
    uint32_t scratch = 0;
    uint64_t arguments = 0;
  };
  void callHook(Point point, const Instr &instr, const MemoryAccess &access, unsigned which, uint32_t site,
                const Limits &limits) {
    const std::string_view name = instr.mnemonic();
    const AddressArg address = arg::address(which);
    // What a format decides is not known here.
    const bool formatted = name.find("format") != std::string_view::npos;
    const uint32_t bytes = formatted ? 1 : access.bytes;
    switch (access.space) {
    case MemorySpace::Global:
      point.call(access.atomic ? hooks::globalAtomic : hooks::global, shared_, site, address, bytes);
      break;
    case MemorySpace::Flat:
      point.call(access.atomic ? hooks::flatAtomic : hooks::flat, shared_, site, address, bytes, limits.scratch);
      break;
    case MemorySpace::Lds:
      point.call(access.atomic ? hooks::ldsAtomic : hooks::lds, shared_, site, Arg(address), bytes);
      break;
    case MemorySpace::Scratch:
      point.call(hooks::scratch, shared_, site, Arg(address), bytes, limits.scratch);
      break;
    case MemorySpace::Buffer:
      point.call(access.atomic ? hooks::bufferAtomic : hooks::buffer, shared_, site, address, bytes,
                 arg::reg(access.saddr), limits.scratch);
      break;
    case MemorySpace::Scalar:
      if (!name.starts_with("s_buffer_") && !name.starts_with("s_scratch_")) {
        point.call(hooks::scalar, shared_, site, address, bytes, arg::reg(access.saddr.first),
                   static_cast<uint32_t>(limits.arguments));
        break;
      }
      [[fallthrough]];
    default:
      notChecked(fmt::format("{}: hooks do not know what it may access", name));
    }
  }

  /// Shared memory, and the thread that looks into it.
  bool prepare() {
    if (shared_ || failed_)
      return shared_;
    application_ = applicationMemory(); // ROCr may load tools in any order, but before the first launch
    if (!application_ || !application_->sizesKnown()) {
      failed_ = true;
      notChecked("memory: ROCr did not hand over its table of functions (HSA_TOOLS_LIB)");
      return false;
    }
    shared_ = static_cast<Shared *>(sharedMemory(sizeof(Shared)));
    failed_ = !shared_;
    if (failed_) {
      notChecked("memory: there is none that host and GPU share");
      return false;
    }
    allAccessible_ = allIsAccessible();
    table_.emplace(*shared_, application_->allocations());
    // Signals are the application's: none is for this thread.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([this] { judgeAll(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return true;
  }

  /// Before a launch.
  void refresh() {
    const std::lock_guard lock(tableMutex_);
    const bool changed = takeChange(), forgotten = table_->forget();
    if (!changed && !forgotten)
      return;
    if (!table_->refresh() && !std::exchange(fullSaid_, true))
      log::warn("there are more than {} allocations: accesses to the others take long", memory_check::kMostRanges);
  }

  void notChecked(const std::string &what) {
    const std::lock_guard lock(mutex_);
    notCheckedLocked(what);
  }
  void notCheckedLocked(const std::string &what) {
    if (notChecked_.insert(what).second && records_)
      records_->notChecked(what);
  }

  // The thread.

  void judgeAll() {
    becomeInternalThread("luthier-check");
    constexpr std::chrono::microseconds kPause(50), kIdle(50'000);
    while (!stop_) {
      bool any = false;
      for (Slot &slot : shared_->slots)
        any |= judgeSlot(slot);
      if (any)
        continue;
      std::unique_lock lock(mutex_);
      running_.wait_for(lock, launches_.empty() ? kIdle : kPause);
    }
    std::atomic_ref(shared_->stopped).store(1);
    for (Slot &slot : shared_->slots)
      judgeSlot(slot);
    stopped_ = true;
  }

  void stopThread() {
    constexpr unsigned kPatience = 2000; // milliseconds
    stop_ = true;
    for (unsigned n = 0; shared_ && !stopped_ && n < kPatience; ++n)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  bool judgeSlot(Slot &slot) {
    if (!std::atomic_ref(slot.ready).load(std::memory_order_acquire))
      return false;
    // Kernels can write there, and not only through our hooks: nothing in it is trusted.
    Slot record;
    std::memcpy(&record, &slot, sizeof record);
    judge(record);
    std::atomic_ref(slot.ready).store(0, std::memory_order_release);
    std::atomic_ref(slot.owner).store(0, std::memory_order_release);
    return true;
  }

  void judge(const Slot &record) {
    const std::lock_guard lock(mutex_);
    if (record.site >= places_.size() || !record.lanes)
      return notCheckedLocked("accesses whose records are damaged, as if a kernel had written over them");
    Place &place = places_[record.site];
    BadAccess access;
    access.scalar = place.scalar;
    access.write = place.write;
    access.bytes = place.bytes;
    using Problem = BadAccess::Problem;
    access.problem = record.problem == memory_check::OutsideLds       ? Problem::OutsideLds
                     : record.problem == memory_check::OutsideScratch ? Problem::OutsideScratch
                     : record.problem == memory_check::NotAccessible  ? Problem::NotAccessible
                                                                      : Problem::Misaligned;
    access.lds = record.problem == memory_check::OutsideLds || record.problem == memory_check::MisalignedLds;
    const auto first = static_cast<unsigned>(__builtin_ctzll(record.lanes));
    if (place.scalar) {
      if (isBad(place, access, record.addresses[first], record.kernarg))
        access.addresses[0] = record.addresses[first];
      else
        return;
    } else {
      for (uint64_t m = record.lanes; m; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctzll(m));
        access.addresses[lane] = record.addresses[lane];
        if (isBad(place, access, record.addresses[lane], record.kernarg))
          access.lanes |= m & -m;
      }
      if (!access.lanes)
        return;
    }
    std::atomic_ref(shared_->judged[record.site]).fetch_add(1);
    const Allocations &allocations = application_->allocations();
    const auto neighbour = meansAllocation(access) ? allocations.nearest(access.first(), access.bytes) : std::nullopt;
    const std::string_view rule = ruleOf(access, neighbour);
    if (const auto known = place.known.find(rule); known != place.known.end()) {
      place.last = known->second;
      return records_->again(known->second);
    }
    place.last = place.known[rule] = records_->add(explain(record, place, access, neighbour));
  }

  /// Whether a lane's access is as bad as its hook has thought.
  bool isBad(const Place &place, const BadAccess &access, uint64_t address, uint64_t kernarg) {
    if (access.problem != BadAccess::Problem::NotAccessible)
      return true;
    Allocations &allocations = application_->allocations();
    const bool argumentsKnown = access.scalar && place.argumentBytes;
    if (argumentsKnown)
      allocations.useForArguments(kernarg);
    if (const auto live = allocations.liveAround(address, access.bytes)) {
      noteChange();
      // Arguments of other launches are none of this one's business.
      return argumentsKnown && live->kind == Allocation::Kind::Kernarg &&
             !argumentsLeadInto(*live, kernarg, place.argumentBytes);
    }
    return !isAccessible(address) || !isAccessible(address + access.bytes - 1);
  }

  /// Whether a byte may be accessed that may be in no allocation. Pages that one begins or ends in are its own.
  bool isAccessible(uint64_t address) {
    const Allocations &allocations = application_->allocations();
    if (allocations.liveAround(address, 1))
      return true;
    const std::lock_guard lock(tableMutex_);
    return !allocations.guards(address, 1) && (table_->allows(address) || isOfRuntime(address) || isOfHost(address));
  }

  /// Memory that ROCr has allocated for itself: code with its variables, queues.
  bool isOfRuntime(uint64_t address) {
    const Allocations &allocations = application_->allocations();
    const auto range = runtimeAllocationAt(address);
    if (!range || allocations.liveAround(range->begin, 1))
      return false;
    table_->allow(range->begin, range->end);
    table_->refresh();
    return true;
  }

  /// Memory of the host that kernels may access as it is.
  bool isOfHost(uint64_t address) {
    const auto mapping = allAccessible_ ? hostMappingAt(address) : std::nullopt;
    if (!mapping)
      return false;
    table_->allowForNow(address, mapping->begin, mapping->end);
    table_->refresh();
    return true;
  }

  check::Finding explain(const Slot &record, const Place &place, const BadAccess &access,
                         const std::optional<Allocations::Neighbour> &neighbour) const {
    check::Finding finding;
    static_cast<check::CodePlace &>(finding) = place.code;
    if (const auto launch = launches_.find(record.launch); launch != launches_.end()) {
      const auto &[grid, group] = launch->second;
      finding.grid = {grid.x, grid.y, grid.z};
      finding.groupSize = {group.x, group.y, group.z};
    }
    std::copy(std::begin(record.workgroup), std::end(record.workgroup), finding.workgroup.begin());
    constexpr uint32_t kBits = 10, kMask = (1u << kBits) - 1;
    const uint32_t x = record.item & kMask, y = record.item >> kBits & kMask, z = record.item >> 2 * kBits & kMask;
    const uint32_t item = x + finding.groupSize[0] * (y + finding.groupSize[1] * z);
    finding.wave = item / place.waveSize;
    finding.waveSize = place.waveSize;
    finding.process = static_cast<uint32_t>(getpid());
    finding.program = program_invocation_short_name;
    memcheck::describe(finding, access, neighbour,
                       {.kernarg = record.kernarg,
                        .kernargSize = place.argumentBytes,
                        .groupSegmentSize = record.limit,
                        .privateSegmentSize = record.limit},
                       true);
    return finding;
  }

  std::unique_ptr<check::RecordWriter> records_; ///< null: nothing is checked
  ApplicationMemory *application_ = nullptr;
  Shared *shared_ = nullptr;
  bool failed_ = false, fullSaid_ = false, allAccessible_ = false;
  std::set<KernelId> kernels_, withHooks_; ///< that have been launched; in which there is something to check

  std::mutex tableMutex_; ///< guards the table; taken after the other one
  std::optional<RangeTable> table_;

  std::mutex mutex_; ///< guards what follows
  std::vector<Place> places_;
  std::map<uint64_t, LaunchFacts> launches_; ///< that run, by number
  std::set<std::string> notChecked_;
  std::condition_variable running_;
  std::atomic<bool> stop_ = false, stopped_ = false;
};

} // namespace

} // namespace luthier::memcheck

LUTHIER_TOOL(luthier::memcheck::MemoryCheck)
