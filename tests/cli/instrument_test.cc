// `luthier instrument` from outside: what it writes, what it says, what it refuses; and what `luthier disasm` shows of
// it.

#include "run_luthier.h"
#include "temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace luthier::cli {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

const std::string kFunctions = LUTHIER_TEST_FUNCTIONS;
const std::string kCompiled = LUTHIER_TEST_COMPILED;
const std::string kTwoTargets = LUTHIER_TEST_TWO_TARGETS;
const std::string kHooks = LUTHIER_TEST_HOOKS;

class InstrumentTest : public testing::Test {
protected:
  Outcome instrument(const std::string &file, const std::string &arguments) {
    return runLuthier("instrument \"" + file + "\" --hooks \"" + kHooks + "\" -o \"" + output() + "\" " + arguments);
  }
  std::string output() const { return (folder_.path() / "out.co").string(); }
  bool written() const { return std::filesystem::exists(output()); }
  /// Nothing but the result, if any, in its folder.
  size_t files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_.path()), {}));
  }

  TempFolder folder_;
};

TEST_F(InstrumentTest, AccountAndListing) {
  const Outcome outcome =
      instrument(kFunctions, "--kernel direct --at 'block-entry: count(block_size)' --at 'kernel-exit: flush()'");
  ASSERT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("kernel direct (gfx90a)"),
                    HasSubstr("block-entry: count(block_size)\n    3 asked, 3 placed, 0 rejected"),
                    HasSubstr("kernel-exit: flush()\n    1 asked, 1 placed"),
                    ContainsRegex("SGPRs [0-9]+ -> [0-9]+, VGPRs"), ContainsRegex("occupancy [0-9]+ -> [0-9]+ waves"),
                    HasSubstr("out.co: 1 of 7 kernels rewritten")));
  EXPECT_EQ(files(), 1u);

  const Outcome listing = runLuthier("disasm \"" + output() + "\" --kernel direct");
  ASSERT_EQ(listing.exitCode, 0) << listing.output;
  EXPECT_THAT(listing.output,
              AllOf(HasSubstr("; entry: what the hooks need"),
                    ContainsRegex("; at 0x[0-9a-f]+: count\\(0x[0-9a-f]+ in s[0-9]+\\) with seen = s\\["),
                    ContainsRegex("\n> +[0-9a-f]+: [0-9a-f ]+ s_add_u32"),
                    ContainsRegex("; at 0x[0-9a-f]+: flush\\(\\) with seen = s\\["), HasSubstr("; original from 0x")));
  // Other kernels are as they were.
  const Outcome other = runLuthier("disasm \"" + output() + "\" --kernel loop_head");
  EXPECT_EQ(other.output, runLuthier("disasm \"" + kFunctions + "\" --kernel loop_head").output);
}

TEST_F(InstrumentTest, ListingAsJson) {
  ASSERT_EQ(instrument(kFunctions, "--kernel loop_head --at 'block-entry L0: my::two(7)'").exitCode,
            1); // two of that name
  ASSERT_EQ(instrument(kFunctions, "--kernel loop_head --at 'block-entry L0: \"my::two(unsigned int)\"(7)'").exitCode,
            0);
  const auto json =
      nlohmann::json::parse(runLuthier("disasm \"" + output() + "\" --kernel loop_head --json").output, nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  size_t hooks = 0, original = 0;
  std::string note;
  for (const auto &block : json["functions"][0]["blocks"])
    for (const auto &instr : block["instructions"]) {
      hooks += instr["kind"] == "hook";
      original += instr["kind"] == "original";
      if (instr.contains("hook"))
        note = instr["hook"];
    }
  EXPECT_GT(hooks, 0u);
  EXPECT_GT(original, 0u);
  EXPECT_THAT(note, HasSubstr("my::two(unsigned int)("));
}

TEST_F(InstrumentTest, MemoryAccessesOfCompiledCode) {
  const Outcome outcome = instrument(kCompiled, "--kernel no_calls --at 'before stores: record(address, width, exec)'");
  ASSERT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr(" 0 rejected"));
  const Outcome listing = runLuthier("disasm \"" + output() + "\" --kernel no_calls");
  EXPECT_THAT(listing.output, AllOf(HasSubstr("record(address = "), HasSubstr("width = 0x4"), HasSubstr("exec")));
}

TEST_F(InstrumentTest, AllKernelsAndNothing) {
  const Outcome all = instrument(kFunctions, "--kernel all --at 'kernel-entry: count(1)' --at 'kernel-exit: flush()'");
  ASSERT_EQ(all.exitCode, 0) << all.output;
  EXPECT_THAT(all.output, HasSubstr("7 of 7 kernels rewritten"));
  // Without hooks: the same code.
  const Outcome none = runLuthier("instrument \"" + kFunctions + "\" --kernel direct -o \"" + output() + "\"");
  ASSERT_EQ(none.exitCode, 0) << none.output;
  EXPECT_THAT(none.output, HasSubstr("and 0 inserted"));
}

TEST_F(InstrumentTest, ChangesOfTheCode) {
  const Outcome outcome = instrument(
      kFunctions, "--kernel direct --at 'remove v_mov_b32 in leaf' --at 'after v_mov_b32 in direct: next(op0) -> op0'");
  EXPECT_THAT(outcome.output, Not(HasSubstr("unknown"))) << outcome.output;
  const Outcome refused = instrument(kFunctions, "--kernel direct --at 'after s_endpgm: flush()'");
  EXPECT_EQ(refused.exitCode, 1);
}

TEST_F(InstrumentTest, NothingIsWrittenIfAnythingIsRefused) {
  // s_endpgm has no memory access.
  const std::string bad =
      "--kernel loop_head --at 'before s_endpgm: record(address, width, exec)' --at 'block-entry: count(1)'";
  const Outcome refused = instrument(kFunctions, bad);
  EXPECT_EQ(refused.exitCode, 1);
  EXPECT_THAT(refused.output,
              AllOf(HasSubstr("1 asked, 0 placed, 1 rejected"), HasSubstr("argument 0: s_endpgm accesses no memory"),
                    HasSubstr("is not written (--keep-going")));
  EXPECT_EQ(files(), 0u);
  const Outcome kept = instrument(kFunctions, bad + " --keep-going");
  EXPECT_EQ(kept.exitCode, 0) << kept.output;
  EXPECT_TRUE(written());
  // What was there stays when writing fails.
  const Outcome nowhere = runLuthier("instrument \"" + kFunctions + "\" --kernel direct -o /nowhere/x.co");
  EXPECT_EQ(nowhere.exitCode, 1);
  EXPECT_THAT(nowhere.output, HasSubstr("/nowhere/x.co: No such file"));
}

TEST_F(InstrumentTest, WhatUsersGetWrong) {
  const auto says = [&](const std::string &arguments) {
    const Outcome outcome = instrument(kFunctions, arguments);
    EXPECT_EQ(outcome.exitCode, 1) << outcome.output;
    EXPECT_EQ(files(), 0u) << arguments;
    return outcome.output;
  };
  EXPECT_THAT(says("--kernel direct --at 'before all: recrd(1)'"),
              AllOf(HasSubstr("column 13: "), HasSubstr("has no hook 'recrd'; it has"), HasSubstr("record")));
  EXPECT_THAT(says("--kernel direct --at 'before all: count()'"), HasSubstr("count takes 1 arguments, 0 are given"));
  EXPECT_THAT(says("--kernel direct --at 'before global_stroe_*: count(1)'"),
              HasSubstr("nothing in direct is meant by --at 'before global_stroe_*"));
  EXPECT_THAT(says("--kernel nothing"), HasSubstr("no kernel matches 'nothing'"));
  EXPECT_THAT(says("--kernel direct --at 'block-entry: count(s105)'"), HasSubstr("argument 0: "));
  EXPECT_THAT(says("--kernel direct --at 'block-entry: count(exec)'"),
              HasSubstr("exec has 64 bits, the parameter takes 32"));
  EXPECT_THAT(says("--kernel direct --at 'before all: next(op0) -> op9'"),
              HasSubstr("as operand 9 that could get the result"));
  const Outcome noHooks = runLuthier("instrument \"" + kFunctions +
                                     "\" --kernel direct --at 'before all: count(1)' -o \"" + output() + "\"");
  EXPECT_EQ(noHooks.exitCode, 1);
  EXPECT_THAT(noHooks.output, HasSubstr("--hooks is missing"));
  EXPECT_EQ(runLuthier("instrument \"" + kFunctions + "\" --kernel direct").exitCode, 2); // no -o
}

TEST_F(InstrumentTest, Targets) {
  const Outcome which = instrument(kTwoTargets, "--kernel all --at 'kernel-entry: count(1)'");
  EXPECT_EQ(which.exitCode, 1);
  EXPECT_THAT(which.output, HasSubstr("it has 2 code objects with kernels"));
  const Outcome chosen =
      instrument(kTwoTargets, "--kernel all --target gfx906 --at 'kernel-entry: count(1)' --at 'kernel-exit: flush()'");
  EXPECT_EQ(chosen.exitCode, 0) << chosen.output;
  EXPECT_THAT(chosen.output, HasSubstr("(gfx906)"));
}

} // namespace
} // namespace luthier::cli
