// A GPU, memory and a recording driver for queue tests; kernels are a descriptor and a few words of machine code.
#pragma once

#include "vgpu/driver/memory.h"
#include "vgpu/queue/activity.h"
#include "vgpu/queue/aql.h"
#include "vgpu/queue/doorbell.h"
#include "vgpu/queue/host.h"
#include "vgpu/wave/device.h"
#include "vgpu/wave/scheduler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <vector>

namespace luthier::vgpu {

class RecordingHost : public QueueHost {
public:
  void signalEvent(uint32_t eventId) override {
    std::lock_guard lock(mutex_);
    events.push_back(eventId);
  }
  void reportFault(std::string_view text) override {
    std::lock_guard lock(mutex_);
    reports += text;
  }
  bool raiseMemoryFault(Device &, const Fault &fault) override {
    std::lock_guard lock(mutex_);
    faultAddress = fault.address;
    ++memoryFaults;
    return true;
  }
  void die(std::string_view why) override {
    std::lock_guard lock(mutex_);
    deaths += why;
    deaths += "\n";
  }
  Activity &activity() override { return activity_; }

  template <typename F> auto locked(F f) {
    std::lock_guard lock(mutex_);
    return f(*this);
  }

  std::vector<uint32_t> events;
  std::string reports;
  std::string deaths;
  uint64_t faultAddress = 0;
  int memoryFaults = 0;

private:
  std::mutex mutex_;
  Activity activity_;
};

struct QueueTest : testing::Test {
  static constexpr uint32_t kEndpgm = 0xbf810000;

  explicit QueueTest(std::string_view target = "gfx90a") : device{0, config(target), space, scheduler, nullptr} {}

  AddressSpace space;
  MemoryManager memory{space, 1ull << 30, {256ull << 20}};
  Scheduler scheduler{2};
  Device device;
  RecordingHost host;
  DoorbellPoller poller;

  static DeviceConfig config(std::string_view target) {
    DeviceConfig result;
    result.target = isa::findTarget(target);
    return result;
  }

  template <typename T> T *make(size_t count = 1) {
    const uint64_t size = (count * sizeof(T) + 4095) & ~4095ull;
    // With a page in front and one behind that nobody has.
    void *reserved = mmap(nullptr, size + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT_NE(reserved, MAP_FAILED);
    void *address = static_cast<char *>(reserved) + 4096;
    uint64_t handle = 0, mmapOffset = 0;
    EXPECT_EQ(memory.allocate(0, reinterpret_cast<uint64_t>(address), size, kfd::memory::kGtt, 0, handle, mmapOffset),
              0);
    const uint32_t gpu = 0;
    uint32_t done = 0;
    EXPECT_EQ(memory.map(handle, {&gpu, 1}, done), 0);
    return static_cast<T *>(address);
  }

  amd_signal_t *makeSignal(int64_t value, uint32_t eventId = 0) {
    auto *signal = make<amd_signal_t>();
    signal->kind = AMD_SIGNAL_KIND_USER;
    signal->value = value;
    signal->event_id = eventId;
    signal->event_mailbox_ptr = eventId ? 1 : 0;
    return signal;
  }
  static hsa_signal_t handle(const amd_signal_t *signal) { return {reinterpret_cast<uint64_t>(signal)}; }
  static int64_t value(amd_signal_t *signal) { return shared(signal->value).load(); }

  /// The address of a kernel descriptor whose code is `words`.
  uint64_t makeKernel(std::vector<uint32_t> words) {
    auto *code = make<uint32_t>(16 + 64);
    const uint64_t entry = 256;
    std::memcpy(reinterpret_cast<char *>(code) + 16, &entry, sizeof(entry));
    std::memcpy(reinterpret_cast<char *>(code) + entry, words.data(), words.size() * 4);
    return reinterpret_cast<uint64_t>(code);
  }

  template <typename Ready> static bool eventually(Ready ready, int milliseconds = 5000) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    while (!ready()) {
      if (std::chrono::steady_clock::now() > deadline)
        return false;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    return true;
  }
};

} // namespace luthier::vgpu
