// `luthier inspect` from outside: what it lists, how it ends.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "run_luthier.h"
#include "temp_folder.h"

namespace luthier::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kFiles = std::string(OBJECT_TEST_FILES) + "/";
constexpr const char *kRocRand = "/usr/lib/x86_64-linux-gnu/librocrand.so.1";

TEST(Inspect, ListsKernelsFunctionsAndVariables) {
  const Outcome outcome = runLuthier("inspect " + kFiles + "kernels_v4.co");
  EXPECT_EQ(outcome.exitCode, 0);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("gfx90a: code object v4, 4 kernels, 2 device functions"),
                                    HasSubstr("  scale(float*, float, int)\n"), HasSubstr("  triple(int)\n"),
                                    HasSubstr("  counter\n"), HasSubstr(" 64    8/8  empty\n")));
  EXPECT_THAT(runLuthier("inspect --no-demangle --functions " + kFiles + "kernels_v4.co").output,
              AllOf(HasSubstr("_Z6triplei"), Not(HasSubstr("_Z5scalePffi")), Not(HasSubstr("counter"))));
}

TEST(Inspect, Json) {
  const Outcome outcome = runLuthier("inspect --json " + kFiles + "host_compressed.o");
  EXPECT_EQ(outcome.exitCode, 0);
  const auto json = nlohmann::json::parse(outcome.output, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << outcome.output;
  ASSERT_EQ(json["objects"].size(), 3u);
  const auto &object = json["objects"][1];
  EXPECT_EQ(object["target"], "gfx90a:xnack+");
  EXPECT_EQ(object["version"], 5);
  ASSERT_EQ(object["kernels"].size(), 4u);
  for (const auto &kernel : object["kernels"]) {
    EXPECT_EQ(kernel["wave_size"], 64);
    EXPECT_EQ(kernel["max_waves_per_simd"], 8);
    EXPECT_GE(kernel["allocated_vgprs"], kernel["vgprs"]);
    if (kernel["name"] == "_Z5callsPi5Pointi") {
      EXPECT_EQ(kernel["demangled"], "calls(int*, Point, int)");
      EXPECT_EQ(kernel["lds"], 256);
    }
  }
  EXPECT_EQ(object["device_functions"].size(), 2u);
}

TEST(Inspect, SelectsByTarget) {
  const Outcome one = runLuthier("inspect --kernels --target gfx90a:xnack- " + kFiles + "host_plain.o");
  EXPECT_EQ(one.exitCode, 0);
  EXPECT_THAT(one.output,
              AllOf(HasSubstr("gfx90a:xnack-: code object v5"), Not(HasSubstr("gfx1100")), Not(HasSubstr("xnack+"))));
  const Outcome none = runLuthier("inspect --target gfx906 " + kFiles + "host_plain.o");
  EXPECT_EQ(none.exitCode, 1);
  EXPECT_THAT(none.output,
              HasSubstr("no code for gfx906 in it; there is code for gfx1100, gfx90a:xnack+, gfx90a:xnack-"));
  EXPECT_EQ(runLuthier("inspect --target volta " + kFiles + "host_plain.o").exitCode, 2);
}

TEST(Inspect, RocRandsSevenTargets) {
  const Outcome outcome = runLuthier(std::string("inspect --kernels ") + kRocRand);
  EXPECT_EQ(outcome.exitCode, 0);
  EXPECT_THAT(outcome.output, HasSubstr("librocrand.so.1: 7 code objects\n"));
  for (const char *target :
       {"gfx1030", "gfx803", "gfx900:xnack-", "gfx906:xnack-", "gfx908:xnack-", "gfx90a:xnack+", "gfx90a:xnack-"})
    EXPECT_THAT(outcome.output, testing::ContainsRegex(
                                    std::string("\n  ") +
                                    (std::string(target).find('+') == std::string::npos ? target : "gfx90a:xnack[+]") +
                                    " +1 code object, 80 kernels"));
}

TEST(Inspect, SaysWhatIsWrong) {
  const TempFolder folder;
  auto failure = [](const std::string &arguments) {
    const Outcome outcome = runLuthier("inspect " + arguments);
    EXPECT_EQ(outcome.exitCode, 1) << arguments;
    return outcome.output;
  };
  EXPECT_THAT(failure("/nowhere"), HasSubstr("luthier: error: cannot open /nowhere: No such file"));
  EXPECT_THAT(failure(folder.write("text", "hello\n")), HasSubstr("text: neither an ELF file nor an offload bundle"));
  EXPECT_THAT(failure("/proc/self/exe"), HasSubstr("no GPU code in it"));
  // A broken object does not hide the others.
  std::ifstream file(kFiles + "host_plain.o", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const size_t magic = bytes.find("\177ELF", 64);
  ASSERT_NE(magic, std::string::npos);
  bytes[magic] = 'X';
  EXPECT_THAT(failure("--kernels " + folder.write("broken.o", bytes).string()),
              AllOf(HasSubstr("broken.o: bundle at offset 0x"), HasSubstr("gfx1100: not an ELF file"),
                    HasSubstr("gfx90a:xnack-: code object v5")));
  EXPECT_EQ(runLuthier("inspect").exitCode, 2);
  EXPECT_EQ(runLuthier("inspect --help").exitCode, 0);
}

} // namespace
} // namespace luthier::cli
