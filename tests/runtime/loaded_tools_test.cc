#include "runtime/loaded_tools.h"
#include "runtime/running_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace luthier::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct FakeTool : Tool {
  explicit FakeTool(std::vector<std::string> &calls, std::string throwsIn = {})
      : calls_(calls), throwsIn_(std::move(throwsIn)) {}
  void start() override { called("start"); }
  void instrument(Kernel &, Site) override {}
  void exit() override { called("exit"); }
  void called(const std::string &what) {
    calls_.push_back(what);
    if (what == throwsIn_)
      throw std::runtime_error("trouble");
  }

private:
  std::vector<std::string> &calls_;
  std::string throwsIn_;
};

class LoadedToolsTest : public testing::Test {
protected:
  std::vector<std::string> messages() const { return account_.now().messages; }

  RunAccount account_;
  LoadedTools tools_{account_};
  std::vector<std::string> first_, second_;
};

TEST_F(LoadedToolsTest, AreStartedAndCalledInOrder) {
  tools_.add("first", [&] { return new FakeTool(first_); });
  tools_.add("second", [&] { return new FakeTool(second_); });
  std::vector<std::string> order;
  tools_.callEach("exit", [&](LoadedTool &tool) { order.push_back(tool.name); });
  EXPECT_THAT(order, ElementsAre("first", "second"));
  EXPECT_THAT(first_, ElementsAre("start"));
  EXPECT_THAT(messages(), ElementsAre());
  EXPECT_EQ(tools_.all()[1]->number, 1u);
  EXPECT_EQ(tools_.find(tools_.all()[0]->tool.get()), tools_.all()[0].get());
}

TEST_F(LoadedToolsTest, AToolThatThrowsIsNotCalledAgain) {
  tools_.add("first", [&] { return new FakeTool(first_, "exit"); });
  tools_.add("second", [&] { return new FakeTool(second_); });
  for (int n = 0; n < 2; ++n)
    tools_.callEach("exit", [](LoadedTool &tool) { tool.tool->exit(); });
  EXPECT_THAT(first_, ElementsAre("start", "exit"));
  EXPECT_THAT(second_, ElementsAre("start", "exit", "exit"));
  EXPECT_THAT(messages(), ElementsAre("tool first threw in exit: trouble; it is not called any more"));
  EXPECT_TRUE(tools_.anyWorks());
}

TEST_F(LoadedToolsTest, AConstructorThatThrowsLeavesNoTool) {
  tools_.add("first", []() -> Tool * { throw 42; });
  EXPECT_FALSE(tools_.anyWorks());
  EXPECT_THAT(messages(), ElementsAre(HasSubstr("tool first threw in its constructor")));
  tools_.callEach("exit", [](LoadedTool &tool) { tool.tool->exit(); });
}

TEST_F(LoadedToolsTest, OptionsBelongToTheToolWhoseConstructorRuns) {
  tools_.setOptions({{"first.per", "block"}, {"second.per", "kernel"}});
  std::string value, other;
  tools_.add("first", [&] {
    value = tools_.option("per", {}, "launch", "what a row is of");
    other = tools_.option("file", {}, "a.bin", "where to write");
    return new FakeTool(first_);
  });
  EXPECT_EQ(value, "block");
  EXPECT_EQ(other, "a.bin");
  ASSERT_EQ(tools_.options().size(), 2u);
  EXPECT_EQ(tools_.options()[0].tool, "first");
  EXPECT_EQ(tools_.options()[1].byDefault, "a.bin");
}

TEST_F(LoadedToolsTest, WhatCannotBeLoadedIsNamed) {
  tools_.load("/nowhere/libmissing.so");
  EXPECT_THAT(messages(), ElementsAre(HasSubstr("/nowhere/libmissing.so")));
  EXPECT_TRUE(tools_.all().empty());
}

TEST_F(LoadedToolsTest, TheCallThatRunsIsKnown) {
  tools_.add("first", [&] { return new FakeTool(first_); });
  EXPECT_FALSE(RunningCall::now());
  tools_.callEach("finished", [](LoadedTool &) {
    EXPECT_STREQ(RunningCall::now().tool, "first");
    EXPECT_STREQ(RunningCall::here().function, "finished");
    std::thread([] {
      EXPECT_STREQ(RunningCall::now().tool, "first");
      EXPECT_FALSE(RunningCall::here()) << "not on this thread";
    }).join();
    {
      const RunningCall inner("second", "launch");
      EXPECT_STREQ(RunningCall::now().tool, "second");
    }
    EXPECT_STREQ(RunningCall::now().function, "finished");
  });
  EXPECT_FALSE(RunningCall::now());
}

TEST_F(LoadedToolsTest, TheLockDefersTerminationAndIsRecursive) {
  EXPECT_FALSE(DeferTermination::here());
  {
    const LoadedTools::Lock lock(tools_), again(tools_);
    EXPECT_TRUE(lock);
    EXPECT_TRUE(again.mayCall());
    EXPECT_TRUE(DeferTermination::here());
    tools_.retire();
    EXPECT_FALSE(lock.mayCall());
  }
  EXPECT_FALSE(DeferTermination::here());
}

// A process that ends from inside a tool never gives the lock back.
TEST_F(LoadedToolsTest, NobodyWaitsForTheLockAfterTheEnd) {
  const LoadedTools::Lock lock(tools_);
  tools_.close();
  bool had = true;
  std::thread([&] { had = static_cast<bool>(LoadedTools::Lock(tools_)); }).join();
  EXPECT_FALSE(had);
}

// A thread of the application's may have locks that the tool needs.
TEST_F(LoadedToolsTest, NobodyWaitsForTheLockWhoseWorkIsReleased) {
  std::atomic<bool> released = false;
  bool had = true;
  {
    const LoadedTools::Lock lock(tools_);
    std::thread other([&] { had = static_cast<bool>(LoadedTools::Lock(tools_, released)); });
    released = true;
    other.join();
  }
  EXPECT_FALSE(had);
  released = false;
  EXPECT_TRUE(LoadedTools::Lock(tools_, released));
}

} // namespace
} // namespace luthier::runtime
