#include "check/finding.h"
#include "check/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace luthier::check {
namespace {

using testing::HasSubstr;
using testing::Not;

Finding example() {
  Finding finding;
  finding.rule = rule::kOutOfBounds;
  finding.message = "write of 4 bytes, 0 bytes behind the end of 400 bytes of device memory";
  finding.kernel = "store(float*, int)";
  finding.symbol = "_Z5storePfi";
  finding.function = "helper(float*)";
  finding.offset = 0x3c;
  finding.pc = 0x7f0000001000;
  finding.code = {{0x34, "v_mov_b32_e32 v2, 1.0"}, {0x3c, "global_store_dword v[0:1], v2, off"}, {0x44, "s_endpgm"}};
  finding.source = {{"/nowhere/store.hip", 12, 9, "helper(float*)"},
                    {"/nowhere/store.hip", 20, 0, "store(float*, int)"}};
  finding.grid = {256, 4, 1};
  finding.groupSize = {32, 4, 1};
  finding.workgroup = {3, 0, 0};
  finding.wave = 1;
  finding.waveSize = 64;
  for (uint32_t lane : {0u, 1u, 2u, 36u})
    finding.lanes.push_back({lane, 0x7f0000002190u + 4 * lane});
  finding.address = 0x7f0000002190;
  finding.memory = Memory{0x7f0000002000,
                          400,
                          "device memory",
                          true,
                          7,
                          true,
                          {{"/lib/libamdhip64.so.5", 0x1234, "hipMalloc"}, {"/bin/app", 0x99, ""}},
                          {{"/bin/app", 0x100, "main"}}};
  finding.process = 42;
  finding.program = "app";
  finding.count = 3;
  return finding;
}

TEST(Finding, SurvivesJson) {
  Finding finding = example();
  EXPECT_EQ(findingFrom(toJson(finding)), finding);
  finding.hasAddress = false;
  finding.details = {{"in flight", "0x0034  global_load_dword v2, v[0:1], off"}, {"enough", "s_waitcnt vmcnt(0)"}};
  EXPECT_EQ(findingFrom(toJson(finding)), finding);
}

TEST(Finding, TextHasDetailsAndNoAddressWithoutOne) {
  Finding finding = example();
  EXPECT_THAT(toText(finding), HasSubstr("\n  address     0x7f0000002190"));
  finding.hasAddress = false;
  finding.details = {{"enough", "s_waitcnt vmcnt(0) before 0x003c"}};
  EXPECT_THAT(toText(finding), HasSubstr("\n  enough      s_waitcnt vmcnt(0) before 0x003c\n"));
  EXPECT_THAT(toText(finding), Not(HasSubstr("\n  address ")));
}

TEST(Finding, OfOtherTypesIsNone) {
  EXPECT_EQ(findingFrom(nlohmann::json::array()), std::nullopt);
  EXPECT_EQ(findingFrom({{"rule", 1}, {"message", "text"}}), std::nullopt);
  // Fields of a wrong type are left out.
  const auto finding = findingFrom({{"rule", "leak"}, {"message", "text"}, {"grid", {1, 2}}, {"lanes", 3}, {"pc", -1}});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->pc, 0u);
}

TEST(Finding, TextSaysEverything) {
  const std::string text = toText(example());
  EXPECT_THAT(text, testing::StartsWith("out-of-bounds: write of 4 bytes"));
  EXPECT_THAT(text, HasSubstr("\n  kernel      store(float*, int)\n  function    helper(float*)\n"));
  EXPECT_THAT(text, HasSubstr("/nowhere/store.hip:12:9 in helper(float*), inlined into\n"));
  EXPECT_THAT(text, HasSubstr("> 0x003c  global_store_dword v[0:1], v2, off\n"));
  EXPECT_THAT(text, HasSubstr("  0x0044  s_endpgm\n"));
  EXPECT_THAT(text, HasSubstr("lanes 0-2, 36 of wave 1 of workgroup (3, 0, 0)\n"));
  // Lanes 64 to 66 and 100 of a workgroup of 32 by 4.
  EXPECT_THAT(text, HasSubstr("work-items (0-2, 2, 0), (4, 3, 0)\n"));
  EXPECT_THAT(text, HasSubstr("0x7f0000002190 to 0x7f0000002220\n"));
  EXPECT_THAT(text, HasSubstr("400 bytes of device memory at 0x7f0000002000, allocation 7, freed\n"));
  EXPECT_THAT(text, HasSubstr("allocated   hipMalloc in libamdhip64.so.5\n"));
  EXPECT_THAT(text, HasSubstr("app+0x99\n"));
  EXPECT_THAT(text, HasSubstr("freed       main in app\n"));
  EXPECT_THAT(text, HasSubstr("grid (256, 4, 1), workgroups of (32, 4, 1)\n"));
  EXPECT_THAT(text, HasSubstr("process     42 app\n"));
  EXPECT_THAT(text, testing::EndsWith("seen        3 times"));
}

TEST(Finding, TextLeavesOutWhatIsNotKnown) {
  Finding finding;
  finding.rule = rule::kLeak;
  finding.message = "400 bytes of device memory were never freed";
  EXPECT_EQ(toText(finding), "leak: 400 bytes of device memory were never freed");
  Finding driver = example();
  driver.memory->exact = false;
  EXPECT_THAT(toText(driver), HasSubstr("a buffer of the driver"));
  EXPECT_THAT(toText(example()), Not(HasSubstr("a buffer of the driver")));
}

TEST(Finding, KeyIsThePlace) {
  Finding other = example();
  other.message = "another";
  other.wave = 7;
  other.count = 9;
  EXPECT_EQ(other.key(), example().key());
  other.offset = 0x40;
  EXPECT_NE(other.key(), example().key());
  other = example();
  other.rule = rule::kUseAfterFree;
  EXPECT_NE(other.key(), example().key());
}

TEST(Ranges, AreFolded) {
  EXPECT_EQ(ranges({}), "");
  EXPECT_EQ(ranges({5}), "5");
  EXPECT_EQ(ranges({0, 1, 2, 3, 7, 9, 10}), "0-3, 7, 9-10");
}

} // namespace
} // namespace luthier::check
