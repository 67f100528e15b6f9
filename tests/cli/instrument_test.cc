// `luthier instrument` from outside: what it writes, what it says, what it refuses; and what `luthier disasm` shows of
// it.

#include "luthier/vgpu.h"
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
const std::string kKernels = LUTHIER_TEST_KERNELS;
const std::string kHooks = LUTHIER_TEST_HOOKS;

class InstrumentTest : public testing::Test {
protected:
  void SetUp() override { setenv("LUTHIER_CACHE", "off", 1); }
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

TEST_F(InstrumentTest, HooksThatCallTheHostAreRefused) {
  const Outcome outcome = instrument(kFunctions, "--kernel direct --at 'kernel-exit: print()'");
  EXPECT_THAT(outcome.output, HasSubstr("1 asked, 0 placed, 1 rejected"));
  EXPECT_THAT(outcome.output, HasSubstr("it calls the host (printf, assertions)"));
}

TEST_F(InstrumentTest, WhatIsWrittenRunsAndCounts) {
  ASSERT_EQ(
      instrument(kKernels, "--kernel all --at 'block-entry: count(block_size)' --at 'kernel-exit: flush()'").exitCode,
      0);
  const auto gpu = vgpu::VirtualGpu::create({.threads = 1});
  ASSERT_TRUE(gpu);
  uint64_t executed = 0;
  for (const std::string &file : {kKernels, output()}) {
    const auto module = (*gpu)->loadFile(file);
    ASSERT_TRUE(module) << module.error().message();
    const auto counter = (*gpu)->allocate<uint64_t>(1);
    ASSERT_TRUE(counter);
    const auto report = (*gpu)->run(*(*module)->kernel("count"), {.grid = {200}, .workgroup = {128}, .count = true},
                                    vgpu::Arguments(*counter));
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(**counter, 200u);
    if (file == kKernels) {
      executed = report->instructions.waves;
      continue;
    }
    const auto counted = (*module)->variable("blocks");
    ASSERT_TRUE(counted);
    EXPECT_EQ(*reinterpret_cast<const uint64_t *>(counted->address), executed);
  }
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
  const Outcome outcome =
      instrument(kFunctions, "--kernel direct --at 'remove v_add_f32 in leaf' "
                             "--at 'after v_mov_b32 in direct L0: next(op0) -> op0' --at 'edge L0->L1: flush()'");
  ASSERT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("remove v_add_f32 in leaf\n    1 asked, 1 placed"),
                    HasSubstr("op0\n    2 asked, 2 placed"), HasSubstr("flush()\n    1 asked, 1 placed")));
  const Outcome listing = runLuthier("disasm \"" + output() + "\"");
  EXPECT_THAT(listing.output, AllOf(HasSubstr("next(op0 = v0) -> v0"), HasSubstr("next(op0 = v5) -> v5"),
                                    ContainsRegex("\\* +[0-9a-f]+: [0-9a-f ]+ s_call_b64 s\\[30:31\\]")));
  const Outcome refused = instrument(kFunctions, "--kernel direct --at 'after 0x2224: flush()'");
  EXPECT_EQ(refused.exitCode, 1);
  EXPECT_THAT(refused.output, HasSubstr("0x2224: s_endpgm at 0x2224 ends its block"));
}

TEST_F(InstrumentTest, Assembly) {
  const Outcome outcome =
      instrument(kFunctions, "--kernel direct --at 'before v_add_f32 in leaf: assembly(\"s_nop 3\", "
                             "\"v_mov_b32_e32 v40, 1\") changes v40'");
  ASSERT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("changes v40\n    1 asked, 1 placed"));
  EXPECT_THAT(runLuthier("disasm \"" + output() + "\"").output,
              AllOf(HasSubstr(": assembly\n"), ContainsRegex("> +[0-9a-f]+: [0-9a-f ]+ s_nop 3"),
                    ContainsRegex("> +[0-9a-f]+: [0-9a-f ]+ v_mov_b32_e32 v40, 1")));
  const Outcome refused =
      instrument(kFunctions, "--kernel direct --at 'before v_add_f32 in leaf: assembly(\"s_nop 0\", \"v_fly v1\")'");
  EXPECT_EQ(refused.exitCode, 1);
  EXPECT_THAT(refused.output, HasSubstr("cannot assemble: line 2, column 1: invalid instruction: v_fly v1"));
}

TEST_F(InstrumentTest, SharedHooks) {
  const Outcome outcome =
      instrument(kFunctions, "--kernel direct --hook-form shared --at 'block-entry: count(block_size)'");
  ASSERT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("  3 places call 1 shared hook\n"));
  const Outcome listing = runLuthier("disasm \"" + output() + "\" --kernel direct");
  ASSERT_EQ(listing.exitCode, 0) << listing.output;
  EXPECT_THAT(
      listing.output,
      AllOf(ContainsRegex("; at 0x[0-9a-f]+: count\\(0x[0-9a-f]+ in s[0-9]+\\) with seen = s\\[[0-9:]+\\], called\n"),
            ContainsRegex("\\+ +[0-9a-f]+: [0-9a-f]+ +s_call_b64 s\\[[0-9:]+\\], [0-9]+  ; calls direct\\$hook.count"),
            HasSubstr("device function direct$hook.count (gfx90a): 3 instructions"),
            HasSubstr("; hook count, called from 3 places, returns to s["),
            ContainsRegex("\n> +[0-9a-f]+: [0-9a-f]+ +s_setpc_b64")));
  EXPECT_THAT(instrument(kFunctions, "--kernel direct --hook-form copied").output,
              HasSubstr("expected one of: auto, inline, shared"));
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
              HasSubstr("nothing in direct matches --at 'before global_stroe_*"));
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
  const Outcome which = instrument(kTwoTargets, "--code-object --at 'kernel-entry: count(1)'");
  EXPECT_EQ(which.exitCode, 1);
  EXPECT_THAT(which.output, HasSubstr("2 code objects have kernels"));
  const Outcome chosen =
      instrument(kTwoTargets, "--kernel all --target gfx906 --at 'kernel-entry: count(1)' --at 'kernel-exit: flush()'");
  EXPECT_EQ(chosen.exitCode, 0) << chosen.output;
  EXPECT_THAT(chosen.output, HasSubstr("(gfx906)"));
  // The result is a bundle like the one that was given, with new code for both.
  const Outcome both = instrument(kTwoTargets, "--at 'kernel-entry: count(1)' --at 'kernel-exit: flush()'");
  EXPECT_EQ(both.exitCode, 0) << both.output;
  EXPECT_THAT(both.output, HasSubstr("14 of 14 kernels rewritten"));
  const Outcome listed = runLuthier("inspect \"" + output() + "\" --variables");
  EXPECT_THAT(listed.output, AllOf(HasSubstr("gfx906"), HasSubstr("gfx1030"), HasSubstr("blocks"))) << both.output;
}

} // namespace
} // namespace luthier::cli
