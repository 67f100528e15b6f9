// What the fuzzers of packets share: a virtual GPU whose memory is one small block between guard pages, and a driver
// that ends every wait.
//
// Packets name addresses. A number whose upper half begins with kHere becomes one in the block or in the pages beside
// it, which nobody may touch: an access that was not checked ends the process. Queues run on the fuzzer's own thread
// wherever they can, so that the same input takes the same way.
#pragma once

#include "vgpu/queue/activity.h"
#include "vgpu/queue/host.h"
#include "vgpu/queue/queue.h"
#include "vgpu/wave/device.h"
#include "vgpu/wave/scheduler.h"

#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace luthier::vgpu::fuzz {

inline constexpr uint32_t kHere = 0xa5e0; ///< the upper 16 bits of a number that stands for an address

/// The only memory of the GPU.
class Arena {
public:
  static constexpr uint64_t kBytes = 64 * 1024, kGuard = 64 * 1024;

  explicit Arena(AddressSpace &space, DeviceMask devices) {
    void *all = mmap(nullptr, kBytes + 2 * kGuard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED)
      abort();
    base_ = static_cast<uint8_t *>(all) + kGuard;
    if (mprotect(base_, kBytes, PROT_READ | PROT_WRITE) != 0)
      abort();
    space.map(address(), kBytes, devices);
  }
  uint64_t address() const { return reinterpret_cast<uint64_t>(base_); }
  uint8_t *data() const { return base_; }

  /// Replaces what stands for an address by one.
  void relocate(std::span<uint32_t> words) const {
    for (size_t n = 0; n + 1 < words.size(); ++n)
      if (words[n + 1] >> 16 == kHere) {
        const uint64_t place = address() - kGuard + words[n] % (kBytes + 2 * kGuard);
        words[n] = static_cast<uint32_t>(place);
        words[n + 1] = static_cast<uint32_t>(place >> 32);
        ++n;
      }
  }

private:
  uint8_t *base_;
};

/// A driver that nobody sees, and that stops a queue which has looked around in vain often enough.
class Host final : public QueueHost {
public:
  /// For the next input. `stop` ends its queue.
  void begin(std::function<void()> stop) {
    stop_ = std::move(stop);
    looks_ = 0;
  }

  void signalEvent(uint32_t) override {}
  void reportFault(std::string_view) override {}
  bool raiseMemoryFault(Device &, const Fault &) override { return true; }
  void die(std::string_view) override {}
  Activity &activity() override {
    constexpr unsigned kPatience = 20;
    if (++looks_ == kPatience)
      stop_();
    return activity_;
  }

private:
  Activity activity_;
  std::function<void()> stop_ = [] {};
  std::atomic<unsigned> looks_ = 0;
};

/// Ends what takes too long and does not wait: a rectangle of a billion rows, a grid of a billion workgroups.
class Watchdog {
public:
  Watchdog() {
    std::thread([this] { loop(); }).detach();
  }
  template <typename Run> void guard(std::function<void()> stop, Run run) {
    {
      std::lock_guard lock(mutex_);
      stop_ = std::move(stop);
      end_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
      changed_.notify_one();
    }
    run();
    std::lock_guard lock(mutex_);
    stop_ = nullptr;
  }

private:
  void loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return stop_ != nullptr; });
      const auto end = end_;
      if (!changed_.wait_until(lock, end, [&] { return end_ != end; }) && stop_) {
        stop_();
        stop_ = nullptr;
      }
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> stop_;
  std::chrono::steady_clock::time_point end_;
};

struct Gpu {
  AddressSpace space;
  Scheduler scheduler{2};
  Device device{0, config(), space, scheduler, nullptr};
  Arena arena{space, device.mask()};
  Host host;
  Watchdog watchdog;

  static DeviceConfig config() {
    DeviceConfig result;
    result.target = isa::findTarget("gfx90a");
    return result;
  }
  /// Never destroyed: threads are in it.
  static Gpu &get() {
    static Gpu *const gpu = new Gpu;
    return *gpu;
  }
};

/// Takes words from the input, zeros behind its end.
class Input {
public:
  Input(const uint8_t *data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }
  std::vector<uint32_t> take(size_t words) {
    std::vector<uint32_t> result(words);
    const size_t count = std::min(size_, words * 4);
    if (count)
      memcpy(result.data(), data_, count);
    data_ += count;
    size_ -= count;
    return result;
  }
  /// All that is left, at most `words`.
  std::vector<uint32_t> rest(size_t words) { return take(std::min(words, (size_ + 3) / 4)); }

private:
  const uint8_t *data_;
  size_t size_;
};

} // namespace luthier::vgpu::fuzz
