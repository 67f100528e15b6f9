// Writes every memory access of kernels to a file (luthier/mem_trace_format.h), while they run.
//
// Memory is bounded by the ring: a thread takes records out of it and writes them in few bytes each. Where the kernels
// are faster than the thread, they wait; or, if the user prefers, records are dropped and counted.
#include "consumer.h"
#include "mem_trace_hooks.h"

#include <luthier/mem_trace_format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace {

namespace format = luthier::mem_trace;
using mem_trace::Ring;
using mem_trace::Slot;
using std::chrono::steady_clock;

class MemTrace : public luthier::Tool {
public:
  void start() override {
    report().columns({"kernel", "pc", "instruction", "access", "bytes", "executed", "lanes"});
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd_ < 0)
      return warn("cannot create " + path_ + ": " + std::strerror(errno) + ": nothing is traced");
    write(format::Writer::header());
  }

  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    if (fd_ < 0 || !prepareRing())
      return;
    const uint64_t number = ++kernels_;
    write(format::Writer::kernel({number, kernel.name(), kernel.symbol()}));
    for (const luthier::Function &function : kernel.functions())
      for (const luthier::Instr &instr : function.instrs()) {
        const std::optional<luthier::MemoryAccess> access = instr.memory();
        if (!access || !(access->load || access->store || access->atomic))
          continue;
        for (unsigned which = 0; which <= access->two; ++which) {
          const uint32_t site = describe(kernel, number, function, instr, *access, which);
          const luthier::Arg address = luthier::arg::address(which);
          if (access->space == luthier::MemorySpace::Scalar)
            at.before(instr).call(hooks::scalarAccess, ring_, mask_, wait_, site, address);
          else if (access->space == luthier::MemorySpace::Lds || access->space == luthier::MemorySpace::Gds ||
                   access->space == luthier::MemorySpace::Scratch)
            at.before(instr).call(hooks::access32, ring_, mask_, wait_, site, address);
          else
            at.before(instr).call(hooks::access, ring_, mask_, wait_, site, address);
        }
      }
  }

  luthier::Decision launch(luthier::Launch &launch) override {
    launch.write(hooks::launchNumber, static_cast<uint32_t>(launch.number()));
    return luthier::Decision::Instrumented;
  }

  void exit() override {
    if (ring_ && !stopThread()) {
      warn(path_ + " takes no more data: the trace has no end");
      return;
    }
    losses_.dropped = ring_ ? std::atomic_ref(ring_->lost).load() : 0;
    const uint64_t lost = losses_.dropped + losses_.damaged + losses_.unwritten + losses_.unfinished;
    write(format::Writer::totals({records_, lost, true}));
    for (const Site &site : sites_)
      report().row(site.kernel, site.pc, site.text, site.access, site.bytes, site.executed, site.lanes);
    luthier::Tool::lost(lost);
    const auto say = [&](uint64_t records, const std::string &why) {
      if (records)
        warn(std::to_string(records) + " of " + std::to_string(lost + records_) + " accesses are missing: " + why);
    };
    say(losses_.dropped, wait_ ? "they were made when the trace had ended"
                               : "no slot was free; take a larger ring (--mem_trace.slots), or let kernels wait "
                                 "(--mem_trace.full=wait)");
    say(losses_.unfinished, "kernels have not finished their records");
    say(losses_.damaged, "their records are damaged, as if a kernel had written over them");
    say(losses_.unwritten, "the file could not be written");
    if (!failed_.empty())
      warn(failed_ + ": the trace ends there");
  }

private:
  struct Site {
    std::string kernel, pc, text, access;
    uint32_t bytes = 0;
    uint64_t executed = 0, lanes = 0;
  };

  uint32_t describe(const luthier::Kernel &kernel, uint64_t number, const luthier::Function &function,
                    const luthier::Instr &instr, const luthier::MemoryAccess &access, unsigned which) {
    const auto kind = access.atomic  ? format::Access::Atomic
                      : access.store ? format::Access::Store
                                     : format::Access::Load;
    constexpr const char *kNames[] = {"load", "store", "atomic"};
    const uint64_t pc = kernel.objectNumber() << 48 | instr.address();
    char text[32];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(pc));
    const std::lock_guard lock(mutex_);
    const uint32_t site = static_cast<uint32_t>(sites_.size());
    sites_.push_back({kernel.name(), text, function.text(instr), kNames[static_cast<unsigned>(kind)], access.bytes});
    writeLocked(format::Writer::site(
        {site, number, kind, static_cast<uint8_t>(access.space), which == 1, access.bytes, pc, function.text(instr)}));
    return site;
  }

  bool prepareRing() {
    if (ring_ || ringFailed_)
      return ring_;
    const uint64_t slots = std::bit_ceil(slots_);
    ring_ = static_cast<Ring *>(sharedMemory(sizeof(Ring) + slots * sizeof(Slot)));
    ringFailed_ = !ring_;
    if (!ring_)
      return false;
    ring_->free = static_cast<int32_t>(slots);
    mask_ = static_cast<uint32_t>(slots - 1);
    // Signals are the application's: none is for this thread.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([this] { drain(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return true;
  }

  /// Has the thread write what was recorded so far. False if it is stuck in writing.
  bool stopThread() {
    constexpr unsigned kPatience = 10'000; // milliseconds without progress
    stop_ = true;
    uint64_t seen = rounds_;
    for (unsigned n = 0; !stopped_ && n < kPatience; ++n) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (const uint64_t now = rounds_; now != seen) {
        seen = now;
        n = 0;
      }
    }
    return stopped_;
  }

  /// The thread: until `stop_` is set and all that was recorded before is written, or the ring is beyond repair.
  void drain() {
    constexpr size_t kChunk = 256 << 10;
    constexpr int32_t kBatch = 256;
    constexpr auto kFlush = std::chrono::milliseconds(100);
    constexpr auto kIdle = std::chrono::microseconds(200);
    // Rounds without a record in which a wave may have a ticket and its record not be whole. Such a wave may be slow,
    // but if that never changes, those that wait for its slot must not wait for ever. Rounds, not seconds: a process
    // that is stopped for a while has not waited.
    constexpr unsigned kPatience = 300'000, kPatienceAtTheEnd = 10'000;
    mem_trace::Consumer consumer(*ring_, mask_);
    format::Writer writer;
    format::Record record;
    uint64_t pending = 0; // records in the writer
    const auto use = [&](const Slot &slot) {
      record.site = slot.site;
      record.launch = slot.launch;
      record.lanes = slot.lanes;
      std::memcpy(record.addresses, slot.addresses, sizeof record.addresses);
      if (fd_ < 0) {
        ++losses_.unwritten;
        return;
      }
      writer.add(record);
      ++pending;
      ++records_;
      ++sites_[record.site].executed;
      sites_[record.site].lanes += static_cast<uint64_t>(std::popcount(record.lanes));
    };
    auto flushed = steady_clock::now();
    const auto flush = [&] {
      const std::lock_guard lock(mutex_);
      if (writer.pendingBytes()) {
        writeLocked(writer.takeAccesses());
        if (fd_ < 0) {
          records_ -= pending;
          losses_.unwritten += pending;
        }
        pending = 0;
        writeLocked(format::Writer::totals({records_, consumer.dropped() + consumer.damaged(), false}));
      }
      flushed = steady_clock::now();
    };
    uint32_t left = 0; // when stopping: records that count
    bool stopping = false;
    for (unsigned idle = 0;;) {
      ++rounds_;
      if (stop_ && !stopping) {
        stopping = true;
        consumer.stop();
        left = consumer.outstanding();
      }
      int32_t taken = 0;
      {
        const std::lock_guard lock(mutex_);
        const auto most = stopping ? static_cast<int32_t>(std::min<uint32_t>(left, kBatch)) : kBatch;
        taken = consumer.take(sites_.size(), most, use);
      }
      left -= stopping ? static_cast<uint32_t>(taken) : 0;
      if (writer.pendingBytes() >= kChunk || steady_clock::now() - flushed > kFlush)
        flush();
      if (stopping && left == 0)
        break;
      if (pause_)
        std::this_thread::sleep_for(std::chrono::microseconds(pause_));
      if (taken || !consumer.outstanding()) {
        idle = 0;
      } else if (++idle == (stopping ? kPatienceAtTheEnd : kPatience)) {
        consumer.stop();
        losses_.unfinished = stopping ? left : consumer.outstanding();
        if (!stopping)
          warn("the trace ends early: a record was not finished for a minute");
        break;
      }
      if (!taken)
        std::this_thread::sleep_for(kIdle);
    }
    flush();
    losses_.damaged = consumer.damaged();
    stopped_ = true;
  }

  void write(const std::string &bytes) {
    const std::lock_guard lock(mutex_);
    writeLocked(bytes);
  }
  void writeLocked(const std::string &bytes) {
    for (size_t done = 0; done < bytes.size() && fd_ >= 0;) {
      const ssize_t n = ::write(fd_, bytes.data() + done, bytes.size() - done);
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0) {
        failed_ = "cannot write " + path_ + ": " + std::strerror(errno);
        ::close(fd_);
        fd_ = -1;
        return;
      }
      done += static_cast<size_t>(n);
    }
  }

  std::string path_ = outputFile("file", "mem_trace.bin", "file that the trace is written to");
  uint64_t slots_ =
      number("slots", 16384, "records that can wait to be written (536 bytes each), rounded up to a power of two", 64,
             1u << 24);
  uint32_t wait_ =
      choice("full", {"wait", "drop"}, "what kernels do when no slot is free: wait, or drop the record") == "wait";
  uint64_t pause_ =
      number("pause", 0, "microseconds to pause after each batch of records: a slow disk, for tests", 0, 1'000'000);

  std::mutex mutex_; ///< guards what follows
  int fd_ = -1;
  std::string failed_; ///< why the trace could not be written any further
  uint64_t kernels_ = 0, records_ = 0;
  struct {
    uint64_t dropped = 0;    ///< by hooks
    uint64_t damaged = 0;    ///< of sites that do not exist
    uint64_t unwritten = 0;  ///< taken after the file could not be written any more
    uint64_t unfinished = 0; ///< not whole when the trace ended
  } losses_;
  std::vector<Site> sites_;

  Ring *ring_ = nullptr;
  uint32_t mask_ = 0; ///< slots of the ring, a power of two, minus 1
  bool ringFailed_ = false;
  std::atomic<bool> stop_ = false, stopped_ = false;
  std::atomic<uint64_t> rounds_ = 0; ///< of the thread
};

} // namespace

LUTHIER_TOOL(MemTrace)
