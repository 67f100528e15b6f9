// The host's side of hostcall: a thread that finds ready packets and answers them.
//
// A packet is touched by nobody but the consumer between its push on the ready stack and the moment when its READY bit
// is cleared. What must be arranged is who may touch the buffer, because clients take buffers away at any time: the
// consumer does so under its mutex, or while the buffer is marked as being served, which deregistering waits for.
// Handlers run in the second state, without any lock, and so may call whatever they like, the consumer's own functions
// included.
#pragma once

#include "hostcall/buffer.h"
#include "hostcall/doorbell.h"
#include "hostcall/messages.h"
#include "hostcall/services.h"

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace luthier::hostcall {

struct ConsumerOptions {
  Services *services = nullptr; ///< null: Services::global()
  /// Where the doorbell is, for devices that reach only what was given to them (Doorbell::create). It must outlive
  /// the last ring.
  void *doorbell = nullptr;
  /// Service 1, which calls whatever address the device names.
  bool functionCalls = true;
  /// Called with an amd_hostcall_error_t and its text. Default: to stderr and the callback of amd_hostcall_on_error.
  std::function<void(int error, const std::string &text)> onError = {};
  /// Whether a fatal error ends the process. If not, the packet is answered with what is in it.
  bool halt = true;
  /// Where printf goes, by wire::Stream. Returns what printf should. Default: stdout and stderr of stdio.
  std::function<int(uint64_t stream, const std::string &text)> print = {};
};

class Consumer {
public:
  /// Errors of all functions have an amd_hostcall_error_t as their code.
  static Result<std::unique_ptr<Consumer>> create(ConsumerOptions options = {});
  /// With a doorbell of the caller's making; that of the options is not looked at.
  static Result<std::unique_ptr<Consumer>> create(ConsumerOptions options, std::unique_ptr<Doorbell> doorbell);
  /// Not from a handler that this consumer runs. Nobody else may be in a call to it.
  ~Consumer();

  Result<void> launch();
  Result<void> registerBuffer(void *buffer);
  Result<void> deregisterBuffer(void *buffer);
  /// Whether the calling thread is the consumer's.
  bool isCurrentThread() const;

  const Doorbell &doorbell() const { return *doorbell_; }
  /// Whether any consumer has this buffer.
  static bool isRegistered(void *buffer);

private:
  struct Registration;
  Consumer(ConsumerOptions options, std::unique_ptr<Doorbell> doorbell);

  void run();
  bool serveAll();
  void serve(Registration &registration, uint64_t chain);
  bool servePacket(Registration &registration, wire::Header &header);
  bool serveLane(const Registration &registration, uint32_t service, const std::optional<Services::Handler> &handler,
                 uint64_t *payload);
  void servePrintf(uint64_t *payload);
  void damaged(const std::string &what);
  void fatal(int error, const std::string &what);
  void waitForWork(uint64_t seen, unsigned idleRounds);

  const ConsumerOptions options_;
  Services &services_;
  const std::unique_ptr<Doorbell> doorbell_;
  Messages messages_; ///< the thread's own

  std::mutex mutex_; ///< guards what follows, and access to buffers that are not being served
  std::condition_variable served_;
  std::vector<std::shared_ptr<Registration>> buffers_;
  bool launched_ = false;
  pthread_t thread_ = {};
  std::atomic<bool> stop_ = false;
};

} // namespace luthier::hostcall
