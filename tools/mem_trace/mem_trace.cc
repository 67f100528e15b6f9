// Writes every memory access of kernels to a file (luthier/mem_trace_format.h), while they run.
//
// Memory is bounded by the ring: a thread takes records out of it and writes them in few bytes each. Where the kernels
// are faster than the thread, records are lost, and counted; or, if the user prefers, the kernels wait.
#include "mem_trace_hooks.h"
#include "ring.h"

#include <luthier/mem_trace_format.h>

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
            at.before(instr).call(hooks::scalarAccess, ring_, mask_, tries_, site, address);
          else if (access->space == luthier::MemorySpace::Lds || access->space == luthier::MemorySpace::Gds ||
                   access->space == luthier::MemorySpace::Scratch)
            at.before(instr).call(hooks::access32, ring_, mask_, tries_, site, address);
          else
            at.before(instr).call(hooks::access, ring_, mask_, tries_, site, address);
        }
      }
  }

  luthier::Decision launch(luthier::Launch &launch) override {
    launch.write(hooks::launchNumber, static_cast<uint32_t>(launch.number()));
    return luthier::Decision::Instrumented;
  }

  void exit() override {
    if (ring_) {
      stop_ = true;
      for (unsigned n = 0; n < 10'000 && !stopped_; ++n)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const uint64_t lost = ring_ ? std::atomic_ref(ring_->lost).load() : 0;
    write(format::Writer::totals({records_, lost, stopped_ || !ring_}));
    for (const Site &site : sites_)
      report().row(site.kernel, site.pc, site.text, site.access, site.bytes, site.executed, site.lanes);
    if (!failed_.empty())
      warn(failed_);
    luthier::Tool::lost(lost);
    if (lost)
      warn(std::to_string(lost) + " of " + std::to_string(lost + records_) +
           " accesses were lost: take a larger ring (mem_trace.slots), or let kernels wait (mem_trace.wait)");
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
    uint64_t slots = 64;
    while (slots < slots_ && slots < 1u << 24)
      slots *= 2;
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

  /// The thread: until `stop_` is set and all that was recorded before is written.
  void drain() {
    constexpr size_t kChunk = 256 << 10;
    constexpr auto kFlush = std::chrono::milliseconds(100);
    format::Writer writer;
    format::Record record;
    uint32_t tail = 0; // as tickets
    auto flushed = steady_clock::now();
    const auto flush = [&] {
      const std::lock_guard lock(mutex_);
      if (writer.pendingBytes()) {
        writeLocked(writer.takeAccesses());
        writeLocked(format::Writer::totals({records_, std::atomic_ref(ring_->lost).load(), false}));
      }
      flushed = steady_clock::now();
    };
    while (true) {
      const bool last = stop_;
      int32_t taken = 0;
      for (const std::lock_guard lock(mutex_); taken < 256; ++taken, ++tail) {
        Slot &slot = ring_->slots[tail & mask_];
        if (std::atomic_ref(slot.sequence).load(std::memory_order_acquire) != tail + 1)
          break;
        record.site = slot.site;
        record.launch = slot.launch;
        record.lanes = slot.lanes;
        std::memcpy(record.addresses, slot.addresses, sizeof record.addresses);
        writer.add(record);
        ++records_;
        ++sites_[record.site].executed;
        sites_[record.site].lanes += static_cast<uint64_t>(std::popcount(record.lanes));
      }
      if (taken)
        std::atomic_ref(ring_->free).fetch_add(taken);
      if (writer.pendingBytes() >= kChunk || steady_clock::now() - flushed > kFlush)
        flush();
      if (taken)
        continue;
      if (last) {
        flush();
        stopped_ = true;
        return;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
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
        failed_ = path_ + ": " + std::strerror(errno) + ": the trace ends there";
        ::close(fd_);
        fd_ = -1;
        return;
      }
      done += static_cast<size_t>(n);
    }
  }

  std::string path_ = option("file", "mem_trace.bin", "file that the trace is written to");
  uint64_t slots_ = number("slots", 16384, "records that wait to be written, at most (536 bytes each)");
  uint32_t tries_ = flag("wait", "kernels wait for room instead of losing records") ? UINT32_MAX : 0;

  std::mutex mutex_; ///< guards what follows
  int fd_ = -1;
  std::string failed_; ///< why the trace could not be written any further
  uint64_t kernels_ = 0, records_ = 0;
  std::vector<Site> sites_;

  Ring *ring_ = nullptr;
  uint32_t mask_ = 0; ///< slots of the ring, a power of two, minus 1
  bool ringFailed_ = false;
  std::atomic<bool> stop_ = false, stopped_ = false;
};

} // namespace

LUTHIER_TOOL(MemTrace)
