// The statistics file: what it says is what a kernel of known length executed.

#include "engine.h"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace luthier::vgpu::test {
namespace {

class StatsTest : public testing::Test {
protected:
  StatsTest()
      : path(std::filesystem::temp_directory_path() / ("stats_test." + std::to_string(getpid()))), stats(path) {}
  ~StatsTest() override { std::filesystem::remove(path); }

  nlohmann::json written() {
    std::ifstream file(path);
    return nlohmann::json::parse(file, nullptr, false);
  }

  std::string path;
  Stats stats;
};

TEST_F(StatsTest, NothingDispatchedWritesNothing) {
  stats.publish();
  EXPECT_FALSE(std::filesystem::exists(path));
}

/// `luthier run` makes an empty file.
TEST_F(StatsTest, AnEmptyFileBecomesADocument) {
  std::ofstream(path).close();
  {
    const Stats made(path);
    EXPECT_EQ(written()["dispatches"], nlohmann::json::array());
  }
  std::ofstream(path) << "of another process";
  const Stats other(path);
  EXPECT_TRUE(written().is_discarded());
}

TEST_F(StatsTest, CompleteAfterEveryDispatch) {
  StatsFile file(path);
  for (size_t n = 1; n <= 5; ++n) {
    file.add("{\"kernel\": \"" + std::string(n * 3000, 'k') + "\"}");
    const nlohmann::json document = written();
    ASSERT_EQ(document["dispatches"].size(), n);
    EXPECT_EQ(document["dispatches"][n - 1]["kernel"], std::string(n * 3000, 'k'));
  }
}

TEST_F(StatsTest, TheLastToEndHasTheFile) {
  StatsFile parent(path), child(path);
  parent.add("{\"kernel\": \"parent\"}");
  child.add("{\"kernel\": \"child\"}");
  EXPECT_EQ(written()["dispatches"][0]["kernel"], "child");
  parent.add("{\"kernel\": \"parent again\"}");
  child.publish();
  EXPECT_EQ(written()["dispatches"][0]["kernel"], "child");
  parent.publish();
  ASSERT_EQ(written()["dispatches"].size(), 2u);
  EXPECT_EQ(written()["dispatches"][1]["kernel"], "parent again");
  parent.add("{\"kernel\": \"once more\"}");
  EXPECT_EQ(written()["dispatches"].size(), 3u);
}

// Somebody may have guessed the name of the temporary file, and a path that is no file stays what it is.
TEST_F(StatsTest, NothingElseIsTouched) {
  const std::string victim = path + ".victim";
  std::ofstream(victim) << "mine";
  for (unsigned n = 0; n < 1000; ++n)
    std::filesystem::create_symlink(victim, path + "." + std::to_string(getpid()) + "." + std::to_string(n) + ".tmp");
  testing::internal::CaptureStderr();
  StatsFile(path).add("{}");
  StatsFile("/dev/null").add("{}");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("cannot create the statistics file " + path), std::string::npos) << said;
  EXPECT_NE(said.find("cannot replace the statistics file /dev/null"), std::string::npos) << said;
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_EQ(std::filesystem::file_size(victim), 4u);
  for (unsigned n = 0; n < 1000; ++n)
    std::filesystem::remove(path + "." + std::to_string(getpid()) + "." + std::to_string(n) + ".tmp");
  std::filesystem::remove(victim);
}

TEST_F(StatsTest, CountsWavesAndLanes) {
  Engine engine(2, {}, &stats);
  Launch launch;
  // Three instructions per wave, and two more with half of the lanes.
  launch.kernelObject = engine.kernel(R"(
    s_movk_i32 s20, 1
    s_movk_i32 s20, 2
    s_mov_b64 exec, 0xff
    v_mov_b32 v1, 1
    v_mov_b32_e64 v1, 1
    s_endpgm)");
  launch.grid = {100, 3, 1}; // per row one whole wave and one of 36 lanes
  launch.workgroup = {64, 1, 1};
  ASSERT_TRUE(engine.run(launch));
  ASSERT_TRUE(engine.run(launch));

  const nlohmann::json file = written();
  ASSERT_TRUE(file.is_object());
  EXPECT_EQ(file["version"], 1);
  ASSERT_EQ(file["dispatches"].size(), 2u);
  for (const nlohmann::json &dispatch : file["dispatches"]) {
    EXPECT_EQ(dispatch["kernel"], "test_kernel");
    EXPECT_EQ(dispatch["target"], "gfx90a");
    EXPECT_EQ(dispatch["grid"], nlohmann::json({100, 3, 1}));
    EXPECT_EQ(dispatch["workgroup"], nlohmann::json({64, 1, 1}));
    EXPECT_EQ(dispatch["waves"], 6);
    EXPECT_EQ(dispatch["wave_instructions"], 6 * 6);
    EXPECT_EQ(dispatch["completed"], true);
    EXPECT_LE(dispatch["begin"], dispatch["end"]);
    const nlohmann::json &opcodes = dispatch["opcodes"];
    EXPECT_EQ(opcodes["s_movk_i32"]["wave_instructions"], 12);
    EXPECT_EQ(opcodes["s_movk_i32"]["lane_instructions"], 3 * 2 * (64 + 36));
    EXPECT_EQ(opcodes["v_mov_b32"]["wave_instructions"], 12); // both encodings
    EXPECT_EQ(opcodes["v_mov_b32"]["lane_instructions"], 12 * 8);
    EXPECT_EQ(opcodes["s_endpgm"]["wave_instructions"], 6);
    uint64_t waves = 0, lanes = 0;
    for (const nlohmann::json &count : opcodes) {
      waves += count["wave_instructions"].get<uint64_t>();
      lanes += count["lane_instructions"].get<uint64_t>();
    }
    EXPECT_EQ(dispatch["wave_instructions"], waves);
    EXPECT_EQ(dispatch["lane_instructions"], lanes);
  }
}

TEST_F(StatsTest, InstructionsThatAreNotExactAreNamed) {
  Engine engine(1, {}, &stats);
  Launch launch;
  launch.kernelObject = engine.kernel("v_mov_b32 v1, 1.0\nv_exp_f32 v2, v1\ns_memtime s[20:21]\ns_endpgm");
  ASSERT_TRUE(engine.run(launch));
  launch.kernelObject = engine.kernel("v_mov_b32 v1, 1.0\ns_endpgm");
  ASSERT_TRUE(engine.run(launch));
  launch.kernelObject = engine.kernel("s_sendmsghalt 0\ns_endpgm");
  EXPECT_FALSE(engine.run(launch));
  const nlohmann::json file = written();
  ASSERT_EQ(file["dispatches"].size(), 3u);
  EXPECT_EQ(file["dispatches"][0]["not_exact"], (nlohmann::json{{"v_exp_f32", "documented"}, {"s_memtime", "chosen"}}));
  EXPECT_EQ(file["dispatches"][1]["not_exact"], nlohmann::json::object());
  EXPECT_EQ(file["dispatches"][2]["not_exact"], (nlohmann::json{{"s_sendmsghalt", "refused"}}));
}

TEST_F(StatsTest, DispatchesThatFaultAreMarked) {
  Engine engine(1, {}, &stats);
  Launch launch;
  launch.kernelObject = engine.kernel("s_movk_i32 s20, 1\n.long 0xffffffff");
  EXPECT_FALSE(engine.run(launch));
  const nlohmann::json file = written();
  ASSERT_EQ(file["dispatches"].size(), 1u);
  EXPECT_EQ(file["dispatches"][0]["completed"], false);
  EXPECT_EQ(file["dispatches"][0]["opcodes"]["s_movk_i32"]["wave_instructions"], 1);
}

TEST_F(StatsTest, EveryDispatchIsThereAtOnce) {
  Engine engine(1, {}, &stats);
  Launch launch;
  launch.kernelObject = engine.kernel("s_endpgm");
  for (size_t n = 1; n <= 3; ++n) {
    ASSERT_TRUE(engine.run(launch));
    EXPECT_EQ(written()["dispatches"].size(), n);
  }
}

} // namespace
} // namespace luthier::vgpu::test
