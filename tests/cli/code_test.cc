// `luthier disasm`, `cfg` and `callgraph` from outside, on code objects of tests/analysis; and how functions are named.

#include "cli/code_file.h"
#include "cli/graphviz.h"
#include "cli/listing.h"
#include "run_luthier.h"
#include "temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <sstream>

namespace luthier::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kFunctions = LUTHIER_TEST_FUNCTIONS;
const std::string kCompiled = LUTHIER_TEST_COMPILED;
const std::string kTwoTargets = LUTHIER_TEST_TWO_TARGETS;

TEST(MatchName, SymbolsSourceNamesAndParts) {
  const std::string_view symbol = "_ZN2ns5scaleIfEEvPT_i"; // void ns::scale<float>(float*, int)
  EXPECT_EQ(matchName(symbol, symbol), NameMatch::Whole);
  EXPECT_EQ(matchName(symbol, "void ns::scale<float>(float*, int)"), NameMatch::Whole);
  EXPECT_EQ(matchName(symbol, "void ns::scale<float>"), NameMatch::Whole);
  EXPECT_EQ(matchName(symbol, "ns::scale<float>"), NameMatch::Whole);
  EXPECT_EQ(matchName(symbol, "scale<float>"), NameMatch::Part);
  EXPECT_EQ(matchName(symbol, "scale<double>"), NameMatch::None);
  EXPECT_EQ(matchName("plain", "plain"), NameMatch::Whole);
  EXPECT_EQ(matchName("plain", "lai"), NameMatch::Part);
}

TEST(ShortList, RunsOfRegisters) {
  RegSet set;
  for (unsigned n : {0, 1, 2, 9})
    set.insert(sgpr(n));
  set.insert(vgpr(255));
  EXPECT_EQ(shortList(set, Reg::S0, Reg::VccLo), "s[0:2] s9");
  EXPECT_EQ(shortList(set, Reg::V0, Reg::A0), "v255");
  EXPECT_EQ(shortList(set, Reg::A0, Reg::End), "");
}

TEST(DotQuoted, LinesAndQuotes) { EXPECT_EQ(dotQuoted("a\"b\\\nc"), "\"a\\\"b\\\\\\lc\""); }

TEST(Disasm, PrintsBlocksLabelsAndCalls) {
  const Outcome outcome = runLuthier("disasm \"" + kFunctions + "\" --kernel direct");
  EXPECT_EQ(outcome.exitCode, 0);
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("kernel direct (gfx90a): 8 instructions, 2 blocks"), HasSubstr("L0:  ; entry"),
                    HasSubstr("s_swappc_b64 s[30:31], s[4:5]  ; calls leaf"), HasSubstr("L1:  ; from L0")));
  const Outcome loop = runLuthier("disasm \"" + kFunctions + "\" --kernel loop_head");
  EXPECT_THAT(loop.output, AllOf(HasSubstr("L0:  ; entry, from L0"), HasSubstr("s_cbranch_scc0 L0")));
}

TEST(Disasm, EverythingWithoutAName) {
  const Outcome outcome = runLuthier("disasm \"" + kFunctions + "\"");
  EXPECT_EQ(outcome.exitCode, 0);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("device function leaf"), HasSubstr("; returns"),
                                    HasSubstr("; goes on in leaf"), HasSubstr("; falls into follower"),
                                    HasSubstr("; calls through a pointer"), HasSubstr("kernel recursive")));
}

TEST(Disasm, Liveness) {
  const Outcome outcome = runLuthier("disasm \"" + kFunctions + "\" --kernel through_got --liveness");
  EXPECT_EQ(outcome.exitCode, 0);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("; dead: "), HasSubstr("in flight: lgkmcnt(1) to s[4:5]")));
  const Outcome summary = runLuthier("disasm \"" + kFunctions + "\" --liveness-summary");
  EXPECT_EQ(summary.exitCode, 0);
  EXPECT_THAT(summary.output, testing::ContainsRegex("gfx90a +7 "));
}

TEST(Disasm, Source) {
  const Outcome with = runLuthier("disasm \"" + kCompiled + "\" --kernel no_calls --source");
  EXPECT_EQ(with.exitCode, 0) << with.output;
  EXPECT_THAT(with.output, HasSubstr("functions.hip:"));
  const Outcome without = runLuthier("disasm \"" + kFunctions + "\" --kernel direct --source");
  EXPECT_EQ(without.exitCode, 1);
}

TEST(Disasm, Json) {
  const Outcome outcome = runLuthier("disasm \"" + kFunctions + "\" --function odd --liveness --json");
  ASSERT_EQ(outcome.exitCode, 0) << outcome.output;
  const auto json = nlohmann::json::parse(outcome.output, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << outcome.output;
  const auto &function = json["functions"][0];
  EXPECT_EQ(function["name"], "odd");
  EXPECT_EQ(function["kind"], "device_function");
  EXPECT_EQ(function["blocks"].size(), 4u);
  EXPECT_EQ(function["blocks"][0]["instructions"][0]["opcode"], "v_mov_b32");
  EXPECT_TRUE(function["blocks"][0]["instructions"][0]["dead"].contains("vgprs"));
  const auto all = nlohmann::json::parse(runLuthier("disasm \"" + kFunctions + "\" --json").output, nullptr, false);
  ASSERT_FALSE(all.is_discarded());
  EXPECT_EQ(all["functions"].size(), 19u);
}

TEST(Disasm, NamesThatMeanNothingOrTooMuch) {
  const Outcome none = runLuthier("disasm \"" + kFunctions + "\" --kernel nothing");
  EXPECT_EQ(none.exitCode, 1);
  EXPECT_THAT(none.output, AllOf(HasSubstr("no kernel matches 'nothing'"), HasSubstr("  direct")));
  const Outcome many = runLuthier("disasm \"" + kFunctions + "\" --kernel direct --target gfx906");
  EXPECT_EQ(many.exitCode, 1);
  EXPECT_THAT(many.output, HasSubstr("no code for gfx906 in it; there is code for gfx90a"));
  const Outcome parts = runLuthier("disasm \"" + kFunctions + "\" --function in");
  EXPECT_EQ(parts.exitCode, 1);
  EXPECT_THAT(parts.output, AllOf(HasSubstr("match 'in'"), HasSubstr("  inner"), HasSubstr("  in_table")));
  EXPECT_EQ(runLuthier("disasm \"" + kFunctions + "\" --function inn").exitCode, 0);
  EXPECT_EQ(runLuthier("disasm \"" + kFunctions + "\" --function leaf --kernel direct").exitCode, 2);
  const Outcome missing = runLuthier("disasm /nowhere.co");
  EXPECT_EQ(missing.exitCode, 1);
  EXPECT_THAT(missing.output, HasSubstr("/nowhere.co"));
}

TEST(Disasm, ManyTargets) {
  const Outcome which = runLuthier("disasm \"" + kTwoTargets + "\" --kernel direct");
  EXPECT_EQ(which.exitCode, 1);
  EXPECT_THAT(which.output, AllOf(HasSubstr("choose one with --target"), HasSubstr("gfx1030"), HasSubstr("gfx906")));
  const Outcome chosen = runLuthier("disasm \"" + kTwoTargets + "\" --kernel direct --target gfx1030");
  EXPECT_EQ(chosen.exitCode, 0) << chosen.output;
  EXPECT_THAT(chosen.output, HasSubstr("kernel direct (gfx1030, object 2)"));
}

std::string contentsOf(const std::string &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A file with two code objects for each of two targets, all with the same kernels.
std::string twice(const TempFolder &folder) {
  const std::string bundle = contentsOf(kTwoTargets);
  return folder.write("twice.bundle", bundle + bundle).string();
}

TEST(Disasm, OneNameInSeveralObjects) {
  const TempFolder folder;
  const std::string file = twice(folder);
  const Outcome which = runLuthier("disasm " + file + " --kernel direct --target gfx906");
  EXPECT_EQ(which.exitCode, 1);
  EXPECT_THAT(which.output, AllOf(HasSubstr("2 code objects have a kernel direct; choose one with --object:"),
                                  HasSubstr("  --object 1  gfx906"), HasSubstr("  --object 3  gfx906")));
  EXPECT_THAT(runLuthier("disasm " + file + " --function leaf").output,
              AllOf(HasSubstr("4 code objects have a device function leaf"), HasSubstr("  --object 4  gfx1030")));
  const Outcome chosen = runLuthier("disasm " + file + " --kernel direct --object 3");
  EXPECT_EQ(chosen.exitCode, 0) << chosen.output;
  EXPECT_THAT(chosen.output, HasSubstr("kernel direct (gfx906, object 3)"));
  const Outcome all = runLuthier("disasm " + file + " --target gfx1030");
  EXPECT_THAT(all.output,
              AllOf(HasSubstr("kernel direct (gfx1030, object 2)"), HasSubstr("kernel direct (gfx1030, object 4)")));
}

TEST(CodeObjects, AreChosenByNumber) {
  const TempFolder folder;
  const std::string file = twice(folder);
  for (const char *command : {"cfg ", "instrument -o /nowhere/x "}) {
    const Outcome which = runLuthier(command + file + " --kernel direct --target gfx906");
    EXPECT_EQ(which.exitCode, 1) << command;
    EXPECT_THAT(which.output, HasSubstr("2 code objects have a kernel direct; choose one with --object:")) << command;
  }
  const auto json =
      nlohmann::json::parse(runLuthier("cfg " + file + " --kernel direct --object 4 --json").output, nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["object"], 4);
  EXPECT_EQ(json["target"], "gfx1030");
  const Outcome calls = runLuthier("callgraph " + file + " --object 2");
  EXPECT_EQ(calls.exitCode, 0);
  EXPECT_THAT(calls.output, AllOf(HasSubstr("object 2: gfx1030"), Not(HasSubstr("object 4"))));
  EXPECT_THAT(runLuthier("inspect " + file).output, AllOf(HasSubstr("(object 1, "), HasSubstr("(object 4, ")));
  EXPECT_THAT(runLuthier("inspect " + file + " --object 3").output,
              AllOf(HasSubstr("(object 3, "), Not(HasSubstr("(object 1, "))));
  for (const char *command : {"inspect ", "disasm ", "callgraph "}) {
    const Outcome none = runLuthier(command + file + " --object 5");
    EXPECT_EQ(none.exitCode, 1) << command;
    EXPECT_THAT(none.output, HasSubstr("there is no code object 5; it has 4")) << command;
    EXPECT_EQ(runLuthier(command + file + " --object 0").exitCode, 2) << command;
    EXPECT_THAT(runLuthier(command + file + " --object -1").output,
                HasSubstr("--object is '-1'; expected a number of at least 1"));
  }
}

TEST(CfgCommand, TextAndJson) {
  const Outcome text = runLuthier("cfg \"" + kFunctions + "\" --function odd");
  EXPECT_EQ(text.exitCode, 0);
  EXPECT_THAT(text.output, AllOf(HasSubstr("4 blocks, 4 edges"), HasSubstr("-> L1 (fallthrough)  -> L3 (taken)"),
                                 HasSubstr("calls even"), HasSubstr("returns")));
  const auto json =
      nlohmann::json::parse(runLuthier("cfg \"" + kFunctions + "\" --function odd --json").output, nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["edges"].size(), 4u);
  EXPECT_EQ(json["blocks"][3]["exit"], "return");
  EXPECT_EQ(runLuthier("cfg \"" + kFunctions + "\"").exitCode, 2); // of which function?
}

TEST(CfgCommand, Drawings) {
  const TempFolder folder;
  const std::string dot = folder.path().string() + "/x.dot", svg = folder.path().string() + "/x.svg";
  EXPECT_EQ(runLuthier("cfg \"" + kFunctions + "\" --function odd -o " + dot).exitCode, 0);
  EXPECT_THAT(contentsOf(dot),
              AllOf(HasSubstr("digraph {"), HasSubstr("L0 -> L3 [color=blue];"), HasSubstr("L0 -> L1;")));
  EXPECT_EQ(runLuthier("cfg \"" + kFunctions + "\" --function odd -o " + svg).exitCode, 0);
  EXPECT_THAT(contentsOf(svg), HasSubstr("<svg"));
  const Outcome wrong = runLuthier("cfg \"" + kFunctions + "\" --function odd -o " + folder.path().string() + "/x.txt");
  EXPECT_EQ(wrong.exitCode, 1);
  EXPECT_THAT(wrong.output, HasSubstr("must end in .dot"));
  const Outcome unwritable = runLuthier("cfg \"" + kFunctions + "\" --function odd -o /nowhere/x.dot");
  EXPECT_EQ(unwritable.exitCode, 1);
}

TEST(WriteGraph, NeedsDotForDrawings) {
  const TempFolder folder;
  const std::string path = getenv("PATH");
  setenv("PATH", folder.path().string().c_str(), 1);
  const Result<void> written = writeGraph("digraph {}\n", folder.path().string() + "/x.svg");
  setenv("PATH", path.c_str(), 1);
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message(), AllOf(HasSubstr("no program `dot`"), HasSubstr("Graphviz")));
}

TEST(CallgraphCommand, TextJsonAndDrawing) {
  const Outcome text = runLuthier("callgraph \"" + kFunctions + "\"");
  EXPECT_EQ(text.exitCode, 0);
  EXPECT_THAT(text.output,
              AllOf(HasSubstr("7 kernels, 12 device functions, 11 calls"), HasSubstr("kernel direct\n    -> leaf"),
                    HasSubstr("function even: recursive\n    -> odd"), HasSubstr("function in_table: address taken"),
                    HasSubstr("leaf (goes on there)"), HasSubstr("2 kernels call nothing"),
                    Not(HasSubstr("loop_head"))));
  EXPECT_THAT(runLuthier("callgraph --all \"" + kFunctions + "\"").output, HasSubstr("kernel loop_head"));
  const auto json = nlohmann::json::parse(runLuthier("callgraph \"" + kFunctions + "\" --json").output, nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["objects"][0]["functions"].size(), 19u);
  EXPECT_EQ(json["objects"][0]["calls"].size(), 11u);
  const TempFolder folder;
  const std::string dot = folder.path().string() + "/calls.dot";
  EXPECT_EQ(runLuthier("callgraph \"" + kFunctions + "\" -o " + dot).exitCode, 0);
  EXPECT_THAT(contentsOf(dot), AllOf(HasSubstr("cluster_1"), HasSubstr("o1pointer -> "), HasSubstr("[color=blue]")));
}

} // namespace
} // namespace luthier::cli
