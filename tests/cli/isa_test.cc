// `luthier isa coverage` and `luthier isa fidelity` from outside: what they print, and how they end.

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "run_luthier.h"

namespace luthier::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(IsaCoverage, PrintsNumbersAndTheGraphicsList) {
  const Outcome outcome = runLuthier("isa coverage gfx90a");
  EXPECT_EQ(outcome.exitCode, 0);
  EXPECT_THAT(outcome.output,
              testing::MatchesRegex("gfx90a: ([0-9]+) of [0-9]+ compute opcodes implemented .100.0%.\n(.|\n)*"));
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("missing: 0\n"), HasSubstr("image_sample"), HasSubstr("encodings")));
}

TEST(IsaCoverage, PrintsJson) {
  const Outcome outcome = runLuthier("isa coverage --json gfx90a");
  EXPECT_EQ(outcome.exitCode, 0);
  const auto json = nlohmann::json::parse(outcome.output, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << outcome.output;
  EXPECT_EQ(json["target"], "gfx90a");
  EXPECT_EQ(json["implemented"], json["compute"]);
  EXPECT_GE(json["implemented"], 1100);
  EXPECT_TRUE(json["missing"].is_array() && json["missing"].empty());
  ASSERT_FALSE(json["graphics"].empty());
  for (const auto &group : json["graphics"])
    EXPECT_TRUE(!group["group"].empty() && !group["reason"].empty() && !group["opcodes"].empty());
}

TEST(IsaCoverage, RefusesWhatItDoesNotKnow) {
  const Outcome unknown = runLuthier("isa coverage gfx123");
  EXPECT_EQ(unknown.exitCode, 2);
  EXPECT_THAT(unknown.output, AllOf(HasSubstr("unknown GPU 'gfx123'"), HasSubstr("gfx90a")));
  const Outcome notVirtual = runLuthier("isa coverage gfx803");
  EXPECT_EQ(notVirtual.exitCode, 2);
  EXPECT_THAT(notVirtual.output, HasSubstr("the virtual GPU does not execute code of gfx803; known: gfx"));
  EXPECT_EQ(runLuthier("isa coverage").exitCode, 2);
  EXPECT_EQ(runLuthier("isa").exitCode, 2);
  EXPECT_EQ(runLuthier("isa nothing").exitCode, 2);
}

TEST(IsaCoverage, ExplainsItself) {
  EXPECT_THAT(runLuthier("isa --help").output, HasSubstr("coverage"));
  const Outcome help = runLuthier("isa coverage --help");
  EXPECT_EQ(help.exitCode, 0);
  EXPECT_THAT(help.output, AllOf(HasSubstr("TARGET"), HasSubstr("--json")));
}

TEST(IsaFidelity, PrintsEveryOpcodeWithTheReason) {
  const Outcome outcome = runLuthier("isa fidelity gfx90a");
  EXPECT_EQ(outcome.exitCode, 0);
  EXPECT_THAT(outcome.output,
              testing::MatchesRegex(
                  "gfx90a: [0-9]+ opcodes: [0-9]+ exact, [0-9]+ documented, [0-9]+ chosen, [0-9]+ refused\n(.|\n)*"));
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("\nexact ("), HasSubstr("  v_add_f32"), HasSubstr("v_exp_f32"),
                                    HasSubstr("\nrefused ("), HasSubstr("image_sample")));
}

TEST(IsaFidelity, PrintsJson) {
  const Outcome outcome = runLuthier("isa fidelity --json gfx90a");
  EXPECT_EQ(outcome.exitCode, 0);
  const auto json = nlohmann::json::parse(outcome.output, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << outcome.output;
  EXPECT_EQ(json["target"], "gfx90a");
  std::map<std::string, size_t> counts;
  for (const auto &[mnemonic, opcode] : json["opcodes"].items()) {
    const std::string fidelity = opcode["fidelity"];
    ++counts[fidelity];
    EXPECT_EQ(opcode.contains("reason"), fidelity != "exact") << mnemonic;
  }
  for (const char *fidelity : {"exact", "documented", "chosen", "refused"})
    EXPECT_EQ(json[fidelity], counts[fidelity]) << fidelity;
  EXPECT_EQ(json["opcodes"]["v_add_f32"]["fidelity"], "exact");
  EXPECT_EQ(json["opcodes"]["v_rcp_f32"]["fidelity"], "documented");
  EXPECT_EQ(json["opcodes"]["s_memtime"]["fidelity"], "chosen");
  EXPECT_EQ(json["opcodes"]["image_load"]["fidelity"], "refused");
}

TEST(IsaFidelity, RefusesAndExplains) {
  EXPECT_EQ(runLuthier("isa fidelity gfx123").exitCode, 2);
  EXPECT_EQ(runLuthier("isa fidelity gfx803").exitCode, 2);
  EXPECT_EQ(runLuthier("isa fidelity").exitCode, 2);
  EXPECT_THAT(runLuthier("isa --help").output, HasSubstr("fidelity"));
  const Outcome help = runLuthier("isa fidelity --help");
  EXPECT_EQ(help.exitCode, 0);
  EXPECT_THAT(help.output, AllOf(HasSubstr("TARGET"), HasSubstr("--json"), HasSubstr("chosen")));
}

} // namespace
} // namespace luthier::cli
