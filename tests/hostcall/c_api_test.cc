// The library as its users have it: through amd_hostcall.h, from libamd_hostcall.so. The producer is linked beside it.
#include "amd_hostcall.h"

#include "host_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <latch>
#include <set>
#include <string>

namespace luthier::hostcall {
namespace {

int increment(void *, uint32_t, uint64_t *payload) {
  ++payload[0];
  return 0;
}
int fail(void *, uint32_t, uint64_t *) { return 1; }

/// Services are never removed: every test has its own.
uint32_t newService() {
  static uint32_t last = 1000;
  return ++last;
}

struct LaunchedConsumer {
  amd_hostcall_consumer_t *handle = nullptr;
  LaunchedConsumer() {
    EXPECT_EQ(amd_hostcall_create_consumer(&handle), AMD_HOSTCALL_SUCCESS);
    EXPECT_EQ(amd_hostcall_launch_consumer(handle), AMD_HOSTCALL_SUCCESS);
  }
  ~LaunchedConsumer() {
    if (handle)
      EXPECT_EQ(amd_hostcall_destroy_consumer(handle), AMD_HOSTCALL_SUCCESS);
  }
};

TEST(CApi, CallIsAnswered) {
  const uint32_t service = newService();
  HostBuffer buffer(4);
  const LaunchedConsumer consumer;
  EXPECT_EQ(amd_hostcall_register_service(service, increment, nullptr), AMD_HOSTCALL_SUCCESS);
  EXPECT_EQ(amd_hostcall_register_buffer(consumer.handle, buffer.memory()), AMD_HOSTCALL_SUCCESS);
  EXPECT_EQ(callOneLane(buffer.view(), service, 5), 6u);
  EXPECT_EQ(amd_hostcall_deregister_buffer(consumer.handle, buffer.memory()), AMD_HOSTCALL_SUCCESS);
}

TEST(CApi, StateReachesTheHandler) {
  const uint32_t service = newService();
  uint32_t seen = 0;
  HostBuffer buffer(4);
  const LaunchedConsumer consumer;
  EXPECT_EQ(amd_hostcall_register_service(
                service,
                [](void *state, uint32_t requested, uint64_t *) {
                  *static_cast<uint32_t *>(state) = requested;
                  return 0;
                },
                &seen),
            AMD_HOSTCALL_SUCCESS);
  EXPECT_EQ(amd_hostcall_register_buffer(consumer.handle, buffer.memory()), AMD_HOSTCALL_SUCCESS);
  callOneLane(buffer.view(), service, 0);
  EXPECT_EQ(seen, service);
}

TEST(CApi, NullPointers) {
  HostBuffer buffer(1);
  const LaunchedConsumer consumer;
  EXPECT_EQ(amd_hostcall_create_consumer(nullptr), AMD_HOSTCALL_ERROR_NULLPTR);
  EXPECT_EQ(amd_hostcall_launch_consumer(nullptr), AMD_HOSTCALL_ERROR_NULLPTR);
  EXPECT_EQ(amd_hostcall_destroy_consumer(nullptr), AMD_HOSTCALL_ERROR_NULLPTR);
  EXPECT_EQ(amd_hostcall_initialize_buffer(nullptr, 1), AMD_HOSTCALL_ERROR_NULLPTR);
  EXPECT_EQ(amd_hostcall_register_buffer(nullptr, buffer.memory()), AMD_HOSTCALL_ERROR_NULLPTR);
  EXPECT_EQ(amd_hostcall_register_buffer(consumer.handle, nullptr), AMD_HOSTCALL_ERROR_NULLPTR);
  EXPECT_EQ(amd_hostcall_deregister_buffer(nullptr, buffer.memory()), AMD_HOSTCALL_ERROR_NULLPTR);
  EXPECT_EQ(amd_hostcall_deregister_buffer(consumer.handle, nullptr), AMD_HOSTCALL_ERROR_NULLPTR);
  EXPECT_EQ(amd_hostcall_register_service(newService(), nullptr, nullptr), AMD_HOSTCALL_ERROR_NULLPTR);
}

TEST(CApi, Buffers) {
  EXPECT_EQ(amd_hostcall_get_buffer_size(0), 0u);
  EXPECT_EQ(amd_hostcall_get_buffer_size(AMD_HOSTCALL_MAX_PACKETS + 1), 0u);
  EXPECT_EQ(amd_hostcall_get_buffer_size(10), 48 + 10 * 4120u);
  HostBuffer buffer(2);
  char *misaligned = static_cast<char *>(buffer.memory()) + 1;
  EXPECT_EQ(amd_hostcall_initialize_buffer(misaligned, 1), AMD_HOSTCALL_ERROR_INCORRECT_ALIGNMENT);
  EXPECT_EQ(amd_hostcall_initialize_buffer(buffer.memory(), 0), AMD_HOSTCALL_ERROR_INVALID_REQUEST);
  EXPECT_EQ(amd_hostcall_initialize_buffer(buffer.memory(), UINT32_MAX), AMD_HOSTCALL_ERROR_INVALID_REQUEST);
  const LaunchedConsumer one, two;
  EXPECT_EQ(amd_hostcall_register_buffer(one.handle, misaligned), AMD_HOSTCALL_ERROR_INCORRECT_ALIGNMENT);
  EXPECT_EQ(amd_hostcall_deregister_buffer(one.handle, buffer.memory()), AMD_HOSTCALL_ERROR_INVALID_REQUEST);
  EXPECT_EQ(amd_hostcall_register_buffer(one.handle, buffer.memory()), AMD_HOSTCALL_SUCCESS);
  EXPECT_EQ(amd_hostcall_register_buffer(one.handle, buffer.memory()), AMD_HOSTCALL_ERROR_INVALID_REQUEST);
  EXPECT_EQ(amd_hostcall_register_buffer(two.handle, buffer.memory()), AMD_HOSTCALL_ERROR_INVALID_REQUEST);
  EXPECT_EQ(amd_hostcall_initialize_buffer(buffer.memory(), 2), AMD_HOSTCALL_ERROR_INVALID_REQUEST);
  EXPECT_EQ(amd_hostcall_deregister_buffer(two.handle, buffer.memory()), AMD_HOSTCALL_ERROR_INVALID_REQUEST);
  EXPECT_EQ(amd_hostcall_deregister_buffer(one.handle, buffer.memory()), AMD_HOSTCALL_SUCCESS);
  EXPECT_EQ(amd_hostcall_initialize_buffer(buffer.memory(), 2), AMD_HOSTCALL_SUCCESS);
}

TEST(CApi, ConsumerLaunchedTwice) {
  const LaunchedConsumer consumer;
  EXPECT_EQ(amd_hostcall_launch_consumer(consumer.handle), AMD_HOSTCALL_ERROR_CONSUMER_ACTIVE);
}

TEST(CApi, ServiceRegisteredTwice) {
  const uint32_t service = newService();
  EXPECT_EQ(amd_hostcall_register_service(service, increment, nullptr), AMD_HOSTCALL_SUCCESS);
  EXPECT_EQ(amd_hostcall_register_service(service, increment, nullptr), AMD_HOSTCALL_ERROR_INVALID_REQUEST);
  EXPECT_EQ(amd_hostcall_register_service(1, increment, nullptr), AMD_HOSTCALL_ERROR_INVALID_REQUEST);
  EXPECT_EQ(amd_hostcall_register_service(2, increment, nullptr), AMD_HOSTCALL_ERROR_INVALID_REQUEST);
}

TEST(CApi, HandlerCannotDestroyItsConsumer) {
  const uint32_t service = newService();
  HostBuffer buffer(4);
  LaunchedConsumer consumer;
  EXPECT_EQ(amd_hostcall_register_service(
                service,
                [](void *state, uint32_t, uint64_t *payload) {
                  payload[0] = amd_hostcall_destroy_consumer(static_cast<amd_hostcall_consumer_t *>(state));
                  return 0;
                },
                consumer.handle),
            AMD_HOSTCALL_SUCCESS);
  EXPECT_EQ(amd_hostcall_register_buffer(consumer.handle, buffer.memory()), AMD_HOSTCALL_SUCCESS);
  EXPECT_EQ(callOneLane(buffer.view(), service, 99), uint64_t{AMD_HOSTCALL_ERROR_INVALID_REQUEST});
  EXPECT_EQ(callOneLane(buffer.view(), service, 99), uint64_t{AMD_HOSTCALL_ERROR_INVALID_REQUEST});
}

TEST(CApi, EveryErrorHasAText) {
  std::set<std::string> texts;
  for (int error = AMD_HOSTCALL_SUCCESS; error <= AMD_HOSTCALL_INTERNAL_ERROR; ++error)
    texts.insert(amd_hostcall_error_string(error));
  EXPECT_EQ(texts.size(), 9u);
  EXPECT_STREQ(amd_hostcall_error_string(-1), "unknown error");
  EXPECT_STREQ(amd_hostcall_error_string(9), "unknown error");
}

TEST(CApi, PrintfGoesToStdout) {
  HostBuffer buffer(4);
  const LaunchedConsumer consumer;
  EXPECT_EQ(amd_hostcall_register_buffer(consumer.handle, buffer.memory()), AMD_HOSTCALL_SUCCESS);
  testing::internal::CaptureStdout();
  wire::Payload payload = {};
  payload.slots[0][0] = wire::message::kBegin | wire::message::kEnd | 3 << wire::message::kLengthShift;
  memcpy(&payload.slots[0][2], "n = %d\n", 8);
  payload.slots[0][3] = 42;
  EXPECT_TRUE(produce(buffer.view(), wire::kPrintf, 1, payload));
  fflush(stdout);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "n = 42\n");
  EXPECT_EQ(payload.slots[0][0], 7u);
}

void callAndWaitForTheEnd(uint32_t service) {
  HostBuffer buffer(4);
  const LaunchedConsumer consumer;
  amd_hostcall_register_buffer(consumer.handle, buffer.memory());
  callOneLane(buffer.view(), service, 0);
}

class CApiDeathTest : public testing::Test {
protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(CApiDeathTest, UnknownServiceHalts) {
  EXPECT_EXIT(callAndWaitForTheEnd(77), testing::KilledBySignal(SIGABRT),
              "hostcall fatal error: no handler found for service 77");
}

TEST_F(CApiDeathTest, FailingHandlerHalts) {
  EXPECT_EXIT(
      {
        amd_hostcall_register_service(78, fail, nullptr);
        callAndWaitForTheEnd(78);
      },
      testing::KilledBySignal(SIGABRT), "hostcall fatal error: handler for service 78 returned failure");
}

TEST_F(CApiDeathTest, OnErrorIsCalledFirst) {
  EXPECT_EXIT(
      {
        amd_hostcall_on_error(
            [](void *state, int error) {
              fprintf(stderr, "%s: %s\n", static_cast<const char *>(state), amd_hostcall_error_string(error));
            },
            const_cast<char *>("callback"));
        callAndWaitForTheEnd(77);
      },
      testing::KilledBySignal(SIGABRT), "service 77\ncallback: no handler is registered for the service");
}

TEST_F(CApiDeathTest, OnErrorMayEndTheProcessItself) {
  EXPECT_EXIT(
      {
        amd_hostcall_on_error([](void *, int error) { _exit(100 + error); }, nullptr);
        callAndWaitForTheEnd(77);
      },
      testing::ExitedWithCode(100 + AMD_HOSTCALL_ERROR_SERVICE_UNKNOWN), "service 77");
}

TEST_F(CApiDeathTest, DebugSaysWhatHappens) {
  EXPECT_EXIT(
      {
        amd_hostcall_enable_debug();
        amd_hostcall_register_service(79, increment, nullptr);
        callAndWaitForTheEnd(79);
        _exit(0);
      },
      testing::ExitedWithCode(0),
      "launched\n.*serves buffer 0x[0-9a-f]+ with 4 packets\n.*hostcall: service 79 for lanes 0x1\n.*destroyed");
}

/// There will be no memory for another stack.
void limitMemory() {
  const rlimit none = {1, 1};
  setrlimit(RLIMIT_AS, &none);
}

TEST_F(CApiDeathTest, NoThreadIsAnError) {
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "a sanitizer needs the address space";
#endif
  EXPECT_EXIT(
      {
        amd_hostcall_consumer_t *consumer = nullptr;
        amd_hostcall_create_consumer(&consumer);
        limitMemory();
        _exit(100 + amd_hostcall_launch_consumer(consumer));
      },
      testing::ExitedWithCode(100 + AMD_HOSTCALL_ERROR_CONSUMER_LAUNCH_FAILED), "");
}

} // namespace
} // namespace luthier::hostcall
