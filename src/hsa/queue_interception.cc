#include "hsa/queue_interception.h"

#include "hsa/callback_scope.h"
#include "hsa/calls.h"
#include "support/log.h"
#include "support/thread.h"

#include <algorithm>
#include <cstring>

#include <unistd.h>

namespace luthier::hsa {

namespace {

/// Packets that are shown at once; more would only delay the first.
constexpr size_t kMaxBatch = 256;

/// Batches that one ring of a doorbell passes on; then it is a thread of ours that goes on, and not one of the
/// application's.
constexpr size_t kMaxBatches = 64;

/// Memory for the application's ring: any that the host and ROCr share.
Result<hsa_region_t> hostRegion() {
  struct Search {
    hsa_region_t region = {};
  } search;
  auto visitRegion = [](hsa_region_t region, void *data) {
    hsa_region_segment_t segment{};
    uint32_t flags = 0;
    const auto info = original<ApiId::hsa_region_get_info>();
    if (info(region, HSA_REGION_INFO_SEGMENT, &segment) != HSA_STATUS_SUCCESS || segment != HSA_REGION_SEGMENT_GLOBAL ||
        info(region, HSA_REGION_INFO_GLOBAL_FLAGS, &flags) != HSA_STATUS_SUCCESS ||
        !(flags & HSA_REGION_GLOBAL_FLAG_FINE_GRAINED))
      return HSA_STATUS_SUCCESS;
    static_cast<Search *>(data)->region = region;
    return HSA_STATUS_INFO_BREAK;
  };
  struct Visit {
    Search *search;
    hsa_status_t (*visitRegion)(hsa_region_t, void *);
  } visit{&search, visitRegion};
  auto visitAgent = [](hsa_agent_t agent, void *data) {
    const auto *context = static_cast<Visit *>(data);
    hsa_device_type_t type{};
    if (original<ApiId::hsa_agent_get_info>()(agent, HSA_AGENT_INFO_DEVICE, &type) != HSA_STATUS_SUCCESS ||
        type != HSA_DEVICE_TYPE_CPU)
      return HSA_STATUS_SUCCESS;
    original<ApiId::hsa_agent_iterate_regions>()(agent, context->visitRegion, context->search);
    return context->search->region.handle ? HSA_STATUS_INFO_BREAK : HSA_STATUS_SUCCESS;
  };
  hsa_status_t (*agentCallback)(hsa_agent_t, void *) = visitAgent;
  LUTHIER_TRY(call<ApiId::hsa_iterate_agents>(agentCallback, static_cast<void *>(&visit)));
  if (!search.region.handle)
    return makeError("no host memory region for the queue");
  return search.region;
}

uint64_t newQueueId() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

uint16_t &headerOf(void *packet) { return *static_cast<uint16_t *>(packet); }

bool isWritten(const void *packet) {
  const uint16_t header = __atomic_load_n(static_cast<const uint16_t *>(packet), __ATOMIC_ACQUIRE);
  return (header >> HSA_PACKET_HEADER_TYPE & 0xff) != HSA_PACKET_TYPE_INVALID;
}

AqlPacket *slot(const hsa_queue_t *queue, uint64_t index) {
  return static_cast<AqlPacket *>(queue->base_address) + (index & (queue->size - 1));
}

std::vector<AqlPacket> packetsOf(const PacketBatch &batch) {
  std::vector<AqlPacket> packets;
  packets.reserve(batch.entries.size());
  for (const PacketBatch::Entry &entry : batch.entries)
    packets.push_back(entry.packet);
  return packets;
}

std::vector<PacketBatch::Entry> entriesOf(const std::vector<AqlPacket> &packets) {
  std::vector<PacketBatch::Entry> entries;
  for (const AqlPacket &packet : packets)
    entries.push_back({packet, {}});
  return entries;
}

} // namespace

hsa_status_t ShadowQueue::create(const Request &request) {
  request_ = request;
  // Applications compare the source of an error with the queue that they know.
  auto report = [](hsa_status_t status, hsa_queue_t *, void *data) {
    const auto *self = static_cast<ShadowQueue *>(data);
    if (self->request_.callback)
      self->request_.callback(status, self->info_.queue, self->request_.data);
  };
  hsa_queue_t *real = nullptr;
  const hsa_status_t status = original<ApiId::hsa_queue_create>()(
      request.agent, request.size, request.type, request.callback ? +report : nullptr, this, request.privateSegmentSize,
      request.groupSegmentSize, &real);
  if (status != HSA_STATUS_SUCCESS)
    return status;
  info_ = {real, real, request.agent, newQueueId()};
  auto front = [&]() -> Result<hsa_queue_t *> {
    const hsa_region_t region = LUTHIER_TRY(hostRegion());
    LUTHIER_TRY(call<ApiId::hsa_signal_create>(0, 0u, nullptr, &doorbell_));
    hsa_queue_t *queue = nullptr;
    LUTHIER_TRY(call<ApiId::hsa_soft_queue_create>(region, real->size, HSA_QUEUE_TYPE_MULTI, real->features, doorbell_,
                                                   &queue));
    // A soft queue cannot be created with the vendor's types (cooperative), but may say that it is one.
    queue->type = real->type;
    return queue;
  }();
  if (!front) {
    // The application still gets its queue; its packets go unseen.
    log::error("packets of a queue cannot be intercepted: {}", front.error().message());
    if (doorbell_.handle)
      original<ApiId::hsa_signal_destroy>()(doorbell_);
    doorbell_ = {};
    return HSA_STATUS_SUCCESS;
  }
  info_.queue = *front;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t ShadowQueue::destroy() {
  std::lock_guard lock(mutex_);
  if (!info_.real)
    return HSA_STATUS_ERROR_INVALID_QUEUE;
  const hsa_status_t status = original<ApiId::hsa_queue_destroy>()(info_.real);
  if (info_.queue != info_.real) {
    original<ApiId::hsa_queue_destroy>()(info_.queue);
    original<ApiId::hsa_signal_destroy>()(doorbell_);
  }
  info_.real = nullptr;
  return status;
}

void ShadowQueue::dropFront() {
  if (!doorbell_.handle)
    return;
  original<ApiId::hsa_queue_destroy>()(info_.queue);
  original<ApiId::hsa_signal_destroy>()(doorbell_);
  doorbell_ = {};
  info_.queue = info_.real;
}

void ShadowQueue::abandon() {
  std::lock_guard lock(mutex_);
  info_.real = nullptr;
}

/// A batch that callbacks look at: released, it goes to the hardware as it was taken.
class ShadowQueue::Held final : public HeldWork {
public:
  Held(ShadowQueue &queue, PacketBatch &batch) : queue_(queue), batch_(batch), packets_(packetsOf(batch)) {}
  bool release() override {
    {
      const Lock lock(queue_.mutex_);
      batch_.released = true;
      if (queue_.info_.real) {
        PacketBatch taken{batch_.queue, batch_.firstIndex, entriesOf(packets_)};
        queue_.owner_.watch(taken);
        queue_.pending_ = std::move(taken.entries);
        queue_.pendingDone_ = 0;
        queue_.submitPending();
      }
      queue_.passing_ = false;
    }
    queue_.owner_.passLater(&queue_, thread_); // what is left, and what has come meanwhile
    return true;
  }

private:
  ShadowQueue &queue_;
  PacketBatch &batch_;
  const std::vector<AqlPacket> packets_;
  const std::thread::id thread_ = std::this_thread::get_id();
};

ShadowQueue::Taken ShadowQueue::takeBatch(Lock &lock) {
  PacketBatch batch{info_, next_, {}};
  // What nobody has rung for may be half written, even where its header says otherwise.
  const uint64_t end = std::min(original<ApiId::hsa_queue_load_write_index_scacquire>()(info_.queue),
                                static_cast<uint64_t>(rung_.load(std::memory_order_acquire) + 1));
  while (next_ < end && batch.entries.size() < kMaxBatch) {
    AqlPacket *packet = slot(info_.queue, next_);
    if (!isWritten(packet))
      break; // reserved by another thread that is still writing; its doorbell follows
    batch.entries.push_back({*packet, {}});
    __atomic_store_n(&headerOf(packet), uint16_t(HSA_PACKET_TYPE_INVALID << HSA_PACKET_HEADER_TYPE), __ATOMIC_RELEASE);
    ++next_;
  }
  if (batch.entries.empty())
    return Taken::Nothing;
  original<ApiId::hsa_queue_store_read_index_screlease>()(info_.queue, next_);
  owner_.prepare(batch);
  if (owner_.callbacks().wanted()) {
    Held held(*this, batch);
    lock.unlock();
    const bool shown = owner_.callbacks().show(batch, held);
    lock.lock();
    if (!shown)
      return Taken::Released;
    if (!info_.real)
      return Taken::Batch; // destroyed by a callback
  }
  owner_.watch(batch);
  pending_ = std::move(batch.entries); // none, if the callbacks have removed them all
  pendingDone_ = 0;
  return Taken::Batch;
}

bool ShadowQueue::submitPending() {
  hsa_queue_t *real = info_.real;
  while (pendingDone_ < pending_.size()) {
    const uint64_t write = original<ApiId::hsa_queue_load_write_index_relaxed>()(real);
    const uint64_t read = original<ApiId::hsa_queue_load_read_index_scacquire>()(real);
    const uint64_t room = real->size - (write - read);
    const uint64_t count = std::min<uint64_t>(room, pending_.size() - pendingDone_);
    if (count == 0)
      return false;
    original<ApiId::hsa_queue_store_write_index_relaxed>()(real, write + count);
    for (uint64_t n = 0; n < count; ++n)
      pending_[pendingDone_ + n].packet.writeBodyTo(slot(real, write + n));
    storeFence(); // the ring may be in memory of the GPU, to which the host writes in any order
    for (uint64_t n = 0; n < count; ++n)
      pending_[pendingDone_ + n].packet.writeHeaderTo(slot(real, write + n));
    original<ApiId::hsa_signal_store_screlease>()(real->doorbell_signal,
                                                  static_cast<hsa_signal_value_t>(write + count - 1));
    pendingDone_ += count;
  }
  pending_.clear();
  pendingDone_ = 0;
  return true;
}

void ShadowQueue::noteRing(hsa_signal_value_t value) {
  int64_t highest = rung_.load(std::memory_order_relaxed);
  while (highest < value && !rung_.compare_exchange_weak(highest, value, std::memory_order_release))
    ;
}

uint64_t ShadowQueue::lendDoorbell() {
  lent_ = true;
  static_assert(sizeof lentDoorbell_ == sizeof(uint64_t) && decltype(lentDoorbell_)::is_always_lock_free);
  return reinterpret_cast<uint64_t>(&lentDoorbell_);
}

bool ShadowQueue::takeLentRing() {
  const int64_t value = lentDoorbell_.load(std::memory_order_acquire);
  if (value <= rung_.load(std::memory_order_relaxed))
    return false;
  noteRing(value);
  return true;
}

bool ShadowQueue::pass() {
  const auto self = weak_from_this().lock(); // callbacks may destroy the queue
  Lock lock(mutex_);
  if (passing_)
    return true;
  passing_ = true;
  bool done = true;
  for (size_t batches = 0; info_.real; ++batches) {
    done = submitPending() && batches < kMaxBatches;
    if (!done)
      break;
    const Taken taken = takeBatch(lock);
    if (taken == Taken::Released)
      return true;
    if (taken == Taken::Nothing) {
      done = static_cast<int64_t>(next_) > rung_.load(std::memory_order_relaxed) ||
             next_ >= original<ApiId::hsa_queue_load_write_index_relaxed>()(info_.queue);
      break;
    }
  }
  passing_ = false;
  return done;
}

ShadowQueue *QueueInterception::DoorbellTable::find(uint64_t handle) const {
  if (used_.load(std::memory_order_acquire) == 0)
    return nullptr;
  for (size_t n = slotOf(handle), tries = 0; tries < kSlots; n = (n + 1) % kSlots, ++tries) {
    const uint64_t found = slots_[n].handle.load(std::memory_order_acquire);
    if (found == handle)
      return slots_[n].queue.load(std::memory_order_acquire);
    if (found == 0)
      return nullptr;
  }
  return nullptr;
}

bool QueueInterception::DoorbellTable::insert(uint64_t handle, ShadowQueue *queue) {
  Slot *place = nullptr; // the first that nobody uses, unless the handle has one from before
  for (size_t n = slotOf(handle), tries = 0; tries < kSlots; n = (n + 1) % kSlots, ++tries) {
    Slot &slot = slots_[n];
    const uint64_t found = slot.handle.load(std::memory_order_relaxed);
    if (found == handle || (!place && !slot.queue.load(std::memory_order_relaxed)))
      place = &slot;
    if (found == handle || found == 0)
      break;
  }
  if (!place)
    return false;
  // In this order: what had the place before may be the handle of an ordinary signal by now, whose stores are not ours.
  place->handle.store(handle, std::memory_order_release);
  place->queue.store(queue, std::memory_order_release);
  ++used_;
  return true;
}

void QueueInterception::DoorbellTable::erase(uint64_t handle) {
  for (size_t n = slotOf(handle), tries = 0; tries < kSlots; n = (n + 1) % kSlots, ++tries) {
    Slot &slot = slots_[n];
    if (slot.handle.load(std::memory_order_relaxed) == 0)
      return;
    if (slot.handle.load(std::memory_order_relaxed) != handle)
      continue;
    // The handle stays, so that searches go on past it, unless there is nothing behind it.
    slot.queue.store(nullptr, std::memory_order_release);
    --used_;
    for (; slots_[(n + 1) % kSlots].handle.load(std::memory_order_relaxed) == 0; n = (n + kSlots - 1) % kSlots) {
      if (slots_[n].handle.load(std::memory_order_relaxed) == 0 || slots_[n].queue.load(std::memory_order_relaxed))
        break;
      slots_[n].handle.store(0, std::memory_order_release);
    }
    return;
  }
}

namespace {

template <class T> constexpr bool isQueue = std::is_same_v<T, hsa_queue_t *> || std::is_same_v<T, const hsa_queue_t *>;
template <class Function> constexpr bool takesQueue = false;
template <class Return, class... Args> constexpr bool takesQueue<Return (*)(Args...)> = (isQueue<Args> || ...);

/// HSA_AMD_QUEUE_INFO_DOORBELL_ID, which the oldest headers do not have.
constexpr uint32_t kQueueInfoDoorbell = 1;

/// What is the application's own business, and of the queue that it has.
constexpr bool isAboutIndices(std::string_view function) {
  return function.find("_read_index_") != function.npos || function.find("_write_index_") != function.npos;
}

} // namespace

/// What a function does that takes a queue: the same with the real one.
template <ApiId id> void QueueInterception::forwardToRealQueue() {
  const auto real = [this](auto argument) {
    if constexpr (isQueue<decltype(argument)>)
      return realOf(const_cast<hsa_queue_t *>(argument));
    else
      return argument;
  };
  replacements_.push_back(calls::replace<id>([real](auto... args) { return original<id>()(real(args)...); }));
}

QueueInterception::QueueInterception(Events &events, PacketCallbacks &callbacks)
    : events_(events), callbacks_(callbacks), completions_(events, callbacks.heldWorks()) {
  forEachApi([&]<ApiId id>() {
    if constexpr (takesQueue<typename ApiCall<id>::Function> && !isAboutIndices(ApiCall<id>::name))
      forwardToRealQueue<id>();
  });
  replacements_.push_back(calls::replace<ApiId::hsa_queue_create>(
      [this](hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
             void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data, uint32_t privateSegment,
             uint32_t groupSegment, hsa_queue_t **queue) {
        return createQueue({agent, size, type, callback, data, privateSegment, groupSegment}, queue);
      }));
  replacements_.push_back(
      calls::replace<ApiId::hsa_queue_destroy>([this](hsa_queue_t *queue) { return destroyQueue(queue); }));
  const auto watchStores = [&]<ApiId id>() {
    replacements_.push_back(calls::replace<id>([this](hsa_signal_t signal, hsa_signal_value_t value) {
      if (!ring(signal, value))
        original<id>()(signal, value);
    }));
  };
  replacements_.push_back(
      calls::replace<ApiId::hsa_amd_queue_get_info>([this](hsa_queue_t *queue, auto attribute, void *value) {
        if (static_cast<uint32_t>(attribute) == kQueueInfoDoorbell && value)
          if (const uint64_t address = lendDoorbell(queue)) {
            memcpy(value, &address, sizeof address);
            return HSA_STATUS_SUCCESS;
          }
        return callOriginal<ApiId::hsa_amd_queue_get_info>(realOf(queue), attribute, value);
      }));
  // ROCr rings a doorbell for a silent store as well: nobody could be waiting for it.
  watchStores.operator()<ApiId::hsa_signal_store_relaxed>();
  watchStores.operator()<ApiId::hsa_signal_store_screlease>();
  watchStores.operator()<ApiId::hsa_signal_silent_store_relaxed>();
  watchStores.operator()<ApiId::hsa_signal_silent_store_screlease>();
  replacements_.push_back(calls::replace<ApiId::hsa_amd_queue_intercept_create>(
      [this](hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
             void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data, uint32_t privateSegment,
             uint32_t groupSegment, hsa_queue_t **queue) {
        const hsa_status_t status = original<ApiId::hsa_amd_queue_intercept_create>()(
            agent, size, type, callback, data, privateSegment, groupSegment, queue);
        if (status == HSA_STATUS_SUCCESS)
          adopt(*queue, agent);
        return status;
      }));
}

QueueInterception::~QueueInterception() { stop(); }

void QueueInterception::start() {
  std::lock_guard lock(mutex_);
  stopping_ = false;
}

void QueueInterception::stop() {
  // ROCr still works here; what has been promised to be told is told.
  if (!drainCompletions())
    log::warn("some kernels were not seen to complete before HSA was shut down");
  if (pumpProcess_ && pumpProcess_ != getpid()) {
    // A forked child has none of our threads, and may have the locks that they held: nobody will ever unlock them.
    if (pump_.joinable())
      pump_.detach();
    completions_.stop();
    return;
  }
  std::thread pump;
  std::unordered_map<hsa_queue_t *, std::shared_ptr<ShadowQueue>> shadows;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    pump = std::move(pump_);
    for (auto &[queue, shadow] : shadows_)
      doorbells_.erase(shadow->doorbell().handle);
    shadows = std::move(shadows_);
    shadows_.clear();
    others_.clear();
    waiting_.clear();
    full_.clear();
  }
  // What the application has not destroyed goes down with ROCr.
  for (auto &[queue, shadow] : shadows)
    shadow->abandon();
  wake_.notify_all();
  if (pump.joinable())
    pump.join();
  completions_.stop();
}

hsa_status_t QueueInterception::createQueue(const ShadowQueue::Request &request, hsa_queue_t **queue) {
  if (!queue)
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  auto shadow = std::make_shared<ShadowQueue>(*this);
  const hsa_status_t status = shadow->create(request);
  if (status != HSA_STATUS_SUCCESS)
    return status;
  QueueInfo info;
  {
    std::lock_guard lock(mutex_);
    const auto same = std::ranges::find_if(
        shadows_, [&](const auto &known) { return known.second->info().real == shadow->info().real; });
    if (same != shadows_.end()) {
      same->second->share();
      shadow->dropFront();
      *queue = same->first;
      return HSA_STATUS_SUCCESS;
    }
    if (shadow->doorbell().handle && !doorbells_.insert(shadow->doorbell().handle, shadow.get())) {
      log::error("too many queues: packets of another one cannot be intercepted");
      shadow->dropFront();
    }
    info = shadow->info();
    shadows_[info.queue] = std::move(shadow);
  }
  *queue = info.queue;
  const CallbackScope scope;
  events_.queueCreated.raise(info);
  return HSA_STATUS_SUCCESS;
}

namespace {

void write(const PacketBatch &batch, hsa_amd_queue_intercept_packet_writer writer) {
  const std::vector<AqlPacket> packets = packetsOf(batch);
  writer(packets.data(), packets.size());
}

/// A batch of a queue that ROCr intercepts. Its writer works on the thread that ROCr calls us on, so what another
/// thread waits for cannot be released here.
class AdoptedBatch final : public HeldWork {
public:
  AdoptedBatch(QueueInterception &queues, PacketBatch &batch, hsa_amd_queue_intercept_packet_writer writer)
      : queues_(queues), batch_(batch), packets_(packetsOf(batch)), writer_(writer) {}
  bool release() override {
    if (std::this_thread::get_id() != thread_)
      return false;
    batch_.released = true;
    PacketBatch taken{batch_.queue, batch_.firstIndex, entriesOf(packets_)};
    queues_.watch(taken);
    write(taken, writer_);
    return true;
  }

private:
  QueueInterception &queues_;
  PacketBatch &batch_;
  const std::vector<AqlPacket> packets_;
  const hsa_amd_queue_intercept_packet_writer writer_;
  const std::thread::id thread_ = std::this_thread::get_id();
};

} // namespace

void QueueInterception::adopt(hsa_queue_t *queue, hsa_agent_t agent) {
  auto adopted = std::make_unique<Adopted>(*this, QueueInfo{queue, queue, agent, newQueueId()});
  Adopted &known = *adopted;
  {
    std::lock_guard lock(mutex_);
    others_[queue] = std::move(adopted);
  }
  auto show = [](const void *packets, uint64_t count, uint64_t index, void *data,
                 hsa_amd_queue_intercept_packet_writer writer) {
    const auto &[owner, info] = *static_cast<Adopted *>(data);
    PacketBatch batch{info, index, {}};
    for (uint64_t n = 0; n < count; ++n)
      batch.entries.push_back({static_cast<const AqlPacket *>(packets)[n], {}});
    owner.prepare(batch);
    AdoptedBatch held(owner, batch, writer);
    if (owner.callbacks_.show(batch, held)) {
      owner.watch(batch);
      write(batch, writer);
    }
  };
  if (auto registered = call<ApiId::hsa_amd_queue_intercept_register>(queue, +show, static_cast<void *>(&known));
      !registered)
    log::error("packets of another tool's queue cannot be intercepted: {}", registered.error().message());
  const CallbackScope scope;
  events_.queueCreated.raise(known.info);
}

void QueueInterception::prepare(PacketBatch &batch) {
  if (!events_.packetNeeds.empty())
    for (PacketBatch::Entry &entry : batch.entries)
      events_.packetNeeds.raise(entry.packet);
}

void QueueInterception::watch(PacketBatch &batch) {
  const bool watchAll = !events_.kernelCompleted.empty();
  for (PacketBatch::Entry &entry : batch.entries)
    if (entry.packet.kernelDispatch() && (watchAll || entry.completed))
      completions_.watch(batch.queue, entry);
}

hsa_status_t QueueInterception::destroyQueue(hsa_queue_t *queue) {
  std::shared_ptr<ShadowQueue> shadow;
  std::unique_ptr<Adopted> other;
  {
    std::lock_guard lock(mutex_);
    if (auto found = shadows_.find(queue); found != shadows_.end()) {
      if (found->second->unshare())
        return original<ApiId::hsa_queue_destroy>()(found->second->info().real);
      shadow = std::move(found->second);
      shadows_.erase(found);
      doorbells_.erase(shadow->doorbell().handle);
    } else if (auto plain = others_.find(queue); plain != others_.end()) {
      other = std::move(plain->second);
      others_.erase(plain);
    }
  }
  if (shadow || other) {
    const CallbackScope scope;
    events_.queueDestroyed.raise(shadow ? shadow->info() : other->info);
  }
  if (!shadow && !other)
    return original<ApiId::hsa_queue_destroy>()(queue);
  const uint64_t id = shadow ? shadow->info().id : other->info.id;
  const hsa_status_t status = shadow ? shadow->destroy() : original<ApiId::hsa_queue_destroy>()(queue);
  if (status == HSA_STATUS_SUCCESS)
    completions_.abandon(id); // what was in flight, or not even in the real queue yet
  return status;
}

bool QueueInterception::ring(hsa_signal_t doorbell, hsa_signal_value_t value) {
  ShadowQueue *queue = doorbells_.find(doorbell.handle);
  if (!queue)
    return false;
  queue->noteRing(value);
  // A callback that submits packets must not wait for a queue whose callbacks may be waiting for this one. And
  // callbacks that call HIP must not do so here, where HIP has locks that it cannot take twice.
  if (CallbackScope::inside() || callbacks_.heldWorks().mayBlock() || !queue->pass())
    passLater(queue);
  return true;
}

uint64_t QueueInterception::lendDoorbell(hsa_queue_t *queue) {
  std::shared_ptr<ShadowQueue> shadow;
  {
    std::lock_guard lock(mutex_);
    const auto found = shadows_.find(queue);
    if (found == shadows_.end() || !found->second->doorbell().handle)
      return 0;
    shadow = found->second;
  }
  const uint64_t address = shadow->lendDoorbell();
  passLater(shadow.get());
  return address;
}

hsa_queue_t *QueueInterception::realOf(hsa_queue_t *queue) {
  std::lock_guard lock(mutex_);
  auto found = shadows_.find(queue);
  return found == shadows_.end() ? queue : found->second->info().real;
}

void QueueInterception::startPump() {
  pumpProcess_ = getpid();
  pump_ = std::thread([this, generation = ++pumpGeneration_] { runPump(generation); });
}

void QueueInterception::passLater(ShadowQueue *queue, std::thread::id busy) {
  const bool waits = queue->waiting.exchange(true); // it is in the pump's hands
  std::lock_guard lock(mutex_);
  if (stopping_)
    return;
  if (auto found = shadows_.find(queue->info().queue); !waits && found != shadows_.end())
    waiting_.push_back(found->second);
  if (pump_.joinable() && pump_.get_id() == busy)
    pump_.detach();
  if (!pump_.joinable())
    startPump();
  wake_.notify_all();
}

void QueueInterception::runPump(uint64_t generation) {
  using namespace std::chrono_literals;
  becomeInternalThread("luthier-queues");
  constexpr auto kShortest = 20us, kLongest = 1000us;
  auto pause = kShortest;
  std::unique_lock lock(mutex_);
  const auto ended = [&] { return stopping_ || pumpGeneration_ != generation; };
  while (!ended()) {
    if (waiting_.empty() && full_.empty())
      wake_.wait(lock, [&] { return ended() || !waiting_.empty(); });
    else if (waiting_.empty() && !wake_.wait_for(lock, pause, [&] { return ended() || !waiting_.empty(); })) {
      waiting_.swap(full_);
      pause = std::min(2 * pause, kLongest);
    }
    if (ended() || waiting_.empty())
      continue;
    const std::shared_ptr<ShadowQueue> queue = waiting_.front().lock();
    waiting_.pop_front();
    if (!queue)
      continue;
    // Taken out first: who rings from now on is either seen by `pass` or puts it in again.
    queue->waiting = false;
    lock.unlock();
    const bool lent = queue->lent();
    const bool rung = lent && queue->takeLentRing();
    const bool done = queue->pass();
    lock.lock();
    if (rung || (done && !lent))
      pause = kShortest;
    if ((lent || !done) && !queue->waiting.exchange(true))
      full_.push_back(queue);
  }
}

} // namespace luthier::hsa
