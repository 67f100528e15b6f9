// `luthier isa coverage` from outside: what it prints, and how it ends.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "luthier_command.h"

namespace luthier::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(IsaCoverage, PrintsNumbersAndTheGraphicsList) {
  const Outcome outcome = luthier("isa coverage gfx90a");
  EXPECT_EQ(outcome.exitCode, 0);
  EXPECT_THAT(outcome.output,
              testing::MatchesRegex("gfx90a: ([0-9]+) of [0-9]+ compute opcodes implemented .100.0%.\n(.|\n)*"));
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("missing: 0\n"), HasSubstr("image_sample"), HasSubstr("encodings")));
}

TEST(IsaCoverage, PrintsJson) {
  const Outcome outcome = luthier("isa coverage --json gfx90a");
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
  const Outcome unknown = luthier("isa coverage gfx123");
  EXPECT_EQ(unknown.exitCode, 2);
  EXPECT_THAT(unknown.output, AllOf(HasSubstr("unknown GPU 'gfx123'"), HasSubstr("gfx90a")));
  const Outcome notVirtual = luthier("isa coverage gfx1030");
  EXPECT_EQ(notVirtual.exitCode, 2);
  EXPECT_THAT(notVirtual.output, HasSubstr("the virtual GPU does not execute code of gfx1030; known: gfx90a"));
  EXPECT_EQ(luthier("isa coverage").exitCode, 2);
  EXPECT_EQ(luthier("isa").exitCode, 2);
  EXPECT_EQ(luthier("isa nothing").exitCode, 2);
}

TEST(IsaCoverage, ExplainsItself) {
  EXPECT_THAT(luthier("isa --help").output, HasSubstr("coverage"));
  const Outcome help = luthier("isa coverage --help");
  EXPECT_EQ(help.exitCode, 0);
  EXPECT_THAT(help.output, AllOf(HasSubstr("TARGET"), HasSubstr("--json")));
}

} // namespace
} // namespace luthier::cli
