// Buffers that a device has overwritten: the consumer says so and lives. tests/fuzz/fuzz_hostcall.cc tries more.
#include "consumer_fixture.h"

#include "hostcall/stacks.h"

#include <thread>

namespace luthier::hostcall {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Damages a buffer with one ready packet, number 1, lets a consumer look at it, and checks that the consumer lives.
class DamageTest : public ConsumerTest {
protected:
  std::vector<ErrorReport> errorsAfter(const std::function<void(HostBuffer &)> &damage) {
    serveIncrement();
    HostBuffer buffer(3), intact(2);
    buffer.header(1) = {.next = 0, .activeMask = 1, .service = 42, .control = wire::kReady};
    pushReady(buffer.view(), 1);
    damage(buffer);
    auto consumer = launchConsumer();
    EXPECT_TRUE(consumer->registerBuffer(buffer.memory()));
    EXPECT_TRUE(consumer->registerBuffer(intact.memory()));
    EXPECT_EQ(callOneLane(intact.view(), 42, 1), 2u);
    // Once a later request is answered, the damaged chain has been left behind.
    while (__atomic_load_n(&buffer.shared().readyStack, __ATOMIC_ACQUIRE) != 0)
      std::this_thread::yield();
    EXPECT_TRUE(consumer->deregisterBuffer(buffer.memory()));
    return errors();
  }
};

TEST_F(DamageTest, IndexOutOfRange) {
  EXPECT_THAT(errorsAfter([](HostBuffer &buffer) { buffer.shared().readyStack = 3; }),
              ElementsAre(isError(AMD_HOSTCALL_ERROR_INVALID_REQUEST, "packet 3 of 3")));
}
TEST_F(DamageTest, GarbageInNext) {
  EXPECT_THAT(errorsAfter([](HostBuffer &buffer) { buffer.header(1).next = 0xdeadbeefdeadbeef; }),
              ElementsAre(isError(AMD_HOSTCALL_ERROR_INVALID_REQUEST, "packet 3 of 3")));
}
TEST_F(DamageTest, CircleOfLinks) {
  EXPECT_THAT(errorsAfter([](HostBuffer &buffer) { buffer.header(1).next = 1; }),
              ElementsAre(isError(AMD_HOSTCALL_ERROR_INVALID_REQUEST, "is not ready")));
}
TEST_F(DamageTest, NotReady) {
  EXPECT_THAT(errorsAfter([](HostBuffer &buffer) { buffer.header(1).control = 0; }),
              ElementsAre(isError(AMD_HOSTCALL_ERROR_INVALID_REQUEST, "is not ready")));
}
TEST_F(DamageTest, UnknownService) {
  EXPECT_THAT(errorsAfter([](HostBuffer &buffer) { buffer.header(1).service = 0xdeadbeef; }),
              ElementsAre(isError(AMD_HOSTCALL_ERROR_SERVICE_UNKNOWN, "service 3735928559")));
}
TEST_F(DamageTest, NoActiveLanes) {
  EXPECT_THAT(errorsAfter([](HostBuffer &buffer) { buffer.header(1).activeMask = 0; }), IsEmpty());
}
TEST_F(DamageTest, PointersAfterRegistration) {
  // The consumer's own copy counts.
  serveIncrement();
  HostBuffer buffer(3);
  auto consumer = launchConsumer();
  ASSERT_TRUE(consumer->registerBuffer(buffer.memory()));
  buffer.shared().headers = 0x10;
  buffer.shared().payloads = 0x20;
  buffer.shared().indexMask = UINT64_MAX;
  EXPECT_EQ(callOneLane(buffer.view(), 42, 1), 2u);
}

} // namespace
} // namespace luthier::hostcall
