#include "runtime/tool_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace luthier::runtime {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class Settings : public testing::Test {
protected:
  void SetUp() override {
    for (const auto &[name, value] : ToolSettings().toEnvironment())
      unsetenv(name.c_str());
  }
  static std::string errorWith(const char *name, const char *value) {
    setenv(name, value, 1);
    const auto settings = ToolSettings::fromEnvironment();
    unsetenv(name);
    return settings ? "" : settings.error().message();
  }
};

TEST_F(Settings, NothingSet) {
  const auto settings = ToolSettings::fromEnvironment();
  ASSERT_TRUE(settings);
  EXPECT_TRUE(settings->tools.empty());
  EXPECT_TRUE(settings->options.empty());
  EXPECT_EQ(settings->output, "");
  EXPECT_EQ(settings->formats, std::vector{Format::Text});
  EXPECT_EQ(settings->firstIteration, 1u);
  EXPECT_EQ(settings->lastIteration, UINT64_MAX);
  EXPECT_FALSE(settings->strict);
}

TEST_F(Settings, ThereAndBack) {
  ToolSettings said;
  said.tools = {"/opt/a b/libone.so", "/opt/two.so"};
  said.options = {{"one.per", "block"}, {"one.empty", ""}, {"two.text", "a=b c.d \"e\""}};
  said.output = "/tmp/results 1.json";
  said.formats = {Format::Json};
  said.kernelInclude = "^(a|b)";
  said.kernelExclude = "c$";
  said.firstIteration = 2;
  said.lastIteration = 5;
  said.hookOutput = "/tmp/printed 1.txt";
  said.hostcallPackets = 4096;
  said.hookForm = rewrite::HookForm::Shared;
  said.strict = true;
  ASSERT_TRUE(said.validate());
  for (const auto &[name, value] : said.toEnvironment())
    setenv(name.c_str(), value.c_str(), 1);
  const auto heard = ToolSettings::fromEnvironment();
  ASSERT_TRUE(heard) << heard.error().message();
  EXPECT_EQ(heard->tools, said.tools);
  EXPECT_EQ(heard->options, said.options);
  EXPECT_EQ(heard->output, said.output);
  EXPECT_EQ(heard->formats, said.formats);
  EXPECT_EQ(heard->kernelInclude, said.kernelInclude);
  EXPECT_EQ(heard->kernelExclude, said.kernelExclude);
  EXPECT_EQ(heard->firstIteration, said.firstIteration);
  EXPECT_EQ(heard->lastIteration, said.lastIteration);
  EXPECT_EQ(heard->hookOutput, said.hookOutput);
  EXPECT_EQ(heard->hostcallPackets, said.hostcallPackets);
  EXPECT_EQ(heard->hookForm, said.hookForm);
  EXPECT_EQ(heard->strict, said.strict);

  // Defaults wipe out what an outer run has set.
  for (const auto &[name, value] : ToolSettings().toEnvironment())
    setenv(name.c_str(), value.c_str(), 1);
  const auto none = ToolSettings::fromEnvironment();
  ASSERT_TRUE(none) << none.error().message();
  EXPECT_EQ(none->toEnvironment(), ToolSettings().toEnvironment());
}

TEST_F(Settings, EachFormatHasAFile) {
  ToolSettings settings;
  EXPECT_EQ(settings.outputs(), (std::vector<Output>{{Format::Text, ""}}));
  settings.output = "/r/report";
  settings.formats = {Format::Html};
  EXPECT_EQ(settings.outputs(), (std::vector<Output>{{Format::Html, "/r/report"}})) << "one file is called what it is";
  settings.output = "";
  settings.outputBase = "/r/%rank%";
  settings.formats = {Format::Text, Format::Db, Format::Pftrace};
  EXPECT_EQ(settings.outputs(), (std::vector<Output>{{Format::Text, "/r/%rank%.txt"},
                                                     {Format::Db, "/r/%rank%.db"},
                                                     {Format::Pftrace, "/r/%rank%.pftrace"}}));
  EXPECT_TRUE(settings.validate());
  for (const auto &[name, value] : settings.toEnvironment())
    setenv(name.c_str(), value.c_str(), 1);
  const auto heard = ToolSettings::fromEnvironment();
  ASSERT_TRUE(heard) << heard.error().message();
  EXPECT_THAT(heard->outputBase, testing::Not(HasSubstr("%"))) << "a process replaces the keys for itself";
  EXPECT_EQ(heard->formats, settings.formats);
  settings.output = "/r/both";
  EXPECT_FALSE(settings.validate());
}

TEST_F(Settings, AnOpenRange) {
  ToolSettings said;
  said.firstIteration = 3;
  setenv("LUTHIER_KERNEL_ITERATIONS", said.toEnvironment().at("LUTHIER_KERNEL_ITERATIONS").c_str(), 1);
  const auto heard = ToolSettings::fromEnvironment();
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->firstIteration, 3u);
  EXPECT_EQ(heard->lastIteration, UINT64_MAX);
}

TEST_F(Settings, ErrorsNameTheVariable) {
  EXPECT_THAT(errorWith("LUTHIER_TOOLS", "libone.so"), AllOf(HasSubstr("LUTHIER_TOOLS"), HasSubstr("absolute path")));
  EXPECT_THAT(errorWith("LUTHIER_TOOLS", "/a/libone.so:/b/libone.so"), HasSubstr("two tools have the name one"));
  EXPECT_THAT(errorWith("LUTHIER_TOOL_OPTIONS", "one.per"),
              AllOf(HasSubstr("LUTHIER_TOOL_OPTIONS"), HasSubstr("'one.per' has no value")));
  EXPECT_THAT(errorWith("LUTHIER_TOOL_OPTIONS", "one.per=block"), HasSubstr("tool that is not loaded (none is)"));
  EXPECT_THAT(errorWith("LUTHIER_TOOL_OUTPUT", "relative.json"), HasSubstr("'relative.json' cannot be written to"));
  EXPECT_THAT(
      errorWith("LUTHIER_TOOL_OUTPUT", "/tmp/%nonsense%"),
      AllOf(HasSubstr("LUTHIER_TOOL_OUTPUT"), HasSubstr("%nonsense% is not a key for names of files; known: %pid%")));
  EXPECT_THAT(
      errorWith("LUTHIER_TOOL_FORMAT", "xml"),
      HasSubstr("LUTHIER_TOOL_FORMAT: 'xml' is not a format of reports; expected some of: text, csv, json, html"));
  EXPECT_THAT(errorWith("LUTHIER_TOOL_FORMAT", "text,csv"), HasSubstr("several formats need a name"));
  EXPECT_THAT(errorWith("LUTHIER_TOOL_FORMAT", "html"), HasSubstr("a report as html needs a file"));
  EXPECT_THAT(errorWith("LUTHIER_TOOL_OUTPUT_BASE", "relative"), HasSubstr("'relative' cannot be written to"));
  EXPECT_THAT(errorWith("LUTHIER_KERNEL_INCLUDE", "("),
              HasSubstr("LUTHIER_KERNEL_INCLUDE: '(' is not a valid regular"));
  EXPECT_THAT(errorWith("LUTHIER_KERNEL_EXCLUDE", "["),
              HasSubstr("LUTHIER_KERNEL_EXCLUDE: '[' is not a valid regular"));
  EXPECT_THAT(errorWith("LUTHIER_KERNEL_ITERATIONS", "5-2"),
              HasSubstr("LUTHIER_KERNEL_ITERATIONS: '5-2' is not a valid range"));
  EXPECT_THAT(errorWith("LUTHIER_HOOK_OUTPUT", "relative.txt"), HasSubstr("'relative.txt' cannot be written to"));
  EXPECT_THAT(errorWith("LUTHIER_HOSTCALL_PACKETS", "many"),
              HasSubstr("LUTHIER_HOSTCALL_PACKETS is 'many'; expected a number from 0 to 4294967295"));
  EXPECT_THAT(errorWith("LUTHIER_STRICT", "maybe"), HasSubstr("LUTHIER_STRICT is 'maybe'"));
}

TEST_F(Settings, WhatTheEnvironmentCannotSay) {
  const auto errorOf = [](const ToolSettings &settings) {
    const auto valid = settings.validate();
    return valid ? std::string() : valid.error().message();
  };
  ToolSettings settings;
  settings.tools = {"/a:b/libone.so"};
  EXPECT_THAT(errorOf(settings), HasSubstr("without ':'"));
  settings.tools = {"/a/libone.so"};
  EXPECT_EQ(errorOf(settings), "");
  settings.options = {{"one.text", "two\nlines"}};
  EXPECT_THAT(errorOf(settings), HasSubstr("one.text has more than one line"));
  settings.options = {{"two.text", "x"}};
  EXPECT_EQ(errorOf(settings), "two.text is an option of a tool that is not loaded (loaded: one)");
  for (const char *key : {"text", ".text", "one.", "one.a=b"}) {
    settings.options = {{key, "x"}};
    EXPECT_THAT(errorOf(settings), HasSubstr("expected NAME.option=value")) << key;
  }
}

TEST(ToolName, OfPaths) {
  EXPECT_EQ(toolName("/a/b/libinstr_count.so"), "instr_count");
  EXPECT_EQ(toolName("libx.so.1.2"), "x");
  EXPECT_EQ(toolName("/a.so/plain.so"), "plain");
  EXPECT_EQ(toolName("library"), "rary");
}

TEST(Iterations, Ranges) {
  EXPECT_THAT(*parseIterations("3"), Pair(3u, 3u));
  EXPECT_THAT(*parseIterations("3-7"), Pair(3u, 7u));
  EXPECT_THAT(*parseIterations("3-"), Pair(3u, UINT64_MAX));
  for (const char *text : {"", "-", "-3", "0", "0-1", "3-2", "a", "3-b", "1-2-3", " 1", "18446744073709551616"})
    EXPECT_FALSE(parseIterations(text)) << text;
}

std::vector<ToolOption> declared() {
  return {{"one", "per", {.kind = ValueType::Kind::Choice, .choices = {"launch", "block"}}, "launch", ""},
          {"one", "slots", {.kind = ValueType::Kind::Number, .least = 1, .most = 64}, "16", ""},
          {"two", "quiet", {.kind = ValueType::Kind::Flag}, "no", ""}};
}

TEST(ToolOptions, ValuesOfOtherTypesAreErrorsAndNotUsed) {
  const auto errorOf = [](const std::string &tool, const std::string &key, const std::string &value) {
    const auto checked = checkToolOptions(tool, declared(), {{key, value}});
    return checked ? std::string() : checked.error().message();
  };
  EXPECT_EQ(errorOf("one", "one.per", "block"), "");
  EXPECT_EQ(errorOf("one", "one.per", "foo"), "--one.per is 'foo'; expected one of: launch, block");
  EXPECT_EQ(errorOf("one", "one.slots", "-1"), "--one.slots is '-1'; expected a number from 1 to 64");
  EXPECT_EQ(errorOf("one", "one.slot", "1"),
            "tool one has no option 'slot'; it has: per, slots; did you mean 'slots'?");
  EXPECT_EQ(errorOf("one", "one.quiet", "yes"), "tool one has no option 'quiet'; it has: per, slots");
  EXPECT_EQ(errorOf("one", "two.quiet", "maybe"), "") << "the other tool's";
  EXPECT_EQ(errorOf("three", "three.x", "1"), "tool three has no option 'x'; it has none");

  EXPECT_EQ(valueOf(declared()[0], {}), "launch");
  EXPECT_EQ(valueOf(declared()[0], {{"one.per", "block"}}), "block");
  EXPECT_EQ(valueOf(declared()[1], {{"one.slots", "-1"}}), "16");
}

TEST(TraceParts, Lists) {
  EXPECT_TRUE(parseTraceParts("hsa", "--trace")->api);
  EXPECT_TRUE(parseTraceParts("hsa", "--trace")->packets);
  EXPECT_TRUE(parseTraceParts("code, packets", "--trace")->code);
  EXPECT_FALSE(parseTraceParts("code, packets", "--trace")->queues);
  for (const char *text : {"", "all", "hsa,", "code;packets"})
    EXPECT_FALSE(parseTraceParts(text, "--trace")) << text;
}

} // namespace
} // namespace luthier::runtime
