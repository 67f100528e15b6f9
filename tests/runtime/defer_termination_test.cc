#include "runtime/defer_termination.h"

#include <gtest/gtest.h>

#include <csignal>
#include <thread>

namespace luthier::runtime {
namespace {

int released = 0;

TEST(DeferTermination, TheLastOneOfTheThreadActs) {
  DeferTermination::onRelease([](int signal) { released = signal; });
  EXPECT_FALSE(DeferTermination::defer(SIGTERM));
  {
    const DeferTermination outer;
    {
      const DeferTermination inner;
      EXPECT_TRUE(DeferTermination::here());
      EXPECT_TRUE(DeferTermination::defer(SIGTERM));
    }
    EXPECT_EQ(released, 0);
    std::thread([] { EXPECT_FALSE(DeferTermination::here()); }).join();
  }
  EXPECT_EQ(released, SIGTERM);
  released = 0;
  {
    const DeferTermination nothing;
  }
  EXPECT_EQ(released, 0);
  DeferTermination::onRelease(nullptr);
}

} // namespace
} // namespace luthier::runtime
