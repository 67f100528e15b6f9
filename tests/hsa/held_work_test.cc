// What callbacks hold up is let go when a thread waits inside one; without ROCr.
#include "hsa/held_work.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace luthier::hsa::test {
namespace {

struct Work final : HeldWork {
  explicit Work(bool can = true) : possible(can) {}
  bool release() override {
    ++releases;
    return possible;
  }
  bool possible;
  std::atomic<int> releases = 0;
};

TEST(HeldWorks, NothingIsReleasedWithoutNeed) {
  HeldWorks all;
  Work work;
  {
    const HeldWorks::Holding holding(all, work);
  }
  const HeldWorks::Waiting waiting(all);
  EXPECT_EQ(work.releases, 0); // it was not held up any more
}

TEST(HeldWorks, AWaitReleasesWhatIsHeldUpOnce) {
  HeldWorks all;
  Work one, two;
  const HeldWorks::Holding first(all, one), second(all, two);
  {
    const HeldWorks::Waiting waiting(all);
    EXPECT_EQ(one.releases, 1);
    EXPECT_EQ(two.releases, 1);
  }
  const HeldWorks::Waiting again(all);
  all.releaseAll();
  EXPECT_EQ(one.releases, 1);
}

TEST(HeldWorks, NothingIsHeldUpWhileSomebodyWaits) {
  HeldWorks all;
  Work during, after;
  {
    const HeldWorks::Waiting outer(all);
    {
      const HeldWorks::Waiting inner(all);
    }
    const HeldWorks::Holding holding(all, during);
    EXPECT_EQ(during.releases, 1);
  }
  const HeldWorks::Holding holding(all, after);
  EXPECT_EQ(after.releases, 0);
  all.releaseAll();
  EXPECT_EQ(after.releases, 1);
}

TEST(HeldWorks, NothingIsHeldUpWhileAReleasedCallbackRuns) {
  HeldWorks all;
  Work first, second;
  const HeldWorks::Holding holding(all, first);
  EXPECT_FALSE(holding.atOnce());
  all.releaseAll();
  const HeldWorks::Holding next(all, second);
  EXPECT_TRUE(next.atOnce());
  EXPECT_EQ(second.releases, 1);
}

TEST(HeldWorks, WhatCannotBeReleasedIsTriedAgain) {
  HeldWorks all;
  Work work(false);
  const HeldWorks::Holding holding(all, work);
  all.releaseAll();
  work.possible = true;
  all.releaseAll();
  all.releaseAll();
  EXPECT_EQ(work.releases, 2);
}

TEST(HeldWorks, WhatIsStuckIsReleasedForThoseWhoWait) {
  HeldWorks all({.usual = std::chrono::seconds(0), .short_ = std::chrono::seconds(0)});
  Work stuck;
  all.releaseStalled(); // there is nothing
  std::atomic<bool> end = false, held = false;
  std::thread callback([&] {
    const HeldWorks::Holding holding(all, stuck);
    held = true;
    held.notify_one();
    end.wait(false);
  });
  held.wait(false);
  for (int n = 0; stuck.releases == 0 && n < 10'000; ++n) {
    all.releaseStalled();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  end = true;
  end.notify_one();
  callback.join();
  EXPECT_EQ(stuck.releases, 1);
}

TEST(HeldWorks, WhatIsStuckIsReleasedThoughNobodyWaits) {
  HeldWorks all({.short_ = std::chrono::milliseconds(1)});
  Work before, stuck;
  {
    const HeldWorks::Holding holding(all, before);
    all.noteBlockingCallbacks(true);
  }
  const HeldWorks::Holding holding(all, stuck);
  for (int n = 0; stuck.releases == 0 && n < 10'000; ++n)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(stuck.releases, 1);
}

TEST(HeldWorks, WhoWorksIsNotStuck) {
  HeldWorks all({.usual = std::chrono::nanoseconds(1), .short_ = std::chrono::nanoseconds(1)});
  Work work;
  const HeldWorks::Holding holding(all, work); // by this thread, which spends time on a core
  for (volatile int n = 0; n < 1'000'000;)
    n = n + 1;
  all.releaseStalled();
  for (volatile int n = 0; n < 1'000'000;)
    n = n + 1;
  all.releaseStalled();
  EXPECT_EQ(work.releases, 0);
}

TEST(PollDetector, WaitsWhenOneAnswerStays) {
  PollDetector detector;
  for (unsigned n = 1; n < PollDetector::kPatience; ++n)
    EXPECT_FALSE(detector.isWaiting(1, 0x10, 5)) << n;
  EXPECT_TRUE(detector.isWaiting(1, 0x10, 5));
  EXPECT_TRUE(detector.isWaiting(1, 0x10, 5));
  EXPECT_FALSE(detector.isWaiting(1, 0x10, 4)); // there is progress
}

TEST(PollDetector, SeveralSourcesAreToldApart) {
  PollDetector detector;
  for (unsigned n = 0; n < 10 * PollDetector::kPatience; ++n)
    EXPECT_FALSE(detector.isWaiting(1, n, 1));
  bool waits = false;
  for (unsigned n = 0; n < PollDetector::kPatience; ++n) {
    waits |= detector.isWaiting(2, 0x10, 5);
    waits |= detector.isWaiting(2, 0x20, 7);
  }
  EXPECT_TRUE(waits);
}

TEST(PollDetector, ANewCallbackStartsFromNothing) {
  PollDetector detector;
  for (uint64_t callback = 0; callback < 10 * PollDetector::kPatience; ++callback)
    EXPECT_FALSE(detector.isWaiting(callback, 0x10, 5));
}

} // namespace
} // namespace luthier::hsa::test
