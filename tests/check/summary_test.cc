#include "check/sarif.h"
#include "check/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace luthier::check {
namespace {

using nlohmann::json;
using testing::EndsWith;
using testing::HasSubstr;

Records someRecords() {
  Records records;
  for (const uint64_t offset : {4, 8}) {
    Finding finding;
    finding.rule = rule::kUseAfterFree;
    finding.message = "read of 4 bytes";
    finding.kernel = offset == 4 ? "first()" : "second()";
    finding.symbol = offset == 4 ? "_Z5firstv" : "_Z6secondv";
    finding.offset = offset;
    finding.count = 5;
    finding.source = {{"a.hip", 3, 7, ""}, {"b.h", 4, 0, ""}};
    finding.memory = Memory{4096, 400, "device memory", true, 1, true, {{"app", 1, "main"}}, {{"app", 2, ""}}};
    records.findings.push_back(finding);
  }
  records.kernels = 2;
  records.launches = 9;
  return records;
}

TEST(Summary, SaysHowMany) {
  Summary summary = Summary::of(someRecords(), *Suppressions::parse("*:first*", "file"));
  summary.checks = {"memory"};
  EXPECT_FALSE(summary.incomplete());
  const std::string text = toText(summary);
  EXPECT_THAT(text, HasSubstr("luthier check: use-after-free: read of 4 bytes\n  kernel      second()\n"));
  EXPECT_THAT(text, EndsWith("\nluthier check: 1 finding (seen 5 times); 2 kernels, 9 launches checked for: memory; 1 "
                             "suppressed\n"));
}

TEST(Summary, IsNeverCleanWithoutALaunch) {
  Summary summary = Summary::of({}, {});
  summary.checks = {"memory"};
  EXPECT_TRUE(summary.incomplete());
  EXPECT_EQ(toText(summary), "luthier check: 0 findings; 0 kernels, 0 launches checked for: memory\n"
                             "luthier check: not checked: no kernel was launched on a virtual GPU\n");
  summary.launches = 1;
  EXPECT_FALSE(summary.incomplete());
  summary.notChecked = {"sizes"};
  EXPECT_TRUE(summary.incomplete());
  EXPECT_THAT(toText(summary), EndsWith("\nluthier check: not checked: sizes\n"));
}

TEST(Summary, AsSarif) {
  Summary summary = Summary::of(someRecords(), {});
  summary.exitStatus = 1;
  summary.notChecked = {"sizes"};
  const json sarif = json::parse(toSarif(summary));
  EXPECT_EQ(sarif["version"], "2.1.0");
  const json &run = sarif["runs"][0];
  EXPECT_EQ(run["tool"]["driver"]["rules"].size(), rules().size());
  EXPECT_EQ(run["invocations"][0]["exitCode"], 1);
  EXPECT_EQ(run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"], "not checked: sizes");
  ASSERT_EQ(run["results"].size(), 2u);
  const json &result = run["results"][0];
  EXPECT_EQ(result["ruleId"], "use-after-free");
  EXPECT_EQ(result["occurrenceCount"], 5);
  EXPECT_EQ(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "a.hip");
  EXPECT_EQ(result["locations"][0]["physicalLocation"]["region"]["startLine"], 3);
  EXPECT_EQ(result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"], "first()+0x4");
  EXPECT_EQ(result["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"], "b.h");
  EXPECT_EQ(result["stacks"].size(), 2u);
  EXPECT_NE(result["partialFingerprints"], run["results"][1]["partialFingerprints"]);
}

TEST(Summary, AsJson) {
  Summary summary = Summary::of(someRecords(), {});
  summary.checks = {"memory"};
  summary.applicationStatus = 3;
  const json out = json::parse(toJsonText(summary));
  EXPECT_EQ(out["findings"].size(), 2u);
  EXPECT_EQ(out["launches"], 9);
  EXPECT_EQ(out["application_status"], 3);
  EXPECT_EQ(findingFrom(out["findings"][1]), summary.findings[1]);
}

} // namespace
} // namespace luthier::check
