#include "runtime/report_writer.h"

#include "support/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include <unistd.h>

namespace luthier::runtime {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ReportWriterTest : public testing::Test {
protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / ("report_writer_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file() const { return folder_ / "report"; }
  std::string contents() const {
    const auto text = readFile(file());
    return text ? *text : "";
  }
  static Results results(const std::string &count) {
    Results results;
    results.tables = {{"counter", {"kernel", "count"}, {{{"fill"}, {count, true}}}}};
    results.account.messages = {"a message"};
    return results;
  }

  std::filesystem::path folder_;
  ReportWriter writer_;
};

TEST_F(ReportWriterTest, TheFinalReportReplacesSnapshotsAndStays) {
  writer_.configure({{Format::Json, file()}});
  EXPECT_TRUE(writer_.snapshot(results("11")));
  EXPECT_THAT(contents(), HasSubstr("\"count\": 11"));
  EXPECT_TRUE(writer_.finish(results("12")));
  EXPECT_TRUE(writer_.snapshot(results("13")));
  EXPECT_THAT(contents(), HasSubstr("\"count\": 12"));
  EXPECT_THAT(contents(), HasSubstr("a message"));
}

TEST_F(ReportWriterTest, WithoutAFileThereAreNoSnapshots) {
  writer_.configure({{Format::Text, ""}});
  EXPECT_FALSE(writer_.writesSnapshots());
  testing::internal::CaptureStderr();
  EXPECT_TRUE(writer_.snapshot(results("11")));
  EXPECT_TRUE(writer_.finish(results("12")));
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, StartsWith("counter:\nkernel  count\nfill       12\n"));
  EXPECT_THAT(text, Not(HasSubstr("11")));
}

// CSV has no place for the account.
TEST_F(ReportWriterTest, TheAccountOfCsvIsOnStderr) {
  writer_.configure({{Format::Csv, file()}});
  testing::internal::CaptureStderr();
  EXPECT_TRUE(writer_.finish(results("12")));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("note: a message"));
  EXPECT_EQ(contents(), "kernel,count\nfill,12\n");
}

TEST_F(ReportWriterTest, AReportThatCannotBeWrittenIsOnStderr) {
  writer_.configure({{Format::Text, folder_ / "missing" / "report"}});
  const auto snapshot = writer_.snapshot(results("11"));
  ASSERT_FALSE(snapshot);
  EXPECT_THAT(snapshot.error().message(), StartsWith("the report cannot be written: cannot write "));
  testing::internal::CaptureStderr();
  EXPECT_FALSE(writer_.finish(results("12")));
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr("error: the report cannot be written: cannot write "));
  EXPECT_THAT(text, HasSubstr("fill       12\n"));
}

TEST_F(ReportWriterTest, WhatIsPreparedIsInTheFileOrFallsBack) {
  writer_.configure({{Format::Csv, file()}});
  writer_.prepare(results("11"));
  EXPECT_EQ(contents(), "kernel,count\nfill,11\n");
  EXPECT_EQ(writer_.fallback(), "");

  ReportWriter toStderr;
  toStderr.configure({{Format::Csv, ""}});
  toStderr.prepare(results("11"));
  EXPECT_EQ(toStderr.fallback(), "kernel,count\nfill,11\n");
  testing::internal::CaptureStderr();
  toStderr.finish(results("12"));
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(toStderr.fallback(), "") << "the report is written";
}

TEST_F(ReportWriterTest, SeveralFormatsAtOnceInAFolderThatIsMade) {
  const auto folder = folder_ / "a" / "b";
  writer_.configure(
      {{Format::Json, folder / "r.json"}, {Format::Csv, folder / "r.csv"}, {Format::Html, folder / "r.html"}}, true);
  EXPECT_TRUE(writer_.wantsDetails());
  testing::internal::CaptureStderr();
  EXPECT_TRUE(writer_.finish(results("12")));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "JSON has the account";
  EXPECT_THAT(*readFile(folder / "r.json"), HasSubstr("\"count\": 12"));
  EXPECT_EQ(*readFile(folder / "r.csv"), "kernel,count\nfill,12\n");
  EXPECT_THAT(*readFile(folder / "r.html"), HasSubstr("<!doctype html>"));
}

TEST_F(ReportWriterTest, OneFileThatFailsDoesNotTakeTheOthersAlong) {
  writer_.configure({{Format::Json, folder_ / "missing" / "r"}, {Format::Csv, file()}});
  testing::internal::CaptureStderr();
  EXPECT_FALSE(writer_.finish(results("12")));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("it follows here"));
  EXPECT_EQ(contents(), "kernel,count\nfill,12\n");
}

// On a terminal they would be there twice.
TEST_F(ReportWriterTest, MessagesThatStderrHasAreNotRepeatedThere) {
  Results once = results("12");
  once.account.messages = {"seen", "not seen"};
  once.account.shown = {"seen"};
  writer_.configure({{Format::Text, ""}});
  testing::internal::CaptureStderr();
  EXPECT_TRUE(writer_.finish(once));
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, Not(HasSubstr("note: seen")));
  EXPECT_THAT(text, HasSubstr("note: not seen"));

  ReportWriter toFile;
  toFile.configure({{Format::Text, file()}});
  EXPECT_TRUE(toFile.finish(once));
  EXPECT_THAT(contents(), HasSubstr("note: seen\n"));
}

} // namespace
} // namespace luthier::runtime
