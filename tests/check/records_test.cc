#include "check/records.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace luthier::check {
namespace {

class RecordsTest : public testing::Test {
protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "records-XXXXXX";
    ASSERT_TRUE(mkdtemp(name.data()));
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static Finding at(uint64_t offset) {
    Finding finding;
    finding.rule = rule::kOutOfBounds;
    finding.message = "text";
    finding.symbol = "_Z5storePfi";
    finding.offset = offset;
    return finding;
  }

  std::filesystem::path folder_;
};

TEST_F(RecordsTest, CountTheSamePlace) {
  {
    auto writer = RecordWriter::open(folder_);
    ASSERT_TRUE(writer);
    const size_t first = (*writer)->add(at(4)), second = (*writer)->add(at(8));
    (*writer)->again(first);
    (*writer)->again(first);
    (*writer)->again(second);
    (*writer)->countLaunch(true);
    (*writer)->countLaunch(false);
    (*writer)->countLaunch(false);
    (*writer)->uncountLaunch();
    (*writer)->notChecked("this");
    (*writer)->notChecked("that");
    (*writer)->notChecked("this");
  }
  const auto records = Records::read(folder_);
  ASSERT_TRUE(records);
  ASSERT_EQ(records->findings.size(), 2u);
  EXPECT_EQ(records->findings[0].offset, 4u);
  EXPECT_EQ(records->findings[0].count, 3u);
  EXPECT_EQ(records->findings[1].count, 2u);
  EXPECT_EQ(records->launches, 2u);
  EXPECT_EQ(records->kernels, 1u);
  EXPECT_EQ(records->processes, 1u);
  EXPECT_THAT(records->notChecked, testing::ElementsAre("this", "that"));
}

TEST_F(RecordsTest, ManyPlacesOfManyThreadsStayApart) {
  {
    auto writer = RecordWriter::open(folder_);
    ASSERT_TRUE(writer);
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (uint64_t n = 0; n < 100; ++n)
          (*writer)->again((*writer)->add(at(t * 1000 + n)));
      });
    for (std::thread &thread : threads)
      thread.join();
  }
  const auto records = Records::read(folder_);
  ASSERT_TRUE(records);
  EXPECT_EQ(records->findings.size(), 400u);
  for (const Finding &finding : records->findings)
    EXPECT_EQ(finding.count, 2u) << finding.offset;
}

TEST_F(RecordsTest, ProcessesThatAreKilledLoseNothing) {
  for (int n = 0; n < 2; ++n) {
    const pid_t child = fork();
    if (child == 0) {
      auto writer = RecordWriter::open(folder_);
      if (!writer)
        _exit(1);
      const size_t finding = (*writer)->add(at(4));
      (*writer)->again(finding);
      (*writer)->countLaunch(true);
      raise(SIGKILL);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
  }
  // The end of a line that was being written.
  std::ofstream(folder_ / "findings", std::ios::app) << R"({"finding": {"rule": "le)";
  const auto records = Records::read(folder_);
  ASSERT_TRUE(records);
  ASSERT_EQ(records->findings.size(), 1u);
  EXPECT_EQ(records->findings[0].count, 4u);
  EXPECT_EQ(records->processes, 2u);
  EXPECT_EQ(records->launches, 2u);
}

TEST_F(RecordsTest, OfNobodyAreEmpty) {
  const auto records = Records::read(folder_);
  ASSERT_TRUE(records);
  EXPECT_TRUE(records->findings.empty());
  EXPECT_EQ(records->processes, 0u);
  EXPECT_FALSE(Records::read(folder_ / "not there"));
  EXPECT_FALSE(RecordWriter::open(folder_ / "not there"));
}

} // namespace
} // namespace luthier::check
