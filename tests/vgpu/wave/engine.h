// A virtual GPU for tests of the wave engine: kernels are assembled in place, with descriptors made by hand.
#pragma once

#include "assembler.h"
#include "vgpu/wave/device.h"
#include "vgpu/wave/scheduler.h"
#include "vgpu/wave/stats.h"
#include "vgpu/wave/workgroup.h"

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace luthier::vgpu::test {

/// The fields of a kernel descriptor that tests choose. The default: 64 VGPRs, no initial registers but the kernel
/// arguments in s[0:1] and the workgroup's id in s2, s3 and s4.
struct DescriptorBits {
  uint32_t rsrc1 = 7 | 0xf0 << 12 | 1 << 21 | 1 << 23;
  uint32_t rsrc2 = 2 << 1 | 7 << 7;
  uint32_t rsrc3 = 0;
  uint16_t properties = 8;
};

class Engine {
public:
  static constexpr uint64_t kPage = AddressSpace::kPageSize;

  explicit Engine(unsigned threads = 2, DeviceConfig config = {}, Stats *stats = nullptr)
      : scheduler_(std::make_unique<Scheduler>(threads)) {
    if (!config.target)
      config.target = isa::findTarget("gfx90a");
    device_ = std::make_unique<Device>(0, config, space_, *scheduler_, stats);
    device_->kernelName = [](uint64_t) { return std::string("test_kernel"); };
  }
  ~Engine() {
    scheduler_.reset(); // ends what is running, before what it uses goes
    for (const auto &[address, size] : blocks_)
      munmap(reinterpret_cast<void *>(address), size);
  }

  Device &device() { return *device_; }
  AddressSpace &space() { return space_; }

  /// Memory that the GPU may access, in whole pages.
  uint64_t memory(uint64_t bytes) {
    const uint64_t size = (bytes + kPage - 1) / kPage * kPage;
    void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    const auto address = reinterpret_cast<uint64_t>(memory);
    space_.map(address, size, device_->mask());
    blocks_.emplace_back(address, size);
    return address;
  }

  template <class T> static T &at(uint64_t address, uint64_t index = 0) {
    return reinterpret_cast<T *>(address)[index];
  }

  /// Assembles `source` to `address`, for waves of `lanes`; 0: those that the target has unless a kernel says
  /// otherwise.
  void place(uint64_t address, std::string_view source, unsigned lanes = 0) {
    auto code = assemble(device_->target(), source, lanes);
    ASSERT_TRUE(code) << code.error().message();
    memcpy(reinterpret_cast<void *>(address), code->data(), code->size());
    device_->invalidateCode();
  }

  /// A kernel whose code is at `entry`.
  uint64_t descriptor(uint64_t entry, const DescriptorBits &bits = {}) {
    const uint64_t address = memory(KernelDescriptor::kBytes);
    at<int64_t>(address + 16) = static_cast<int64_t>(entry - address);
    at<uint32_t>(address + 44) = bits.rsrc3;
    at<uint32_t>(address + 48) = bits.rsrc1;
    at<uint32_t>(address + 52) = bits.rsrc2;
    at<uint16_t>(address + 56) = bits.properties;
    return address;
  }
  uint64_t kernel(std::string_view source, const DescriptorBits &bits = {}) {
    const uint64_t code = memory(64 * 1024);
    const bool wave32 = object::properties::wave32.get(bits.properties);
    place(code, source, device_->target().wave32 ? (wave32 ? 32 : 64) : 0);
    return descriptor(code, bits);
  }

  /// A kernel argument block.
  template <class... T> uint64_t arguments(const T &...values) {
    const uint64_t address = memory(kPage);
    uint64_t next = address;
    (
        [&] {
          next = (next + alignof(T) - 1) / alignof(T) * alignof(T);
          memcpy(reinterpret_cast<void *>(next), &values, sizeof(T));
          next += sizeof(T);
        }(),
        ...);
    return address;
  }

  struct Started {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
    Fault fault;
    std::shared_ptr<Dispatch> dispatch;

    bool isDone() {
      std::lock_guard lock(mutex);
      return done;
    }
    testing::AssertionResult ended(std::chrono::seconds limit = std::chrono::seconds(60)) {
      std::unique_lock lock(mutex);
      if (!changed.wait_for(lock, limit, [&] { return done; }))
        return testing::AssertionFailure() << "the dispatch does not end";
      return testing::AssertionSuccess();
    }
    testing::AssertionResult completed() {
      if (auto result = ended(); !result)
        return result;
      if (fault.kind != Fault::Kind::None)
        return testing::AssertionFailure() << fault.text;
      return testing::AssertionSuccess();
    }
  };

  std::shared_ptr<Started> start(const Launch &launch) {
    auto running = std::make_shared<Started>();
    // Weak, because `running` holds the dispatch, which holds this function.
    auto onDone = [weak = std::weak_ptr(running)](const Dispatch &done) {
      const std::shared_ptr<Started> ended = weak.lock();
      if (!ended)
        return;
      std::lock_guard lock(ended->mutex);
      ended->fault = done.fault();
      ended->done = true;
      ended->changed.notify_all();
    };
    auto dispatch = device_->launch(launch, onDone);
    std::lock_guard lock(running->mutex);
    running->dispatch = std::move(dispatch);
    return running;
  }

  /// What is running.
  Running look() { return scheduler_->look(std::chrono::seconds(10)); }

  testing::AssertionResult run(const Launch &launch) { return start(launch)->completed(); }

private:
  AddressSpace space_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<Device> device_;
  std::vector<std::pair<uint64_t, uint64_t>> blocks_;
};

/// A kernel's first lines: the pointer from the first argument in s[6:7], the work-item's global x in v1 for
/// workgroups of `size`.
inline std::string prologue(unsigned size) {
  return "s_load_dwordx2 s[6:7], s[0:1], 0x0\n"
         "s_waitcnt lgkmcnt(0)\n"
         "v_and_b32 v0, 0x3ff, v0\n"
         "s_mul_i32 s8, s2, " +
         std::to_string(size) +
         "\n"
         "v_add_u32 v1, s8, v0\n"
         "v_lshlrev_b32 v2, 2, v1\n";
}

} // namespace luthier::vgpu::test
