#include "runtime/run_details.h"

#include <gtest/gtest.h>

namespace luthier::runtime {
namespace {

report::LaunchRecord launchOf(uint64_t kernel) {
  report::LaunchRecord launch;
  launch.kernel = kernel;
  return launch;
}

TEST(RunDetails, NothingIsCollectedUnlessItIsWanted) {
  RunDetails details;
  details.add(launchOf(1));
  details.add(report::CopyRecord{"hsa_memory_copy", 4, 1});
  details.addCode(1, [] {
    ADD_FAILURE() << "nobody wants the code";
    return report::KernelCode();
  });
  const report::Details now = details.now();
  EXPECT_TRUE(now.launches.empty() && now.copies.empty() && now.code.empty());
  EXPECT_EQ(now.launchesDropped, 0u);
  EXPECT_GT(now.process.pid, 0);
  EXPECT_FALSE(now.process.command.empty());
}

TEST(RunDetails, WhatIsTooMuchIsCounted) {
  RunDetails details(2, 1);
  details.collect();
  for (uint64_t n = 1; n <= 5; ++n)
    details.add(launchOf(n));
  for (uint64_t n = 0; n < 3; ++n)
    details.add(report::CopyRecord{"hsa_memory_copy", n, n});
  const report::Details now = details.now();
  ASSERT_EQ(now.launches.size(), 2u);
  EXPECT_EQ(now.launches[1].kernel, 2u);
  EXPECT_EQ(now.launchesDropped, 3u);
  EXPECT_EQ(now.copies.size(), 1u);
  EXPECT_EQ(now.copiesDropped, 2u);
}

TEST(RunDetails, CodeIsListedOnce) {
  RunDetails details;
  details.collect();
  unsigned listed = 0;
  const auto list = [&] {
    ++listed;
    report::KernelCode code;
    code.functions.emplace_back().name = "k";
    return code;
  };
  details.addCode(1, list);
  details.addCode(1, list);
  details.addCode(0, list); // a kernel whose code is not known
  EXPECT_EQ(listed, 1u);
  ASSERT_EQ(details.now().code.size(), 1u);
  EXPECT_EQ(details.now().code.at(1)->functions[0].name, "k");
}

} // namespace
} // namespace luthier::runtime
