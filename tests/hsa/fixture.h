// HSA on the virtual GPU with Luthier's Interceptor inside the test program.
//
// The program is linked with the virtual GPU's preloaded library, so ROCr finds the virtual driver. ROCr
// gives its table only to libraries that it loads itself; handover.cc is such a library and passes it to the program.
//
// The tests play two parts: the application calls hsa_* functions, which go through ROCr's table and so through
// Luthier; Luthier's classes do not.
#pragma once

#include "hsa/executable.h"
#include "hsa/interceptor.h"
#include "hsa/queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace luthier::hsa::test {

using namespace std::chrono_literals;

/// How long to wait for what must happen: long, since only failures wait that long.
inline constexpr auto kPatience = 60s;

/// hsa_init with these tools, in this order, on these virtual GPUs. "luthier" stands for this program.
void startHsa(const std::vector<std::string> &tools = {"luthier"}, const std::string &gpus = "gfx90a");
void stopHsa();
/// After stopHsa: ROCr of 6.4 to 7.2 leaves the thunk open, and then takes that for a failure.
bool canStartAgain();
/// What ROCr handed over; null when it did not.
HsaApiTable *receivedTable();
/// How often the table was handed over.
unsigned handovers();

std::vector<std::byte> readFile(const std::string &path);

/// The value of a Result, which must be one.
template <class T> T value(Result<T> result) {
  if (!result) {
    ADD_FAILURE() << result.error().message();
    std::abort();
  }
  return *std::move(result);
}
inline void succeed(const Result<void> &result) { EXPECT_TRUE(result) << result.error().message(); }
template <class T> std::string errorOf(const Result<T> &result) {
  return result ? "(no error)" : result.error().message();
}

/// Starts HSA once for the program.
class HsaTest : public testing::Test {
protected:
  static void SetUpTestSuite() {
    if (!receivedTable())
      startHsa();
  }

  Agent gpu() const { return value(Agent::gpus()).at(0); }
  Agent cpu() const { return value(Agent::cpus()).at(0); }
};

/// The kernels of kernels.hip, or those of another object, loaded and frozen, with memory for their arguments.
class Kernels {
public:
  explicit Kernels(Agent agent);
  Kernels(Agent agent, std::vector<std::byte> elf);

  Agent agent() const { return agent_; }
  const Executable &executable() const { return *executable_; }
  ExecutableSymbol symbol(const std::string &name) const { return value(executable_->symbol(name, agent_)); }

  /// Memory that host and GPU share, zeroed.
  template <class T> T *shared(size_t count = 1) { return static_cast<T *>(allocate(count * sizeof(T))); }

  /// A dispatch packet of one workgroup of `lanes`, with system-wide fences. Its arguments live as long as this object.
  template <class... Args>
  AqlPacket dispatch(const std::string &kernel, hsa_signal_t completion, uint16_t lanes, Args... args) {
    size_t size = 0;
    auto place = [&](size_t bytes) {
      size = (size + bytes - 1) / bytes * bytes + bytes;
      return size - bytes;
    };
    auto *memory = shared<std::byte>(256);
    (memcpy(memory + place(sizeof args), &args, sizeof args), ...);
    return packet(kernel, completion, lanes, memory);
  }
  AqlPacket packet(const std::string &kernel, hsa_signal_t completion, uint16_t lanes, void *arguments) const;

private:
  void *allocate(size_t bytes);

  Agent agent_;
  std::vector<std::byte> elf_;
  OwnedCodeObjectReader reader_;
  OwnedExecutable executable_;
  MemoryPool pool_;
  std::vector<PoolMemory> memory_;
  std::mutex mutex_;
};

/// A barrier-AND packet.
AqlPacket barrier(std::vector<hsa_signal_t> dependencies, hsa_signal_t completion, bool barrierBit = true);

/// A queue and what an application does with it, all through ROCr's public functions.
class AppQueue {
public:
  AppQueue(Agent agent, uint32_t size);
  ~AppQueue() { destroy(); }
  hsa_queue_t *raw() const { return queue_; }
  void destroy();

  uint64_t reserve(uint64_t count = 1) { return hsa_queue_add_write_index_scacq_screl(queue_, count); }
  /// Waits for room.
  void write(uint64_t index, const AqlPacket &packet);
  void ring(uint64_t index) {
    hsa_signal_store_screlease(queue_->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  }
  uint64_t submit(const AqlPacket &packet);

private:
  hsa_queue_t *queue_ = nullptr;
};

/// The kernels of kernels.hip as an application loads them, through ROCr's public functions. What it was loaded from is
/// gone at once.
class AppExecutable {
public:
  explicit AppExecutable(Agent gpu);
  ~AppExecutable() { destroy(); }
  hsa_executable_t raw() const { return handle_; }
  uint64_t kernelObject() const { return kernelObject_; } ///< that of `count`
  void destroy();

private:
  hsa_executable_t handle_ = {};
  uint64_t kernelObject_ = 0;
};

/// Waits for a signal to become 0, after which what the kernel wrote may be read. False when that took too long.
bool finished(const Signal &signal);

/// A signal of the application.
class AppSignal {
public:
  explicit AppSignal(hsa_signal_value_t value);
  ~AppSignal() { hsa_signal_destroy(signal_); }
  operator hsa_signal_t() const { return signal_; }
  hsa_signal_value_t load() const { return hsa_signal_load_scacquire(signal_); }
  void store(hsa_signal_value_t value) const { hsa_signal_store_screlease(signal_, value); }
  /// False when it did not get to `value` or below.
  bool waitFor(hsa_signal_value_t value) const;

private:
  hsa_signal_t signal_ = {};
};

} // namespace luthier::hsa::test
