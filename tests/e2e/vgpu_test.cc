// The virtual GPU as a user meets it: unmodified ROCr and HIP programs, what they print and how they end.

#include "run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>

namespace luthier::e2e {
namespace {

using testing::AnyOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

std::string program(const std::string &name) { return LUTHIER_PROGRAMS "/" + name; }
std::string sampleProgram(const std::string &name) { return LUTHIER_SAMPLES "/" + name; }
const std::vector<std::string> kOneGpu = {"--gpu", "gfx90a"};

TEST(VirtualGpu, RocminfoListsTheAgent) {
  const Outcome outcome = luthierRun(kOneGpu, {"rocminfo"});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("Name:                    gfx90a"));
  EXPECT_THAT(outcome.output, HasSubstr("amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"));
  EXPECT_THAT(outcome.output, HasSubstr("Compute Unit:            104"));
  EXPECT_THAT(outcome.output, HasSubstr("Wavefront Size:          64(0x40)"));
  EXPECT_THAT(outcome.output, HasSubstr("Segment:                 GROUP"));
  EXPECT_THAT(outcome.output, HasSubstr("Marketing Name:          Luthier virtual gfx90a"));
}

TEST(VirtualGpu, TwoGpusAreTwoAgents) {
  const Outcome outcome = luthierRun({"--gpu", "gfx90a,gfx90a"}, {"rocminfo"});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("Agent 3"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("Agent 4")));
}

// A script of ROCm's that reads the files itself.
TEST(VirtualGpu, AgentEnumeratorReadsTheTopology) {
  const Outcome outcome = luthierRun({"--gpu", "gfx90a,gfx90a"}, {"rocm_agent_enumerator"});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_THAT(outcome.output, testing::EndsWith("gfx90a\ngfx90a\n"));
}

/// ROCr or HIP end the program. HIP 7 leaves that to the program, which prints the error that it gets.
void expectFault(const Outcome &outcome) {
  if (outcome.signal == SIGABRT)
    return;
  EXPECT_EQ(outcome.exitCode, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("hipError"));
}

TEST(VirtualGpu, OutOfBoundsAccessEndsAsOnHardware) {
  const Outcome outcome = luthierRun(kOneGpu, {sampleProgram("memory_fault")});
  expectFault(outcome);
  EXPECT_THAT(outcome.output,
              AnyOf(HasSubstr("Memory access fault by GPU node-1"), HasSubstr("hipErrorIllegalAddress")));
  EXPECT_THAT(outcome.output, HasSubstr("0x3ffffffff000"));
  // In front of it, what hardware does not say.
  EXPECT_THAT(outcome.output,
              HasSubstr("luthier vgpu: invalid-address: write of 4 bytes at 0x3ffffffff000, which is in "
                        "no allocation and near none\n"));
  EXPECT_THAT(outcome.output, HasSubstr("kernel      writeTo(int*)\n"));
  EXPECT_THAT(outcome.output, testing::ContainsRegex("> 0x[0-9a-f]+  (global|flat)_store_dword"));
  EXPECT_THAT(outcome.output, HasSubstr("by          lanes 0-63 of wave 0 of workgroup (0, 0, 0)\n"));
  EXPECT_THAT(outcome.output, HasSubstr("work-items (0-63, 0, 0)\n"));
  EXPECT_THAT(outcome.output, HasSubstr("address     0x3ffffffff000\n"));
}

// Behind a buffer, with debug information.
TEST(VirtualGpu, FaultNamesSourceAndNearestBuffer) {
  const Outcome outcome = luthierRun(kOneGpu, {program("twins"), "far_behind", "faulty"});
  EXPECT_EQ(outcome.signal, SIGABRT) << outcome.output;
  EXPECT_THAT(outcome.output,
              testing::ContainsRegex("luthier vgpu: out-of-bounds: write of 1 byte, [0-9]+ bytes behind the "
                                     "end of [0-9]+ bytes of device memory"));
  EXPECT_THAT(outcome.output, testing::ContainsRegex("source      .*/twins\\.hip:[0-9]+"));
  EXPECT_THAT(outcome.output, HasSubstr("by          lane 5 of wave 0"));
  EXPECT_THAT(outcome.output, testing::ContainsRegex("memory      [0-9]+ bytes of device memory at 0x"));
  EXPECT_THAT(outcome.output, HasSubstr("a buffer of the driver: whole pages"));
}

TEST(VirtualGpu, UnimplementedInstructionNamesItself) {
  const Outcome outcome = luthierRun(kOneGpu, {program("illegal_instruction"), "graphics"});
  expectFault(outcome);
  EXPECT_THAT(outcome.output, HasSubstr("image_load"));
  EXPECT_THAT(outcome.output, HasSubstr("runGraphics"));
  EXPECT_THAT(outcome.output, HasSubstr("encoding"));
  EXPECT_THAT(outcome.output, HasSubstr("pc          0x"));
}

TEST(VirtualGpu, BytesThatAreNoInstructionAreShown) {
  const Outcome outcome = luthierRun(kOneGpu, {program("illegal_instruction"), "garbage"});
  expectFault(outcome);
  EXPECT_THAT(outcome.output, HasSubstr("bfff1234"));
  EXPECT_THAT(outcome.output, HasSubstr("runGarbage"));
}

TEST(VirtualGpu, StrictWaitsNameTheEarlyInstruction) {
  EXPECT_EQ(luthierRun(kOneGpu, {program("illegal_instruction"), "early"}).exitCode, 0);
  const Outcome outcome = luthierRun({"--gpu", "gfx90a", "--strict-waits"}, {program("illegal_instruction"), "early"});
  expectFault(outcome);
  EXPECT_THAT(outcome.output, HasSubstr("is read before a wait covers the operation that loads it"));
  EXPECT_THAT(outcome.output, HasSubstr("in flight   global_load_dword v"));
  EXPECT_THAT(outcome.output, HasSubstr("instruction v_add_u32_e32 v"));
  EXPECT_THAT(outcome.output, HasSubstr("runEarly"));
}

TEST(VirtualGpu, EndlessKernelIsEndedByCtrlC) {
  bool interrupted = false;
  const Outcome outcome =
      luthierRun(kOneGpu, {sampleProgram("endless_loop")}, 60, [&](const std::string &output, int pid) {
        if (!interrupted && output.find("running") != std::string::npos) {
          interrupted = true;
          kill(pid, SIGINT);
        }
      });
  EXPECT_TRUE(interrupted) << outcome.output;
  EXPECT_EQ(outcome.signal, SIGINT) << outcome.output;
}

TEST(VirtualGpu, LongKernelDoesNotStopAnotherQueue) {
  const Outcome outcome = luthierRun(kOneGpu, {program("two_queues")});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("PASS"));
}

TEST(VirtualGpu, LongKernelDoesNotStopAnotherQueueOnOneThread) {
  const Outcome outcome = luthierRun({"--gpu", "gfx90a", "--threads", "1"}, {program("two_queues")});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
}

TEST(VirtualGpu, StressIsRightTwice) {
  const Outcome outcome = luthierRun(kOneGpu, {program("stress"), "8", "4", "150", "2"}, 240);
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("PASS"));
}

TEST(VirtualGpu, StatisticsCountEveryDispatch) {
  const std::string file = testing::TempDir() + std::to_string(getpid()) + "-vgpu-stats.json";
  const Outcome outcome = luthierRun({"--gpu", "gfx90a", "--stats", file}, {sampleProgram("vector_add")});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.output;
  std::ifstream stream(file);
  const nlohmann::json stats = nlohmann::json::parse(stream, nullptr, false);
  ASSERT_FALSE(stats.is_discarded());
  unsigned found = 0;
  for (const auto &dispatch : stats["dispatches"]) {
    uint64_t waves = 0, lanes = 0;
    for (const auto &opcode : dispatch["opcodes"]) {
      waves += opcode["wave_instructions"].get<uint64_t>();
      lanes += opcode["lane_instructions"].get<uint64_t>();
    }
    EXPECT_EQ(waves, dispatch["wave_instructions"].get<uint64_t>());
    EXPECT_EQ(lanes, dispatch["lane_instructions"].get<uint64_t>());
    if (dispatch["kernel"].get<std::string>().find("vectorAdd") == std::string::npos)
      continue;
    ++found;
    // Every wave of the grid ends once.
    EXPECT_EQ(dispatch["opcodes"]["s_endpgm"]["wave_instructions"], dispatch["waves"]);
    EXPECT_EQ(dispatch["completed"], true);
  }
  EXPECT_GE(found, 1u) << stats.dump(1);
}

/// How often `fill` of tests/e2e/endings.hip is in the statistics, -1 when they are not whole.
int fillsIn(const std::string &file) {
  std::ifstream stream(file);
  const nlohmann::json stats = nlohmann::json::parse(stream, nullptr, false);
  if (stats.is_discarded())
    return -1;
  int found = 0;
  for (const auto &dispatch : stats["dispatches"])
    found += dispatch["kernel"].get<std::string>().find("fill") != std::string::npos && dispatch["completed"];
  return found;
}

TEST(VirtualGpu, StatisticsAreWholeHoweverTheApplicationEnds) {
  const std::string file = testing::TempDir() + std::to_string(getpid()) + "-vgpu-stats-endings.json";
  for (const char *how : {"return", "_exit", "quick_exit", "handler"}) {
    const Outcome outcome = luthierRun({"--gpu", "gfx90a", "--stats", file}, {program("endings"), how});
    EXPECT_EQ(outcome.exitCode, 3) << how << ": " << outcome.output;
    EXPECT_EQ(fillsIn(file), 1) << how;
  }
  const std::pair<const char *, int> signals[] = {
      {"abort", SIGABRT}, {"terminate", SIGTERM}, {"interrupt", SIGINT}, {"kill", SIGKILL}};
  for (const auto &[how, expected] : signals) {
    const Outcome outcome = luthierRun({"--gpu", "gfx90a", "--stats", file}, {program("endings"), how});
    EXPECT_EQ(outcome.signal, expected) << how << ": " << outcome.output;
    EXPECT_EQ(fillsIn(file), 1) << how;
  }
}

TEST(VirtualGpu, TraceShowsWhatAKernelDid) {
  const std::string file = testing::TempDir() + std::to_string(getpid()) + "-vgpu-trace.jsonl";
  const Outcome outcome =
      luthierRun({"--gpu", "gfx90a", "--trace-vgpu", file, "--trace-kernel", "vectorAdd", "--trace-wave", "5-6"},
                 {sampleProgram("vector_add"), "3000"});
  ASSERT_EQ(outcome.exitCode, 0) << outcome.output;
  std::ifstream stream(file);
  std::map<unsigned, std::vector<nlohmann::json>> waves;
  for (std::string text; std::getline(stream, text);) {
    const nlohmann::json line = nlohmann::json::parse(text, nullptr, false);
    ASSERT_FALSE(line.is_discarded()) << text;
    EXPECT_THAT(line["kernel"].get<std::string>(), HasSubstr("vectorAdd"));
    waves[line["dispatch_wave"].get<unsigned>()].push_back(line);
  }
  ASSERT_EQ(waves.size(), 2u);
  for (const auto &[number, lines] : waves) {
    EXPECT_EQ(lines[0]["workgroup"], nlohmann::json::array({number / 4, 0, 0}));
    EXPECT_EQ(lines[0]["wave"], number % 4);
    EXPECT_EQ(lines[0]["offset"], 0);
    EXPECT_EQ(lines.back()["inst"], "s_endpgm");
    // What is stored is the sum of what was loaded, at the address of the lane's element.
    std::vector<std::vector<uint32_t>> loaded;
    const nlohmann::json *store = nullptr;
    for (const auto &line : lines) {
      const std::string inst = line["inst"];
      if (inst.starts_with("global_load_dword "))
        loaded.push_back(line["out"].begin().value().get<std::vector<uint32_t>>());
      else if (inst.starts_with("global_store_dword "))
        store = &line;
    }
    ASSERT_EQ(loaded.size(), 2u);
    ASSERT_TRUE(store);
    std::vector<uint32_t> sums(64);
    for (unsigned lane = 0; lane < 64; ++lane) {
      sums[lane] = loaded[0][lane] + loaded[1][lane];
      EXPECT_EQ((*store)["addresses"][lane].get<uint64_t>() - (*store)["addresses"][0].get<uint64_t>(), 4 * lane);
    }
    bool found = false;
    for (const auto &value : (*store)["in"])
      found |= value.is_array() && value.get<std::vector<uint32_t>>() == sums;
    EXPECT_TRUE(found) << store->dump();
  }
}

TEST(VirtualGpu, DeadRegistersAreOverwritten) {
  const Outcome outcome = luthierRun({"--gpu", "gfx90a", "--poison-dead", "3"}, {sampleProgram("vector_add"), "3000"});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("luthier vgpu: overwrote "));
  EXPECT_THAT(outcome.output, Not(HasSubstr("overwrote 0 dead registers")));
}

TEST(VirtualGpu, StrictResourcesSayWhatTheyDid) {
  for (const bool xnack : {false, true}) {
    setenv("HSA_XNACK", xnack ? "1" : "0", 1);
    const Outcome outcome =
        luthierRun({"--gpu", "gfx90a", "--strict-resources=3", "--strict-l1"}, {sampleProgram("vector_add"), "3000"});
    unsetenv("HSA_XNACK");
    EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
    EXPECT_THAT(outcome.output, ContainsRegex("strict resources, seed 3: [1-9][0-9]* waves; XNACK_MASK written " +
                                              std::string(xnack ? "[1-9][0-9]*" : "0") +
                                              " times; stale: VCCZ at 0 branches, 0 dwords in caches"));
  }
}

TEST(VirtualGpu, NoLlvmSymbolIsVisible) {
  const std::string command = "nm -D --defined-only '" LUTHIER_DRIVER
                              "' | grep -vE ' (luthier(Vgpu|Check)[A-Za-z]+|OnLoad|OnUnload)$' | grep .";
  EXPECT_NE(std::system(command.c_str()), 0) << "symbols other than the driver's entries are exported";
}

} // namespace
} // namespace luthier::e2e
