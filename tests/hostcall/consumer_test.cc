// The consumer and threads of the host that play waves.
#include "consumer_fixture.h"

#include "hostcall/stacks.h"

#include <gmock/gmock.h>

#include <bit>
#include <cstring>
#include <latch>
#include <map>
#include <thread>

namespace luthier::hostcall {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(ConsumerTest, OneLaneGetsAnAnswer) {
  serveIncrement();
  HostBuffer buffer(1);
  auto consumer = launchConsumer();
  ASSERT_TRUE(consumer->registerBuffer(buffer.memory()));
  for (unsigned lane : {0u, 1u, 31u, 32u, 63u})
    EXPECT_EQ(callOneLane(buffer.view(), 42, 100, lane), 101u);
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(ConsumerTest, OnlyActiveLanesAreServed) {
  std::vector<uint64_t> seen;
  serve(42, [&](uint32_t, uint64_t *payload) {
    seen.push_back(payload[7]);
    payload[0] = payload[7] * 2;
    payload[1] = payload[7] * 3;
    payload[2] = 0xbad; // no answer
    return 0;
  });
  HostBuffer buffer(4);
  auto consumer = launchConsumer();
  ASSERT_TRUE(consumer->registerBuffer(buffer.memory()));
  wire::Payload payload;
  for (unsigned lane = 0; lane < 64; ++lane)
    for (unsigned word = 0; word < 8; ++word)
      payload.slots[lane][word] = lane * 10 + word;
  ASSERT_TRUE(produce(buffer.view(), 42, 0x8421, payload));
  EXPECT_THAT(seen, ElementsAre(7, 57, 107, 157)); // once per lane, from the lowest up
  for (unsigned lane = 0; lane < 64; ++lane) {
    const bool active = uint64_t{0x8421} >> lane & 1;
    EXPECT_EQ(payload.slots[lane][0], active ? (lane * 10 + 7) * 2 : lane * 10) << lane;
    EXPECT_EQ(payload.slots[lane][1], active ? (lane * 10 + 7) * 3 : lane * 10 + 1) << lane;
    EXPECT_EQ(payload.slots[lane][2], lane * 10 + 2) << lane;
  }
}

TEST_F(ConsumerTest, ServesWhatWasThereBeforeIt) {
  serveIncrement();
  HostBuffer buffer(2);
  std::thread producer([&] { EXPECT_EQ(callOneLane(buffer.view(), 42, 1), 2u); });
  while (__atomic_load_n(&buffer.shared().readyStack, __ATOMIC_ACQUIRE) == 0)
    std::this_thread::yield();
  auto consumer = makeConsumer();
  ASSERT_TRUE(consumer->registerBuffer(buffer.memory()));
  ASSERT_TRUE(consumer->launch());
  producer.join();
}

TEST_F(ConsumerTest, LostDoorbellIsNoHang) {
  serveIncrement();
  HostBuffer buffer(2);
  auto consumer = launchConsumer();
  ASSERT_TRUE(consumer->registerBuffer(buffer.memory()));
  __atomic_store_n(&buffer.shared().doorbell, 0, __ATOMIC_RELEASE); // producers do not ring
  for (uint64_t n = 0; n < 20; ++n)
    EXPECT_EQ(callOneLane(buffer.view(), 42, n), n + 1);
}

TEST_F(ConsumerTest, DoorbellValueDoesNotStopIt) {
  // The original's consumer took certain values for an order to stop, or never saw it.
  serveIncrement();
  HostBuffer buffer(2);
  alignas(64) wire::Signal signal;
  auto consumer = launchConsumer(&signal);
  ASSERT_TRUE(consumer->registerBuffer(buffer.memory()));
  for (uint64_t value : {uint64_t{0}, UINT64_MAX, uint64_t{1}, uint64_t{1} << 63, UINT64_MAX - 1}) {
    __atomic_store_n(&signal.value, value, __ATOMIC_RELEASE);
    EXPECT_EQ(callOneLane(buffer.view(), 42, 5), 6u);
  }
}

TEST_F(ConsumerTest, ThousandProducers) {
  serveIncrement();
  HostBuffer buffer(256);
  auto consumer = launchConsumer();
  ASSERT_TRUE(consumer->registerBuffer(buffer.memory()));
  std::vector<std::thread> producers;
  for (uint64_t n = 0; n < 1000; ++n)
    producers.emplace_back([&, n] {
      for (uint64_t call = 0; call < 3; ++call)
        EXPECT_EQ(callOneLane(buffer.view(), 42, n * call, n % 64), n * call + 1);
    });
  for (std::thread &producer : producers)
    producer.join();
  int free = 0;
  while (popFree(buffer.view()))
    ++free;
  EXPECT_EQ(free, 256);
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(ConsumerTest, TagsWrapAroundUnderLoad) {
  serveIncrement();
  HostBuffer buffer(3);
  // All packets with tags that are about to wrap around.
  const uint64_t high = UINT64_MAX - buffer.view().mask() - 4 * 20;
  for (int n = 0; n < 3; ++n)
    popFree(buffer.view());
  for (uint64_t n = 0; n < 3; ++n)
    pushFree(buffer.view(), high | n);
  auto consumer = launchConsumer();
  ASSERT_TRUE(consumer->registerBuffer(buffer.memory()));
  std::vector<std::thread> producers;
  for (int t = 0; t < 4; ++t)
    producers.emplace_back([&] {
      for (uint64_t n = 0; n < 200; ++n)
        EXPECT_EQ(callOneLane(buffer.view(), 42, n), n + 1);
    });
  for (std::thread &producer : producers)
    producer.join();
  EXPECT_LT(buffer.shared().freeStack, high);
}

TEST_F(ConsumerTest, DefaultHandlerGetsWhatHasNone) {
  serveIncrement();
  serve(0, [](uint32_t service, uint64_t *payload) {
    payload[0] = service;
    return 0;
  });
  HostBuffer buffer(2);
  auto consumer = launchConsumer();
  ASSERT_TRUE(consumer->registerBuffer(buffer.memory()));
  EXPECT_EQ(callOneLane(buffer.view(), 42, 1), 2u);
  EXPECT_EQ(callOneLane(buffer.view(), 43, 1), 43u);
  EXPECT_EQ(callOneLane(buffer.view(), 0, 1), 0u);
  EXPECT_EQ(callOneLane(buffer.view(), UINT32_MAX, 1), UINT32_MAX);
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(ConsumerTest, UnknownServiceIsFatal) {
  HostBuffer buffer(2);
  auto consumer = launchConsumer();
  ASSERT_TRUE(consumer->registerBuffer(buffer.memory()));
  EXPECT_EQ(callOneLane(buffer.view(), 4711, 5), 5u);
  EXPECT_THAT(errors(), ElementsAre(isError(AMD_HOSTCALL_ERROR_SERVICE_UNKNOWN,
                                            "hostcall fatal error: no handler found for service 4711")));
}

TEST_F(ConsumerTest, FailingHandlerIsFatal) {
  serve(42, [](uint32_t, uint64_t *payload) { return payload[0] == 13 ? 1 : 0; });
  HostBuffer buffer(2);
  auto consumer = launchConsumer();
  ASSERT_TRUE(consumer->registerBuffer(buffer.memory()));
  EXPECT_EQ(callOneLane(buffer.view(), 42, 12), 12u);
  EXPECT_THAT(errors(), IsEmpty());
  EXPECT_EQ(callOneLane(buffer.view(), 42, 13), 13u);
  EXPECT_THAT(errors(), ElementsAre(isError(AMD_HOSTCALL_INTERNAL_ERROR,
                                            "hostcall fatal error: handler for service 42 returned failure")));
}

TEST_F(ConsumerTest, ServiceRegisteredWhileRunning) {
  HostBuffer buffer(2);
  auto consumer = launchConsumer();
  ASSERT_TRUE(consumer->registerBuffer(buffer.memory()));
  serveIncrement(50);
  EXPECT_EQ(callOneLane(buffer.view(), 50, 5), 6u);
}

void addAll(uint64_t *output, const uint64_t *input) {
  output[0] = input[0] + input[1] + input[2] + input[3] + input[4] + input[5] + input[6];
  output[1] = input[6];
}

TEST_F(ConsumerTest, FunctionCall) {
  HostBuffer buffer(2);
  auto consumer = launchConsumer();
  ASSERT_TRUE(consumer->registerBuffer(buffer.memory()));
  wire::Payload payload = {};
  payload.slots[3][0] = reinterpret_cast<uintptr_t>(&addAll);
  for (unsigned n = 1; n < 8; ++n)
    payload.slots[3][n] = uint64_t{1} << n;
  ASSERT_TRUE(produce(buffer.view(), wire::kFunctionCall, 1 << 3, payload));
  EXPECT_EQ(payload.slots[3][0], 254u);
  EXPECT_EQ(payload.slots[3][1], 128u);
  EXPECT_EQ(callOneLane(buffer.view(), wire::kFunctionCall, 0), 0u);
  EXPECT_THAT(errors(), ElementsAre(isError(AMD_HOSTCALL_INTERNAL_ERROR, "handler for service 1 returned failure")));
}

/// One packet of a printf: descriptor, then data.
uint64_t sendPart(const BufferView &buffer, uint64_t descriptor, const std::vector<uint64_t> &words) {
  wire::Payload payload = {};
  payload.slots[0][0] = descriptor | words.size() << wire::message::kLengthShift;
  std::copy(words.begin(), words.end(), payload.slots[0] + 1);
  EXPECT_TRUE(produce(buffer, wire::kPrintf, 1, payload));
  return payload.slots[0][0];
}

uint64_t wordOf(const char (&text)[9]) {
  uint64_t word;
  memcpy(&word, text, 8);
  return word;
}

TEST_F(ConsumerTest, PrintfInParts) {
  HostBuffer buffer(2);
  auto consumer = launchConsumer();
  ASSERT_TRUE(consumer->registerBuffer(buffer.memory()));
  uint64_t descriptor = sendPart(buffer.view(), wire::message::kBegin, {wire::kStdout, wordOf("n is %d\n")});
  descriptor = sendPart(buffer.view(), descriptor & ~uint64_t{0xe0}, {0});
  EXPECT_EQ(sendPart(buffer.view(), (descriptor & ~uint64_t{0xe0}) | wire::message::kEnd, {1234}), 10u);
  EXPECT_EQ(standardOutput(), "n is 1234\n");
  EXPECT_EQ(sendPart(buffer.view(), 3, {wire::kStderr, wordOf("sorry!\n\0")}), 7u);
  EXPECT_EQ(standardError(), "sorry!\n");
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(ConsumerTest, DamagedMessagesAreSurvived) {
  HostBuffer buffer(2);
  auto consumer = launchConsumer();
  ASSERT_TRUE(consumer->registerBuffer(buffer.memory()));
  EXPECT_EQ(sendPart(buffer.view(), uint64_t{77} << 8, {1}), UINT64_MAX); // no such message
  EXPECT_EQ(sendPart(buffer.view(), 3, {}), UINT64_MAX);                  // empty
  EXPECT_EQ(sendPart(buffer.view(), 3, {0, UINT64_MAX}), UINT64_MAX);     // a format without end
  EXPECT_EQ(sendPart(buffer.view(), 3, {9, 0}), UINT64_MAX);              // a stream that does not exist
  EXPECT_THAT(errors(), SizeIs(4));
  for (const ErrorReport &error : errors())
    EXPECT_EQ(error.code, AMD_HOSTCALL_ERROR_INVALID_REQUEST);
  EXPECT_EQ(sendPart(buffer.view(), 3, {0, wordOf("alive!\n\0")}), 7u);
}

TEST_F(ConsumerTest, MessagesBelongToTheirConsumer) {
  HostBuffer first(1), second(1);
  auto one = launchConsumer(), two = launchConsumer();
  ASSERT_TRUE(one->registerBuffer(first.memory()));
  ASSERT_TRUE(two->registerBuffer(second.memory()));
  const uint64_t a = sendPart(first.view(), 1, {0, wordOf("first!\n\0")});
  EXPECT_EQ(sendPart(second.view(), (a & ~uint64_t{0xe0}) | 2, {}), UINT64_MAX);
  EXPECT_EQ(sendPart(first.view(), (a & ~uint64_t{0xe0}) | 2, {}), 7u);
  EXPECT_EQ(standardOutput(), "first!\n");
}

TEST_F(ConsumerTest, TwoConsumersServeTheirOwn) {
  std::mutex mutex;
  std::map<uint64_t, std::set<std::thread::id>> threads;
  serve(42, [&](uint32_t, uint64_t *payload) {
    std::lock_guard lock(mutex);
    threads[payload[0]].insert(std::this_thread::get_id());
    return 0;
  });
  HostBuffer first(4), second(4);
  auto one = launchConsumer(), two = launchConsumer();
  ASSERT_TRUE(one->registerBuffer(first.memory()));
  ASSERT_TRUE(two->registerBuffer(second.memory()));
  std::thread other([&] {
    for (int n = 0; n < 100; ++n)
      callOneLane(first.view(), 42, 1);
  });
  for (int n = 0; n < 100; ++n)
    callOneLane(second.view(), 42, 2);
  other.join();
  EXPECT_EQ(threads[1].size(), 1u);
  EXPECT_EQ(threads[2].size(), 1u);
  EXPECT_NE(threads[1], threads[2]);
}

TEST_F(ConsumerTest, BlockedHandlerStallsOnlyItsOwnConsumer) {
  std::latch blocked(1), release(1);
  serve(42, [&](uint32_t, uint64_t *) {
    blocked.count_down();
    release.wait();
    return 0;
  });
  serveIncrement(43);
  HostBuffer first(2), second(2), third(2);
  auto one = launchConsumer(), two = launchConsumer();
  ASSERT_TRUE(one->registerBuffer(first.memory()));
  ASSERT_TRUE(two->registerBuffer(second.memory()));
  std::thread waits([&] { callOneLane(first.view(), 42, 0); });
  blocked.wait();
  // The other consumer works, and so does the API, for the stalled consumer too.
  for (uint64_t n = 0; n < 1000; ++n)
    EXPECT_EQ(callOneLane(second.view(), 43, n), n + 1);
  EXPECT_TRUE(one->registerBuffer(third.memory()));
  EXPECT_TRUE(one->deregisterBuffer(third.memory()));
  serveIncrement(44);
  EXPECT_EQ(callOneLane(second.view(), 44, 1), 2u);
  release.count_down();
  waits.join();
}

TEST_F(ConsumerTest, BuffersBelongToOneConsumer) {
  HostBuffer buffer(2);
  auto one = makeConsumer(), two = makeConsumer();
  EXPECT_TRUE(one->registerBuffer(buffer.memory()));
  EXPECT_EQ(one->registerBuffer(buffer.memory()).error().code(), AMD_HOSTCALL_ERROR_INVALID_REQUEST);
  EXPECT_EQ(two->registerBuffer(buffer.memory()).error().code(), AMD_HOSTCALL_ERROR_INVALID_REQUEST);
  EXPECT_EQ(two->deregisterBuffer(buffer.memory()).error().code(), AMD_HOSTCALL_ERROR_INVALID_REQUEST);
  EXPECT_TRUE(one->deregisterBuffer(buffer.memory()));
  EXPECT_EQ(one->deregisterBuffer(buffer.memory()).error().code(), AMD_HOSTCALL_ERROR_INVALID_REQUEST);
  EXPECT_TRUE(two->registerBuffer(buffer.memory()));
  two.reset();
  EXPECT_TRUE(one->registerBuffer(buffer.memory())) << "a destroyed consumer has no buffers";
}

TEST_F(ConsumerTest, RefusesWhatIsNoBuffer) {
  HostBuffer buffer(2);
  auto consumer = makeConsumer();
  EXPECT_EQ(consumer->registerBuffer(nullptr).error().code(), AMD_HOSTCALL_ERROR_NULLPTR);
  EXPECT_EQ(consumer->deregisterBuffer(nullptr).error().code(), AMD_HOSTCALL_ERROR_NULLPTR);
  EXPECT_EQ(consumer->registerBuffer(static_cast<char *>(buffer.memory()) + 1).error().code(),
            AMD_HOSTCALL_ERROR_INCORRECT_ALIGNMENT);
  buffer.shared().indexMask = 77;
  EXPECT_EQ(consumer->registerBuffer(buffer.memory()).error().code(), AMD_HOSTCALL_ERROR_INVALID_REQUEST);
  buffer.shared().indexMask = 1;
  EXPECT_TRUE(consumer->registerBuffer(buffer.memory())) << "what was refused is not taken";
}

TEST_F(ConsumerTest, LaunchedOnce) {
  auto consumer = makeConsumer();
  EXPECT_TRUE(consumer->launch());
  EXPECT_EQ(consumer->launch().error().code(), AMD_HOSTCALL_ERROR_CONSUMER_ACTIVE);
}

TEST_F(ConsumerTest, NeverLaunchedIsDestroyed) {
  HostBuffer buffer(2);
  auto consumer = makeConsumer();
  EXPECT_TRUE(consumer->registerBuffer(buffer.memory()));
}

TEST_F(ConsumerTest, BufferMovesBetweenConsumersUnderLoad) {
  serveIncrement();
  HostBuffer buffer(8);
  auto one = launchConsumer(), two = launchConsumer();
  std::atomic<bool> done = false;
  std::vector<std::thread> producers;
  for (int t = 0; t < 3; ++t)
    producers.emplace_back([&] {
      for (uint64_t n = 0; n < 2000; ++n)
        EXPECT_EQ(callOneLane(buffer.view(), 42, n), n + 1);
    });
  std::thread mover([&] {
    while (!done) {
      ASSERT_TRUE(one->registerBuffer(buffer.memory()));
      std::this_thread::yield();
      ASSERT_TRUE(one->deregisterBuffer(buffer.memory()));
      ASSERT_TRUE(two->registerBuffer(buffer.memory()));
      std::this_thread::yield();
      ASSERT_TRUE(two->deregisterBuffer(buffer.memory()));
    }
    ASSERT_TRUE(one->registerBuffer(buffer.memory()));
  });
  for (std::thread &producer : producers)
    producer.join();
  done = true;
  mover.join();
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(ConsumerTest, BuffersComeAndGoWhileOthersAreServed) {
  serveIncrement();
  HostBuffer steady(4);
  auto consumer = launchConsumer();
  ASSERT_TRUE(consumer->registerBuffer(steady.memory()));
  std::thread producer([&] {
    for (uint64_t n = 0; n < 3000; ++n)
      EXPECT_EQ(callOneLane(steady.view(), 42, n), n + 1);
  });
  for (uint64_t n = 0; n < 200; ++n) {
    HostBuffer passing(2);
    ASSERT_TRUE(consumer->registerBuffer(passing.memory()));
    EXPECT_EQ(callOneLane(passing.view(), 42, n), n + 1);
    ASSERT_TRUE(consumer->deregisterBuffer(passing.memory()));
    passing.release(); // at once
  }
  producer.join();
}

TEST_F(ConsumerTest, DestroyedUnderLoadAndReplaced) {
  serveIncrement();
  HostBuffer buffer(4);
  std::vector<std::thread> producers;
  std::atomic<int> running = 3;
  for (int t = 0; t < 3; ++t)
    producers.emplace_back([&] {
      for (uint64_t n = 0; n < 1000; ++n)
        EXPECT_EQ(callOneLane(buffer.view(), 42, n), n + 1);
      --running;
    });
  // Producers ring the doorbells of consumers that are gone; no request is lost.
  while (running) {
    auto consumer = launchConsumer();
    ASSERT_TRUE(consumer->registerBuffer(buffer.memory()));
    std::this_thread::yield();
  }
  for (std::thread &producer : producers)
    producer.join();
}

TEST_F(ConsumerTest, DeregisterWaitsForTheHandler) {
  std::latch inHandler(1);
  std::atomic<bool> handlerDone = false;
  serve(42, [&](uint32_t, uint64_t *) {
    inHandler.count_down();
    std::this_thread::sleep_for(std::chrono::milliseconds(20)); // gives deregistering time to be wrong
    handlerDone = true;
    return 0;
  });
  HostBuffer buffer(2);
  auto consumer = launchConsumer();
  ASSERT_TRUE(consumer->registerBuffer(buffer.memory()));
  std::thread producer([&] { callOneLane(buffer.view(), 42, 0); });
  inHandler.wait();
  ASSERT_TRUE(consumer->deregisterBuffer(buffer.memory()));
  EXPECT_TRUE(handlerDone);
  producer.join(); // the packet that was being served is answered
}

TEST_F(ConsumerTest, HandlersCallTheApi) {
  HostBuffer buffer(4), second(4), third(4);
  auto consumer = launchConsumer();
  auto other = launchConsumer();
  serve(42, [&](uint32_t, uint64_t *payload) {
    EXPECT_TRUE(consumer->isCurrentThread());
    EXPECT_FALSE(other->isCurrentThread());
    serveIncrement(100 + static_cast<uint32_t>(payload[0]));
    EXPECT_EQ(consumer->launch().error().code(), AMD_HOSTCALL_ERROR_CONSUMER_ACTIVE);
    EXPECT_TRUE(consumer->registerBuffer(second.memory()));
    EXPECT_TRUE(consumer->registerBuffer(third.memory()));
    EXPECT_TRUE(consumer->deregisterBuffer(third.memory()));
    EXPECT_TRUE(other->registerBuffer(third.memory()));
    auto passing = launchConsumer();
    passing.reset();
    return 0;
  });
  ASSERT_TRUE(consumer->registerBuffer(buffer.memory()));
  EXPECT_EQ(callOneLane(buffer.view(), 42, 7), 7u);
  EXPECT_EQ(callOneLane(buffer.view(), 107, 1), 2u);
  EXPECT_EQ(callOneLane(second.view(), 107, 2), 3u);
  EXPECT_EQ(callOneLane(third.view(), 107, 3), 4u);
}

TEST_F(ConsumerTest, HandlerDeregistersAndFreesItsOwnBuffer) {
  auto buffer = std::make_unique<HostBuffer>(4);
  HostBuffer other(2);
  auto consumer = launchConsumer();
  std::latch freed(1);
  serve(42, [&](uint32_t, uint64_t *) {
    EXPECT_TRUE(consumer->deregisterBuffer(buffer->memory()));
    buffer.reset();
    freed.count_down();
    return 0;
  });
  serveIncrement(43);
  ASSERT_TRUE(consumer->registerBuffer(other.memory()));
  // Pushed by hand: who would wait for the answer would wait in freed memory. Two lanes: the second is not served.
  wire::Header &header = buffer->header(1);
  header.service = 42;
  header.activeMask = 3;
  header.control = wire::kReady;
  pushReady(buffer->view(), 1);
  ASSERT_TRUE(consumer->registerBuffer(buffer->memory()));
  freed.wait();
  EXPECT_EQ(callOneLane(other.view(), 43, 1), 2u);
}

TEST_F(ConsumerTest, RequestsBehindADeregisteringHandlerAreKept) {
  HostBuffer buffer(4);
  auto consumer = launchConsumer();
  std::latch done(1);
  serve(42, [&](uint32_t, uint64_t *) {
    EXPECT_TRUE(consumer->deregisterBuffer(buffer.memory()));
    done.count_down();
    return 0;
  });
  serveIncrement(43);
  const auto prepare = [&](uint32_t index, uint32_t service) {
    buffer.header(index) = {.next = 0, .activeMask = 1, .service = service, .control = wire::kReady};
    pushReady(buffer.view(), index);
  };
  prepare(1, 43);
  prepare(2, 42); // is served first
  ASSERT_TRUE(consumer->registerBuffer(buffer.memory()));
  done.wait();
  auto next = launchConsumer();
  ASSERT_TRUE(next->registerBuffer(buffer.memory()));
  while (__atomic_load_n(&buffer.header(1).control, __ATOMIC_ACQUIRE) & wire::kReady)
    std::this_thread::yield();
  EXPECT_EQ(buffer.view().payload(buffer.header(1)).slots[0][0], 1u);
  EXPECT_TRUE(__atomic_load_n(&buffer.header(2).control, __ATOMIC_ACQUIRE) & wire::kReady);
}

} // namespace
} // namespace luthier::hostcall
