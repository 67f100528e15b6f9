#include "runtime/hook_calls.h"

#include "amd_hostcall.h"
#include "hostcall/doorbell_hsa.h"
#include "hsa/agent.h"
#include "support/write_all.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fcntl.h>

#include <fmt/format.h>

namespace luthier::runtime {

namespace {

/// ROCr's functions for signals, without the wrappers that show the application's calls.
hostcall::SignalFunctions signalFunctions() {
  return {.create = hsa::original<hsa::ApiId::hsa_signal_create>(),
          .destroy = hsa::original<hsa::ApiId::hsa_signal_destroy>(),
          .load = hsa::original<hsa::ApiId::hsa_signal_load_scacquire>(),
          .add = hsa::original<hsa::ApiId::hsa_signal_add_screlease>(),
          .wait = hsa::original<hsa::ApiId::hsa_signal_wait_scacquire>(),
          .info = hsa::original<hsa::ApiId::hsa_system_get_info>()};
}

} // namespace

Result<uint32_t> HookCalls::residentWaves(hsa_agent_t agent) {
  const hsa::Agent gpu(agent);
  return LUTHIER_TRY(gpu.computeUnits()) * LUTHIER_TRY(gpu.maxWavesPerComputeUnit());
}

Result<void> HookCalls::startConsumer() {
  if (stopped_)
    return makeError("hooks cannot call the host any more: HSA is being shut down");
  if (consumer_)
    return {};
  if (!options_.output.empty() && file_ < 0) {
    file_ = ::open(options_.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (file_ < 0)
      return makeErrorCode(errno, "cannot create {}: {}", options_.output, std::strerror(errno));
  }
  hostcall::ConsumerOptions options;
  options.onError = [this](int, const std::string &text) { logOnce(text); };
  options.halt = false;
  options.print = [this](uint64_t stream, const std::string &text) { return print(stream, text); };
  auto doorbell = hostcall::createHsaDoorbell(signalFunctions());
  if (!doorbell)
    return makeError("hooks cannot call the host: ROCr gives no signal for it");
  auto consumer = LUTHIER_TRY(hostcall::Consumer::create(std::move(options), std::move(doorbell)));
  LUTHIER_TRY(consumer->launch());
  consumer_ = std::move(consumer);
  return {};
}

Result<hsa::PoolMemory> HookCalls::makeBuffer(hsa_agent_t agent) {
  const uint32_t waves = LUTHIER_TRY(residentWaves(agent));
  const uint32_t packets = options_.packets ? options_.packets : waves;
  if (packets < waves)
    return makeError("a hostcall buffer of {} packets is too small: {} waves can be resident and call the host at the "
                     "same time (--hostcall-packets)",
                     packets, waves);
  const size_t bytes = hostcall::bufferBytes(packets);
  if (bytes == 0)
    return makeError("a hostcall buffer cannot have {} packets; {} at most", packets, hostcall::kMaxPackets);
  hsa::PoolMemory memory = LUTHIER_TRY(memory_.take(agent, ToolMemory::Kind::Kernarg, bytes));
  LUTHIER_TRY(hostcall::initializeBuffer(memory.data(), memory.size(), packets));
  return memory;
}

Result<uint64_t> HookCalls::launch(const hsa::QueueInfo &queue, uint64_t number, const std::string &kernel) {
  std::lock_guard lock(mutex_);
  auto found = queues_.find(queue.id);
  if (found == queues_.end()) {
    LUTHIER_TRY(startConsumer());
    hsa::PoolMemory memory = LUTHIER_TRY(makeBuffer(queue.agent));
    LUTHIER_TRY(consumer_->registerBuffer(memory.data()));
    found = queues_.emplace(queue.id, QueueBuffer{queue.agent, std::move(memory), {}}).first;
  }
  found->second.running[number] = kernel;
  return found->second.memory.address();
}

void HookCalls::completed(uint64_t queue, uint64_t launch) {
  std::unique_lock lock(mutex_);
  const auto found = queues_.find(queue);
  if (found == queues_.end())
    return;
  found->second.running.erase(launch);
  release(std::move(lock), queue);
}

void HookCalls::queueDestroyed(uint64_t queue) {
  std::unique_lock lock(mutex_);
  if (const auto found = queues_.find(queue); found != queues_.end()) {
    found->second.gone = true;
    release(std::move(lock), queue);
  }
}

/// Gives the buffer back if nobody can call any more.
void HookCalls::release(std::unique_lock<std::mutex> lock, uint64_t queue) {
  QueueBuffer &buffer = queues_.at(queue);
  if (!buffer.gone || !buffer.running.empty() || !consumer_)
    return;
  const hsa_agent_t agent = buffer.agent;
  hsa::PoolMemory memory = std::move(buffer.memory);
  queues_.erase(queue);
  hostcall::Consumer &consumer = *consumer_;
  lock.unlock();
  if (consumer.deregisterBuffer(memory.data()))
    memory_.giveBack(agent, ToolMemory::Kind::Kernarg, std::move(memory));
  else
    memory.release();
}

void HookCalls::stop() {
  std::unique_ptr<hostcall::Consumer> last;
  {
    std::lock_guard lock(mutex_);
    if (consumer_ && consumer_->isCurrentThread())
      return; // a function of the tool's that was called from a hook ends the process
    stopped_ = true;
    last = std::move(consumer_);
  }
  // Waits for the thread, which may want the lock.
}

int HookCalls::print(uint64_t to, const std::string &text) {
  if (to == hostcall::wire::kAssertion) {
    assertionFailed(text);
    return static_cast<int>(text.size());
  }
  const bool standard = to == hostcall::wire::kStdout;
  if (standard && file_ >= 0)
    return writeAll(file_, text) == 0 ? static_cast<int>(text.size()) : -1;
  // Through stdio, so that it is in order with what the application prints; and out of it at once, since the
  // application may end in any way.
  FILE *const stream = standard ? stdout : stderr;
  const bool good = fwrite(text.data(), 1, text.size(), stream) == text.size() && fflush(stream) == 0;
  return good ? static_cast<int>(text.size()) : -1;
}

void HookCalls::logOnce(const std::string &text) {
  constexpr size_t kMost = 1000;
  if (logged_.size() < kMost && logged_.insert(text).second)
    options_.log(text);
}

/// The text is the launch's number, a space, and what the user is to be told.
void HookCalls::assertionFailed(std::string_view text) {
  uint64_t number = 0;
  const auto rest = std::from_chars(text.data(), text.data() + text.size(), number).ptr - text.data();
  text.remove_prefix(std::min<size_t>(static_cast<size_t>(rest) + 1, text.size()));
  while (text.ends_with('\n'))
    text.remove_suffix(1);
  std::string kernel;
  {
    std::lock_guard lock(mutex_);
    for (const auto &[id, queue] : queues_)
      if (const auto found = queue.running.find(number); found != queue.running.end())
        kernel = found->second;
  }
  logOnce(fmt::format("{} (a hook in launch {}, of {})", text, number, kernel.empty() ? "an unknown kernel" : kernel));
}

} // namespace luthier::runtime
