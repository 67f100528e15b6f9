#include "vgpu/driver/events.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace luthier::vgpu {
namespace {

struct Events : testing::Test {
  std::vector<uint64_t> mailboxes = std::vector<uint64_t>(EventTable::kMaxSignalEvents);
  EventTable table{mailboxes.data()};

  HsaEvent *make(bool manualReset = false, bool set = false, HSA_EVENTTYPE type = HSA_EVENTTYPE_SIGNAL) {
    HsaEventDescriptor descriptor{};
    descriptor.EventType = type;
    HsaEvent *event = nullptr;
    EXPECT_EQ(table.create(descriptor, manualReset, set, &event), HSAKMT_STATUS_SUCCESS);
    return event;
  }
  HSAKMT_STATUS wait(HsaEvent *event, uint32_t milliseconds) {
    return table.wait(std::span<HsaEvent *const>(&event, 1), true, milliseconds);
  }
};

TEST_F(Events, autoResetIsConsumedByOneWait) {
  HsaEvent *event = make(false, true);
  EXPECT_EQ(wait(event, 0), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(wait(event, 0), HSAKMT_STATUS_WAIT_TIMEOUT);
}

TEST_F(Events, manualResetStaysSetUntilReset) {
  HsaEvent *event = make(true);
  table.set(event);
  EXPECT_EQ(wait(event, 0), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(wait(event, 0), HSAKMT_STATUS_SUCCESS);
  table.reset(event);
  EXPECT_EQ(wait(event, 1), HSAKMT_STATUS_WAIT_TIMEOUT);
}

TEST_F(Events, timeoutTakesItsTime) {
  HsaEvent *event = make();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(wait(event, 30), HSAKMT_STATUS_WAIT_TIMEOUT);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(29));
}

TEST_F(Events, settingReleasesEveryWaiterAndThenIsNotSet) {
  HsaEvent *event = make();
  std::atomic<int> released = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      if (wait(event, HSA_EVENTTIMEOUT_INFINITE) == HSAKMT_STATUS_SUCCESS)
        ++released;
    });
  // A thread that is not waiting yet finds the event unset, so set it until all are through.
  while (released < 3) {
    table.signal(event->EventId);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(Events, waitForAnyAndForAll) {
  HsaEvent *events[] = {make(), make(), make()};
  table.set(events[1]);
  EXPECT_EQ(table.wait(events, true, 1), HSAKMT_STATUS_WAIT_TIMEOUT);
  EXPECT_EQ(table.wait(events, false, 0), HSAKMT_STATUS_SUCCESS);
  for (HsaEvent *event : events)
    table.set(event);
  EXPECT_EQ(table.wait(events, true, 0), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(table.wait(events, false, 0), HSAKMT_STATUS_WAIT_TIMEOUT);
}

TEST_F(Events, destroyReleasesWaiters) {
  HsaEvent *event = make();
  HsaEvent *other = make();
  std::thread destroyer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    table.destroy(event);
  });
  HsaEvent *events[] = {other, event};
  EXPECT_EQ(table.wait(events, false, 5000), HSAKMT_STATUS_ERROR);
  destroyer.join();
}

TEST_F(Events, idsAreUsedAgainAndRunOut) {
  HsaEvent *first = make();
  const uint32_t id = first->EventId;
  EXPECT_NE(id, 0u);
  table.destroy(first);
  EXPECT_EQ(make()->EventId, id);
  HsaEventDescriptor descriptor{};
  HsaEvent *event = nullptr;
  uint32_t made = 1;
  while (table.create(descriptor, false, false, &event) == HSAKMT_STATUS_SUCCESS)
    ++made;
  EXPECT_EQ(made, EventTable::kMaxSignalEvents - 1);
}

TEST_F(Events, interruptFindsEventByMailbox) {
  std::vector<HsaEvent *> events;
  for (int i = 0; i < 600; ++i)
    events.push_back(make());
  HsaEvent *meant = events[500];
  HsaEvent *sameLowBits = events[500 - 256];
  ASSERT_EQ(meant->EventId & 0xff, sameLowBits->EventId & 0xff);
  *reinterpret_cast<uint64_t *>(meant->EventData.HWData2) = meant->EventId;
  table.interrupt(meant->EventId & 0xff);
  EXPECT_EQ(wait(sameLowBits, 0), HSAKMT_STATUS_WAIT_TIMEOUT);
  EXPECT_EQ(wait(meant, 0), HSAKMT_STATUS_SUCCESS);
  table.interrupt(meant->EventId & 0xff); // no mailbox: better one too many
  EXPECT_EQ(wait(meant, 0), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(wait(sameLowBits, 0), HSAKMT_STATUS_SUCCESS);
}

TEST_F(Events, memoryFaultFillsTheEvent) {
  EXPECT_FALSE(table.raiseMemoryFault({1, 0x1000, true, false}));
  HsaEvent *event = make(false, false, HSA_EVENTTYPE_MEMORY);
  HsaEvent *signal = make();
  EXPECT_EQ(event->EventData.HWData2, 0u);
  EXPECT_TRUE(table.raiseMemoryFault({2, 0xabc000, true, false}));
  HsaEvent *events[] = {signal, event};
  EXPECT_EQ(table.wait(events, false, 1000), HSAKMT_STATUS_SUCCESS);
  const HsaMemoryAccessFault &fault = event->EventData.EventData.MemoryAccessFault;
  EXPECT_EQ(fault.NodeId, 2u);
  EXPECT_EQ(fault.VirtualAddress, 0xabc000u);
  EXPECT_EQ(fault.Failure.NotPresent, 1u);
  EXPECT_EQ(fault.Flags, HSA_EVENTID_MEMORY_FATAL_PROCESS);
}

TEST_F(Events, systemEventsCannotBeSetByTheApplication) {
  EXPECT_EQ(table.set(make(false, false, HSA_EVENTTYPE_MEMORY)), HSAKMT_STATUS_ERROR);
  EXPECT_EQ(table.set(nullptr), HSAKMT_STATUS_INVALID_HANDLE);
}

} // namespace
} // namespace luthier::vgpu
