#include "vgpu/driver/events.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <initializer_list>
#include <thread>
#include <vector>

namespace luthier::vgpu {
namespace {

using kfd::WaitResult;

struct Events : testing::Test {
  std::vector<uint64_t> mailboxes = std::vector<uint64_t>(EventTable::kMaxSignalEvents);
  EventTable table{mailboxes.data()};

  uint32_t make(bool autoReset = true, kfd::EventType type = kfd::EventType::Signal) {
    uint32_t id = 0;
    EXPECT_EQ(table.create(static_cast<uint32_t>(type), autoReset, id), 0);
    return id;
  }
  static std::vector<kfd::EventData> list(std::initializer_list<uint32_t> ids, uint64_t age = 0) {
    std::vector<kfd::EventData> events(ids.size());
    size_t n = 0;
    for (const uint32_t id : ids) {
      events[n].eventId = id;
      events[n++].signal.lastAge = age;
    }
    return events;
  }
  WaitResult wait(std::vector<kfd::EventData> &events, bool all, uint32_t milliseconds) {
    WaitResult result = WaitResult::Failed;
    EXPECT_EQ(table.wait(events, all, milliseconds, result), 0);
    return result;
  }
  WaitResult wait(std::initializer_list<uint32_t> ids, bool all, uint32_t milliseconds) {
    auto events = list(ids);
    return wait(events, all, milliseconds);
  }
  WaitResult wait(uint32_t event, uint32_t milliseconds) { return wait({event}, true, milliseconds); }
};

TEST_F(Events, autoResetIsConsumedByOneWait) {
  const uint32_t event = make();
  EXPECT_EQ(table.set(event), 0);
  EXPECT_EQ(wait(event, 0), WaitResult::Complete);
  EXPECT_EQ(wait(event, 0), WaitResult::Timeout);
}

TEST_F(Events, manualResetStaysSetUntilReset) {
  const uint32_t event = make(false);
  table.set(event);
  EXPECT_EQ(wait(event, 0), WaitResult::Complete);
  EXPECT_EQ(wait(event, 0), WaitResult::Complete);
  EXPECT_EQ(table.reset(event), 0);
  EXPECT_EQ(wait(event, 1), WaitResult::Timeout);
}

TEST_F(Events, timeoutTakesItsTime) {
  const uint32_t event = make();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(wait(event, 30), WaitResult::Timeout);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(29));
}

TEST_F(Events, settingReleasesEveryWaiterAndThenIsNotSet) {
  const uint32_t event = make();
  std::atomic<int> released = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      if (wait(event, kfd::kWaitForever) == WaitResult::Complete)
        ++released;
    });
  // A thread that is not waiting yet finds the event unset, so set it until all are through.
  while (released < 3) {
    table.signal(event);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(Events, waitForAnyAndForAll) {
  const uint32_t a = make(), b = make(), c = make();
  table.set(b);
  EXPECT_EQ(wait({a, b, c}, true, 1), WaitResult::Timeout);
  EXPECT_EQ(wait({a, b, c}, false, 0), WaitResult::Complete);
  for (const uint32_t event : {a, b, c})
    table.set(event);
  EXPECT_EQ(wait({a, b, c}, true, 0), WaitResult::Complete);
  EXPECT_EQ(wait({a, b, c}, false, 0), WaitResult::Timeout);
}

TEST_F(Events, destroyReleasesWaiters) {
  for (const bool all : {false, true}) {
    const uint32_t event = make(), other = make();
    std::thread destroyer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      table.destroy(event);
    });
    auto events = list({other, event});
    WaitResult result = WaitResult::Complete;
    EXPECT_EQ(table.wait(events, all, 5000, result), EIO);
    EXPECT_EQ(result, WaitResult::Failed);
    destroyer.join();
  }
}

TEST_F(Events, idsAreUsedAgainAndRunOut) {
  const uint32_t id = make();
  EXPECT_NE(id, 0u);
  EXPECT_EQ(table.destroy(id), 0);
  EXPECT_EQ(table.destroy(id), EINVAL);
  EXPECT_EQ(make(), id);
  uint32_t made = 1, more = 0;
  int error;
  while ((error = table.create(0, true, more)) == 0)
    ++made;
  EXPECT_EQ(error, ENOSPC);
  EXPECT_EQ(made, EventTable::kMaxSignalEvents - 1);
}

TEST_F(Events, interruptFindsEventByMailbox) {
  std::vector<uint32_t> events;
  for (int i = 0; i < 600; ++i)
    events.push_back(make());
  const uint32_t meant = events[500], sameLowBits = events[500 - 256];
  ASSERT_EQ(meant & 0xff, sameLowBits & 0xff);
  mailboxes[meant] = meant;
  table.interrupt(meant & 0xff);
  EXPECT_EQ(wait(sameLowBits, 0), WaitResult::Timeout);
  EXPECT_EQ(wait(meant, 0), WaitResult::Complete);
  table.interrupt(meant & 0xff); // no mailbox: better one too many
  EXPECT_EQ(wait(meant, 0), WaitResult::Complete);
  EXPECT_EQ(wait(sameLowBits, 0), WaitResult::Complete);
}

TEST_F(Events, memoryFaultFillsTheEvent) {
  EXPECT_FALSE(table.raiseMemoryFault({1, 0x1000, true, false}));
  const uint32_t event = make(true, kfd::EventType::Memory), signal = make();
  EXPECT_GE(event, EventTable::kMaxSignalEvents); // no mailbox
  EXPECT_TRUE(table.raiseMemoryFault({2, 0xabc000, true, false}));
  auto events = list({signal, event});
  EXPECT_EQ(wait(events, false, 1000), WaitResult::Complete);
  EXPECT_EQ(events[1].memory.gpuId, 2u);
  EXPECT_EQ(events[1].memory.address, 0xabc000u);
  EXPECT_EQ(events[1].memory.notPresent, 1u);
  EXPECT_EQ(events[1].memory.readOnly, 0u);
  EXPECT_EQ(events[1].memory.errorType, 0u);
}

TEST_F(Events, systemEventsCannotBeSetByTheApplication) {
  const uint32_t event = make(true, kfd::EventType::Memory);
  EXPECT_EQ(table.set(event), EINVAL);
  EXPECT_EQ(table.reset(event), EINVAL);
  EXPECT_EQ(table.set(12345), EINVAL);
}

// Each setting makes an event a year older; whoever knows its age does not miss one.
TEST_F(Events, agesTellWhatWasMissed) {
  const uint32_t event = make();
  auto events = list({event}, 1);
  EXPECT_EQ(wait(events, true, 0), WaitResult::Timeout); // never set
  EXPECT_EQ(events[0].signal.lastAge, 1u);
  table.set(event);
  EXPECT_EQ(wait(event, 0), WaitResult::Complete); // somebody else consumes it
  EXPECT_EQ(wait(events, true, 0), WaitResult::Complete);
  EXPECT_EQ(events[0].signal.lastAge, 2u);
  EXPECT_EQ(wait(events, true, 0), WaitResult::Timeout);
  table.set(event);
  table.set(event);
  EXPECT_EQ(wait(events, true, 0), WaitResult::Complete);
  EXPECT_EQ(events[0].signal.lastAge, 4u);
}

TEST_F(Events, agesInWaitsForSeveral) {
  const uint32_t a = make(), b = make();
  table.set(a);
  auto events = list({a, b}, 1);
  EXPECT_EQ(wait(events, true, 0), WaitResult::Timeout);
  EXPECT_EQ(wait(events, false, 0), WaitResult::Complete);
  EXPECT_EQ(events[0].signal.lastAge, 2u);
  EXPECT_EQ(events[1].signal.lastAge, 1u);
  table.set(b);
  events = list({a, b}, 1);
  EXPECT_EQ(wait(events, true, 0), WaitResult::Complete);
  EXPECT_EQ(events[1].signal.lastAge, 2u);
}

TEST_F(Events, agesAreWrittenBackAfterSleeping) {
  const uint32_t event = make();
  auto events = list({event}, 1);
  std::thread setter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    table.set(event);
  });
  EXPECT_EQ(wait(events, true, 5000), WaitResult::Complete);
  EXPECT_EQ(events[0].signal.lastAge, 2u);
  setter.join();
}

TEST_F(Events, theSameEventTwice) {
  const uint32_t event = make();
  EXPECT_EQ(wait({event, event}, true, 1), WaitResult::Timeout);
  table.set(event);
  EXPECT_EQ(wait({event, event}, true, 0), WaitResult::Complete);
  EXPECT_EQ(wait(event, 0), WaitResult::Timeout);
}

TEST_F(Events, unknownEventsAndTypes) {
  auto events = list({make(), 999});
  WaitResult result = WaitResult::Complete;
  EXPECT_EQ(table.wait(events, false, 0, result), EINVAL);
  EXPECT_EQ(result, WaitResult::Failed);
  uint32_t id;
  EXPECT_EQ(table.create(static_cast<uint32_t>(kfd::EventType::Count), true, id), EINVAL);
}

TEST_F(Events, mailboxesMove) {
  const uint32_t event = make();
  std::vector<uint64_t> others(EventTable::kMaxSignalEvents);
  EXPECT_TRUE(table.isMailbox(reinterpret_cast<uint64_t>(&mailboxes[event])));
  constexpr uint64_t kAddress = 0x7000'0000; // by which a GPU has them
  table.setMailboxes(others.data(), kAddress);
  EXPECT_TRUE(table.isMailbox(kAddress));
  EXPECT_FALSE(table.isMailbox(kAddress + EventTable::kMailboxBytes));
  EXPECT_FALSE(table.isMailbox(reinterpret_cast<uint64_t>(&mailboxes[event])));
  EXPECT_EQ(others[event], ~0ull);
  others[event] = event;
  table.interrupt(event);
  EXPECT_EQ(others[event], ~0ull);
  EXPECT_EQ(wait(event, 0), WaitResult::Complete);
  table.setMailboxes(nullptr, 0);
  mailboxes[event] = event;
  table.interrupt(event);
  EXPECT_EQ(mailboxes[event], ~0ull);
  EXPECT_EQ(wait(event, 0), WaitResult::Complete);
}

} // namespace
} // namespace luthier::vgpu
