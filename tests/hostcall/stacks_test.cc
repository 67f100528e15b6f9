#include "hostcall/stacks.h"

#include "host_buffer.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace luthier::hostcall {
namespace {

TEST(Stacks, PopsEachPacketOnce) {
  const HostBuffer buffer(5);
  std::set<wire::Header *> seen;
  for (int n = 0; n < 5; ++n)
    seen.insert(buffer.view().find(popFree(buffer.view())));
  EXPECT_EQ(seen.size(), 5u);
  EXPECT_FALSE(seen.contains(nullptr));
  EXPECT_EQ(popFree(buffer.view()), 0u);
}

TEST(Stacks, ReturnedPacketHasAnotherTag) {
  const HostBuffer buffer(4);
  const uint64_t first = popFree(buffer.view());
  pushFree(buffer.view(), first);
  const uint64_t second = popFree(buffer.view());
  EXPECT_EQ(second, first + 4);
  EXPECT_EQ(buffer.view().find(first), buffer.view().find(second));
}

TEST(Stacks, StalePopIsNoticed) {
  // A wave has read the top and its link; then others pop two packets and give the first one back.
  const HostBuffer buffer(4);
  uint64_t top = buffer.shared().freeStack;
  const uint64_t next = buffer.view().find(top)->next;
  const uint64_t a = popFree(buffer.view());
  const uint64_t b = popFree(buffer.view());
  EXPECT_EQ(a, top);
  EXPECT_EQ(b, next);
  pushFree(buffer.view(), a);
  // Without tags this would succeed, and hand out packet b a second time.
  EXPECT_FALSE(
      __atomic_compare_exchange_n(&buffer.shared().freeStack, &top, next, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE));
}

TEST(Stacks, TagWrapsAroundWithoutMakingANullPointer) {
  const HostBuffer buffer(4);
  const uint64_t last = UINT64_MAX - buffer.view().mask(); // packet 0 with the highest tag
  for (int n = 0; n < 4; ++n)
    popFree(buffer.view());
  pushFree(buffer.view(), last - 4);
  EXPECT_EQ(popFree(buffer.view()), last);
  pushFree(buffer.view(), last);
  EXPECT_EQ(popFree(buffer.view()), 4u) << "not 0, which is the null pointer";
  pushFree(buffer.view(), last | 1);
  EXPECT_EQ(popFree(buffer.view()), 1u) << "tag 0 is fine for the others";
}

TEST(Stacks, OnePacketIsEnough) {
  const HostBuffer buffer(1);
  for (uint64_t tag = 1; tag < 10; ++tag) {
    EXPECT_EQ(popFree(buffer.view()), tag);
    EXPECT_EQ(popFree(buffer.view()), 0u);
    pushFree(buffer.view(), tag);
  }
}

TEST(Stacks, ThreadsNeverShareAPacket) {
  const HostBuffer buffer(3);
  std::vector<std::thread> threads;
  std::atomic<int> shared = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int n = 0; n < 20000; ++n) {
        const uint64_t pointer = popFree(buffer.view());
        if (!pointer)
          continue;
        wire::Header &header = *buffer.view().find(pointer);
        if (__atomic_exchange_n(&header.service, 1, __ATOMIC_ACQ_REL) != 0)
          ++shared;
        __atomic_store_n(&header.service, 0, __ATOMIC_RELEASE);
        pushFree(buffer.view(), pointer);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(shared, 0);
  int free = 0;
  while (popFree(buffer.view()))
    ++free;
  EXPECT_EQ(free, 3);
}

TEST(Stacks, ReadyPacketsAreTakenLatestFirst) {
  const HostBuffer buffer(4);
  EXPECT_EQ(takeReady(buffer.view()), 0u);
  pushReady(buffer.view(), 1);
  pushReady(buffer.view(), 3);
  Chain chain(buffer.view(), takeReady(buffer.view()));
  EXPECT_EQ(chain.next(), &buffer.header(3));
  EXPECT_EQ(chain.rest(), 1u);
  EXPECT_EQ(chain.next(), &buffer.header(1));
  EXPECT_EQ(chain.next(), nullptr);
  EXPECT_EQ(chain.end(), Chain::End::Null);
  EXPECT_EQ(takeReady(buffer.view()), 0u);
}

TEST(Stacks, HandedBackInFrontOfWhatCameSince) {
  const HostBuffer buffer(4);
  pushReady(buffer.view(), 1);
  pushReady(buffer.view(), 2);
  const uint64_t taken = takeReady(buffer.view());
  pushReady(buffer.view(), 3);
  EXPECT_TRUE(handBack(buffer.view(), taken));
  Chain chain(buffer.view(), takeReady(buffer.view()));
  EXPECT_EQ(chain.next(), &buffer.header(2));
  EXPECT_EQ(chain.next(), &buffer.header(1));
  EXPECT_EQ(chain.next(), &buffer.header(3));
  EXPECT_EQ(chain.next(), nullptr);
  EXPECT_TRUE(handBack(buffer.view(), 0));
  EXPECT_EQ(takeReady(buffer.view()), 0u);
}

TEST(Chain, LinkOutOfRangeEndsIt) {
  const HostBuffer buffer(3);
  buffer.header(1).next = 3;
  Chain chain(buffer.view(), 1);
  EXPECT_EQ(chain.next(), &buffer.header(1));
  EXPECT_EQ(chain.next(), nullptr);
  EXPECT_EQ(chain.end(), Chain::End::OutOfRange);
  EXPECT_FALSE(handBack(buffer.view(), 1));
  EXPECT_EQ(takeReady(buffer.view()), 0u);
}

TEST(Chain, CircleEnds) {
  const HostBuffer buffer(3);
  buffer.header(1).next = 2;
  buffer.header(2).next = 1;
  Chain chain(buffer.view(), 1);
  int packets = 0;
  while (chain.next())
    ++packets;
  EXPECT_EQ(packets, 3);
  EXPECT_EQ(chain.end(), Chain::End::Endless);
  EXPECT_FALSE(handBack(buffer.view(), 1));
}

} // namespace
} // namespace luthier::hostcall
