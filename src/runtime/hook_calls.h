// Hooks that call the host (luthier/hostcall.h): what they print, and assertions that fail.
//
// A queue gets a hostcall buffer of its own when a kernel with such a hook is launched on it for the first time; one
// consumer, a thread, serves them all. The application's own hostcall buffers are another matter: HIP's printf works
// beside this.
#pragma once

#include "hostcall/consumer.h"
#include "hsa/events.h"
#include "runtime/tool_memory.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace luthier::runtime {

/// Thread-safe.
class HookCalls {
public:
  struct Options {
    uint32_t packets = 0;    ///< of each buffer; 0: as many as there must be
    std::string output = {}; ///< a file for what hooks print; empty: stdout
    /// What the user must know. Called on the consumer's thread too.
    std::function<void(const std::string &)> log = {};
  };
  explicit HookCalls(ToolMemory &memory) : memory_(memory) {}
  /// Before the first launch.
  void configure(Options options) { options_ = std::move(options); }

  /// The address of a queue's buffer, for a launch of this kernel that is under way until it is `completed`.
  Result<uint64_t> launch(const hsa::QueueInfo &queue, uint64_t number, const std::string &kernel);
  void completed(uint64_t queue, uint64_t launch);
  /// The buffer goes with the last launch.
  void queueDestroyed(uint64_t queue);
  /// Before HSA is shut down. Nobody is answered any more.
  void stop();

  /// How many waves can wait for answers at the same time: the fewest packets that a buffer may have.
  static Result<uint32_t> residentWaves(hsa_agent_t agent);

private:
  struct QueueBuffer {
    hsa_agent_t agent = {};
    hsa::PoolMemory memory;
    std::map<uint64_t, std::string> running; ///< kernels of launches, by number
    bool gone = false;                       ///< the queue is
  };
  Result<void> startConsumer();
  Result<hsa::PoolMemory> makeBuffer(hsa_agent_t agent);
  void release(std::unique_lock<std::mutex> lock, uint64_t queue);
  int print(uint64_t stream, const std::string &text);
  void assertionFailed(std::string_view text);
  void logOnce(const std::string &text);

  ToolMemory &memory_;
  Options options_;
  std::mutex mutex_; ///< guards what follows; not held while a buffer is deregistered, since that waits for `print`
  std::unique_ptr<hostcall::Consumer> consumer_;
  bool stopped_ = false;
  std::map<uint64_t, QueueBuffer> queues_;
  // The consumer's own.
  int file_ = -1;
  std::set<std::string> logged_; ///< what goes wrong for one wave often does for all
};

} // namespace luthier::runtime
