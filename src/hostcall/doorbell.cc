#include "hostcall/doorbell.h"

#include "amd_hostcall.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mutex>
#include <vector>

namespace luthier::hostcall {

namespace {

/// A futex is 32 bits wide: the low half of the value, which changes with each ring.
uint32_t *futexOf(wire::Signal &signal) { return reinterpret_cast<uint32_t *>(&signal.value); }

long futex(uint32_t *word, int operation, uint32_t value, const timespec *timeout = nullptr) {
  return syscall(SYS_futex, word, operation, value, timeout, nullptr, 0);
}

/// Signals that are never freed, because a device may ring at any later time; each serves one consumer after the other.
class Pool {
public:
  wire::Signal *take() {
    std::lock_guard lock(mutex_);
    if (free_.empty()) {
      auto *page = static_cast<wire::Signal *>(aligned_alloc(kPage, kPage));
      if (!page)
        return nullptr;
      for (size_t n = 0; n < kPage / sizeof *page; ++n) {
        page[n] = {};
        free_.push_back(page + n);
      }
      pages_.push_back(page);
    }
    wire::Signal *signal = free_.back();
    free_.pop_back();
    return signal;
  }
  void put(wire::Signal *signal) {
    std::lock_guard lock(mutex_);
    free_.push_back(signal);
  }

private:
  static constexpr size_t kPage = 4096;
  std::mutex mutex_;
  std::vector<wire::Signal *> free_, pages_;
};

Pool &pool() {
  static Pool *const instance = new Pool; // lives until the process ends, and beyond static destructors
  return *instance;
}

class MemoryDoorbell final : public Doorbell {
public:
  MemoryDoorbell(wire::Signal *signal, bool pooled) : signal_(*signal), pooled_(pooled) {
    __atomic_store_n(&signal_.kind, 1, __ATOMIC_RELAXED);
  }
  ~MemoryDoorbell() override {
    if (pooled_)
      pool().put(&signal_);
  }

  uint64_t handle() const override { return reinterpret_cast<uintptr_t>(&signal_); }
  uint64_t value() const override { return __atomic_load_n(&signal_.value, __ATOMIC_ACQUIRE); }
  void ring() override { ringMemory(handle()); }
  void abandon() override {}

  void sleep(uint64_t seen, std::chrono::microseconds timeout) override {
    const timespec time = {.tv_sec = timeout.count() / 1000000, .tv_nsec = timeout.count() % 1000000 * 1000};
    // With ringMemory, either it sees the sleeper, or the futex sees its value.
    __atomic_store_n(&signal_.sleepers, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&signal_.value, __ATOMIC_SEQ_CST) == seen)
      futex(futexOf(signal_), FUTEX_WAIT_PRIVATE, static_cast<uint32_t>(seen), &time);
    __atomic_store_n(&signal_.sleepers, 0, __ATOMIC_SEQ_CST);
  }

private:
  wire::Signal &signal_;
  const bool pooled_;
};

} // namespace

void ringMemory(uint64_t handle) {
  auto &signal = *reinterpret_cast<wire::Signal *>(handle);
  __atomic_fetch_add(&signal.value, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&signal.sleepers, __ATOMIC_SEQ_CST))
    futex(futexOf(signal), FUTEX_WAKE_PRIVATE, 1);
}

Result<std::unique_ptr<Doorbell>> Doorbell::create(void *memory) {
  if (memory) {
    if (reinterpret_cast<uintptr_t>(memory) % sizeof(wire::Signal) != 0)
      return makeErrorCode(AMD_HOSTCALL_ERROR_INCORRECT_ALIGNMENT, "the doorbell at {} is not aligned to {} bytes",
                           memory, sizeof(wire::Signal));
    return std::unique_ptr<Doorbell>(new MemoryDoorbell(new (memory) wire::Signal{}, false));
  }
  if (auto hsa = createHsaDoorbell())
    return hsa;
  wire::Signal *signal = pool().take();
  if (!signal)
    return makeErrorCode(AMD_HOSTCALL_INTERNAL_ERROR, "no memory for a doorbell");
  return std::unique_ptr<Doorbell>(new MemoryDoorbell(signal, true));
}

} // namespace luthier::hostcall
