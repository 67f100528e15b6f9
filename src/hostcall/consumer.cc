#include "hostcall/consumer.h"

#include "hostcall/printf.h"
#include "hostcall/report.h"
#include "hostcall/stacks.h"
#include "support/thread.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>

namespace luthier::hostcall {

using std::chrono::microseconds;

/// A buffer and what the consumer is doing with it.
struct Consumer::Registration {
  BufferView view;
  bool serving = false;              ///< by the thread; guarded by the mutex
  std::atomic<bool> leaving = false; ///< somebody deregisters it: no further packet
  // The thread's own.
  bool gone = false; ///< the running handler has deregistered it: it may not be touched any more
  uint64_t rest = 0; ///< the chain behind the packet that is being served
};

namespace {

/// Which consumer has which buffer, over all consumers.
class Owners {
public:
  static Owners &instance() {
    static Owners *const owners = new Owners; // consumers may outlive static destructors
    return *owners;
  }
  bool claim(const void *buffer, const Consumer *consumer) {
    std::lock_guard lock(mutex_);
    return owners_.try_emplace(buffer, consumer).second;
  }
  void release(const void *buffer) {
    std::lock_guard lock(mutex_);
    owners_.erase(buffer);
  }
  bool has(const void *buffer) {
    std::lock_guard lock(mutex_);
    return owners_.contains(buffer);
  }

private:
  std::mutex mutex_;
  std::unordered_map<const void *, const Consumer *> owners_;
};

/// The consumer whose thread this is, and what it serves.
thread_local const Consumer *currentConsumer = nullptr;
thread_local const void *currentRegistration = nullptr;

int printToStdio(uint64_t stream, const std::string &text) {
  FILE *const file = stream == wire::kStdout ? stdout : stderr;
  const size_t written = fwrite(text.data(), 1, text.size(), file);
  return written == text.size() ? static_cast<int>(written) : -1;
}

} // namespace

Result<std::unique_ptr<Consumer>> Consumer::create(ConsumerOptions options) {
  auto doorbell = LUTHIER_TRY(Doorbell::create(options.doorbell));
  return create(std::move(options), std::move(doorbell));
}

Result<std::unique_ptr<Consumer>> Consumer::create(ConsumerOptions options, std::unique_ptr<Doorbell> doorbell) {
  if (!options.services)
    options.services = &Services::global();
  if (!options.onError)
    options.onError = reportError;
  if (!options.print)
    options.print = printToStdio;
  return std::unique_ptr<Consumer>(new Consumer(std::move(options), std::move(doorbell)));
}

Consumer::Consumer(ConsumerOptions options, std::unique_ptr<Doorbell> doorbell)
    : options_(std::move(options)), services_(*options_.services), doorbell_(std::move(doorbell)) {}

Consumer::~Consumer() {
  stop_ = true;
  if (launched_) {
    doorbell_->ring();
    pthread_join(thread_, nullptr);
  }
  // Whose buffers are still here may be using them, and rings what it finds in them.
  if (!buffers_.empty())
    doorbell_->abandon();
  for (const auto &registration : buffers_)
    Owners::instance().release(&registration->view.shared());
  debug("consumer {} destroyed", static_cast<const void *>(this));
}

Result<void> Consumer::launch() {
  std::lock_guard lock(mutex_);
  if (launched_)
    return makeErrorCode(AMD_HOSTCALL_ERROR_CONSUMER_ACTIVE, "the consumer is running already");
  auto main = [](void *self) -> void * {
    static_cast<Consumer *>(self)->run();
    return nullptr;
  };
  if (const int error = pthread_create(&thread_, nullptr, main, this))
    return makeErrorCode(AMD_HOSTCALL_ERROR_CONSUMER_LAUNCH_FAILED, "no thread for the consumer: errno {}", error);
  launched_ = true;
  debug("consumer {} launched", static_cast<const void *>(this));
  return {};
}

Result<void> Consumer::registerBuffer(void *buffer) {
  auto registration = std::make_shared<Registration>();
  // First the claim: another consumer's buffer is not even looked at.
  if (!buffer)
    return makeErrorCode(AMD_HOSTCALL_ERROR_NULLPTR, "the hostcall buffer is a null pointer");
  if (!Owners::instance().claim(buffer, this))
    return makeErrorCode(AMD_HOSTCALL_ERROR_INVALID_REQUEST, "the hostcall buffer at {} is registered already", buffer);
  auto view = BufferView::of(buffer);
  if (!view) {
    Owners::instance().release(buffer);
    return view.error();
  }
  registration->view = *view;
  __atomic_store_n(&registration->view.shared().doorbell, doorbell_->handle(), __ATOMIC_RELEASE);
  {
    std::lock_guard lock(mutex_);
    buffers_.push_back(registration);
  }
  // It may come with packets that nobody has answered.
  doorbell_->ring();
  debug("consumer {} serves buffer {} with {} packets", static_cast<const void *>(this), buffer, view->packets());
  return {};
}

Result<void> Consumer::deregisterBuffer(void *buffer) {
  if (!buffer)
    return makeErrorCode(AMD_HOSTCALL_ERROR_NULLPTR, "the hostcall buffer is a null pointer");
  std::unique_lock lock(mutex_);
  const auto found = std::find_if(buffers_.begin(), buffers_.end(),
                                  [&](const auto &candidate) { return &candidate->view.shared() == buffer; });
  if (found == buffers_.end())
    return makeErrorCode(AMD_HOSTCALL_ERROR_INVALID_REQUEST, "the hostcall buffer at {} is not registered here",
                         buffer);
  const std::shared_ptr<Registration> registration = std::move(*found);
  buffers_.erase(found);
  registration->leaving = true;
  bool intact = true;
  if (currentConsumer == this && currentRegistration == registration.get()) {
    intact = handBack(registration->view, registration->rest);
    registration->gone = true;
  } else {
    served_.wait(lock, [&] { return !registration->serving; });
  }
  lock.unlock();
  if (!intact)
    damaged("a link between packets leads nowhere");
  Owners::instance().release(buffer);
  debug("consumer {} has forgotten buffer {}", static_cast<const void *>(this), buffer);
  return {};
}

bool Consumer::isCurrentThread() const { return currentConsumer == this; }

bool Consumer::isRegistered(void *buffer) { return Owners::instance().has(buffer); }

void Consumer::run() {
  becomeInternalThread("hostcall");
  currentConsumer = this;
  for (unsigned idleRounds = 0; !stop_;) {
    // Read before looking: whoever rings after that ends the wait.
    const uint64_t seen = doorbell_->value();
    if (serveAll())
      idleRounds = 0;
    else
      waitForWork(seen, idleRounds++);
  }
}

void Consumer::waitForWork(uint64_t seen, unsigned idleRounds) {
  // A call is often followed by the next: printing a line takes several. Sleeping and waking up costs more than this.
  constexpr int kSpins = 1000;
  for (int n = 0; n < kSpins && idleRounds == 0; ++n) {
    if (doorbell_->value() != seen || stop_)
      return;
    __builtin_ia32_pause();
  }
  // A ring may get lost, and not every doorbell wakes the host, so that no sleep is long.
  doorbell_->sleep(seen, microseconds(std::min(50u << std::min(idleRounds, 6u), 2000u)));
}

bool Consumer::serveAll() {
  bool any = false;
  std::unique_lock lock(mutex_);
  for (size_t n = 0; n < buffers_.size() && !stop_; ++n) {
    const std::shared_ptr<Registration> registration = buffers_[n];
    const uint64_t chain = takeReady(registration->view);
    if (!chain)
      continue;
    any = true;
    registration->serving = true;
    currentRegistration = registration.get();
    lock.unlock();
    serve(*registration, chain);
    lock.lock();
    currentRegistration = nullptr;
    registration->serving = false;
    if (registration->leaving)
      served_.notify_all();
  }
  return any;
}

void Consumer::serve(Registration &registration, uint64_t head) {
  const BufferView &view = registration.view;
  Chain chain(view, head);
  while (wire::Header *header = chain.next()) {
    registration.rest = chain.rest();
    if (!(__atomic_load_n(&header->control, __ATOMIC_ACQUIRE) & wire::kReady)) {
      damaged("a packet on the ready stack is not ready");
      return; // its link is not to be trusted either
    }
    if (!servePacket(registration, *header))
      return;
    __atomic_fetch_and(&header->control, ~wire::kReady, __ATOMIC_RELEASE);
    if (chain.rest() && (stop_ || registration.leaving)) {
      if (!handBack(view, chain.rest()))
        damaged("a link between packets leads nowhere");
      return;
    }
  }
  if (chain.end() == Chain::End::OutOfRange)
    damaged(fmt::format("a link leads to packet {} of {}", chain.rest() & view.mask(), view.packets()));
  else if (chain.end() == Chain::End::Endless)
    damaged(fmt::format("the ready stack has more links than the buffer has packets, {}", view.packets()));
}

/// False when the buffer is gone.
bool Consumer::servePacket(Registration &registration, wire::Header &header) {
  const uint32_t service = header.service;
  const uint64_t mask = header.activeMask;
  wire::Payload &payload = registration.view.payload(header);
  debug("service {} for lanes {:#x}", service, mask);
  const auto handler = services_.find(service);
  const bool builtIn = service == wire::kPrintf || (service == wire::kFunctionCall && options_.functionCalls);
  if (!builtIn && !handler) {
    fatal(AMD_HOSTCALL_ERROR_SERVICE_UNKNOWN, fmt::format("no handler found for service {}", service));
    return true;
  }
  for (uint64_t lanes = mask; lanes; lanes &= lanes - 1) {
    uint64_t *const words = payload.slots[std::countr_zero(lanes)];
    const bool done = serveLane(registration, service, builtIn ? std::nullopt : handler, words);
    if (!done)
      fatal(AMD_HOSTCALL_INTERNAL_ERROR, fmt::format("handler for service {} returned failure", service));
    if (registration.gone)
      return false;
  }
  return true;
}

bool Consumer::serveLane(const Registration &registration, uint32_t service,
                         const std::optional<Services::Handler> &handler, uint64_t *payload) {
  if (handler)
    return handler->function(handler->state, service, payload) == 0;
  if (service == wire::kPrintf) {
    servePrintf(payload);
    return true;
  }
  const auto function = reinterpret_cast<amd_hostcall_function_t>(payload[0]);
  if (!function)
    return false;
  uint64_t output[2] = {0, 0};
  function(output, payload + 1);
  if (!registration.gone) {
    payload[0] = output[0];
    payload[1] = output[1];
  }
  return true;
}

void Consumer::servePrintf(uint64_t *payload) {
  auto part = messages_.append(payload);
  if (part && !part->complete)
    return;
  auto message = part ? formatPrintf(part->words) : Result<PrintfMessage>(part.error());
  if (message) {
    payload[0] = static_cast<uint64_t>(int64_t{options_.print(message->stream, message->text)});
    return;
  }
  damaged(message.error().message());
  payload[0] = static_cast<uint64_t>(int64_t{-1});
}

void Consumer::damaged(const std::string &what) {
  options_.onError(AMD_HOSTCALL_ERROR_INVALID_REQUEST, fmt::format("hostcall error: {}", what));
}

void Consumer::fatal(int error, const std::string &what) {
  options_.onError(error, fmt::format("hostcall fatal error: {}", what));
  if (options_.halt)
    abort();
}

} // namespace luthier::hostcall
