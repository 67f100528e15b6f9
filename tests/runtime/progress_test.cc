#include "runtime/progress.h"

#include <gtest/gtest.h>

namespace luthier::runtime {
namespace {

using std::chrono::seconds;

TEST(Progress, SaysWhatHasChanged) {
  Progress progress;
  const auto start = Progress::Clock::now();
  EXPECT_EQ(progress.line(0, 0, start), "");
  progress.kernelInstrumented();
  EXPECT_EQ(progress.line(1, 1, start + seconds(1)), "luthier: 1 kernel instrumented, 1 launch, 1 running");
  progress.kernelInstrumented();
  EXPECT_EQ(progress.line(401, 0, start + seconds(3)),
            "luthier: 2 kernels instrumented, 401 launches (200 per second)");
  EXPECT_EQ(progress.line(401, 0, start + seconds(4)), "") << "nothing goes on";
}

TEST(Progress, NamesWhatTakesLong) {
  Progress progress;
  const auto start = Progress::Clock::now();
  {
    const Progress::Task task(progress, "instrumenting sum(float*)");
    EXPECT_EQ(progress.line(0, 0, start), "");
    EXPECT_EQ(progress.line(0, 0, Progress::Clock::now() + seconds(12)), "luthier: instrumenting sum(float*), 12 s");
  }
  EXPECT_EQ(progress.line(0, 0, start + seconds(13)), "");
}

} // namespace
} // namespace luthier::runtime
