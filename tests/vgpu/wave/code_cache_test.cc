// Decoded code: dropped when told so, never under a running dispatch, and right at the seams between chunks.

#include "engine.h"
#include "vgpu/wave/code_cache.h"

#include <gtest/gtest.h>

namespace luthier::vgpu::test {
namespace {

class CodeCacheTest : public testing::Test {
protected:
  CodeCacheTest() : engine(1) {}

  /// The value that the one wave of a kernel leaves in s20.
  testing::AssertionResult runForS20(uint64_t descriptor, uint32_t &result) {
    Launch launch;
    launch.kernelObject = descriptor;
    launch.onWaveEnd = [&](const Workgroup &, const Wave &wave) { result = wave.s[20]; };
    return engine.run(launch);
  }

  Engine engine;
};

TEST_F(CodeCacheTest, ChangedCodeRunsAfterInvalidation) {
  const uint64_t code = engine.memory(4096);
  engine.place(code, "s_movk_i32 s20, 1\ns_endpgm");
  const uint64_t kernel = engine.descriptor(code);
  uint32_t result = 0;
  ASSERT_TRUE(runForS20(kernel, result));
  EXPECT_EQ(result, 1u);
  engine.place(code, "s_movk_i32 s20, 2\ns_endpgm"); // invalidates
  ASSERT_TRUE(runForS20(kernel, result));
  EXPECT_EQ(result, 2u);
}

TEST_F(CodeCacheTest, ChangedCodeDoesNotRunBeforeInvalidation) {
  const uint64_t code = engine.memory(4096);
  engine.place(code, "s_movk_i32 s20, 1\ns_endpgm");
  const uint64_t kernel = engine.descriptor(code);
  uint32_t result = 0;
  ASSERT_TRUE(runForS20(kernel, result));
  engine.at<uint16_t>(code) = 5; // the immediate
  ASSERT_TRUE(runForS20(kernel, result));
  EXPECT_EQ(result, 1u);
  engine.device().invalidateCode();
  ASSERT_TRUE(runForS20(kernel, result));
  EXPECT_EQ(result, 5u);
}

TEST_F(CodeCacheTest, OnlyRangesWithCodeAreInvalidated) {
  const uint64_t code = engine.memory(4096), data = engine.memory(64 * CodeChunk::kBytes) + 32 * CodeChunk::kBytes;
  engine.place(code, "s_movk_i32 s20, 1\ns_endpgm");
  const uint64_t kernel = engine.descriptor(code);
  EXPECT_FALSE(engine.device().invalidateCode(code, 4096)); // nothing has run
  uint32_t result = 0;
  ASSERT_TRUE(runForS20(kernel, result));
  engine.at<uint16_t>(code) = 5;
  EXPECT_FALSE(engine.device().invalidateCode(data, 4096));
  ASSERT_TRUE(runForS20(kernel, result));
  EXPECT_EQ(result, 1u);
  EXPECT_TRUE(engine.device().invalidateCode(code, 4096));
  ASSERT_TRUE(runForS20(kernel, result));
  EXPECT_EQ(result, 5u);
}

TEST_F(CodeCacheTest, ARunningDispatchKeepsItsCode) {
  const uint64_t code = engine.memory(4096);
  engine.place(code, "s_movk_i32 s20, 1\ns_endpgm");
  Launch launch;
  launch.kernelObject = engine.descriptor(code);
  auto dispatch = engine.device().prepare(launch, {});
  WavePool pool;
  auto group = Workgroup::startNext(*dispatch, pool, nullptr); // decodes
  engine.place(code, "s_movk_i32 s20, 2\ns_endpgm");
  EXPECT_EQ(group->step(0), Stop::None);
  EXPECT_EQ(group->waves()[0]->s[20], 1u);
  EXPECT_EQ(group->step(0), Stop::End);
}

TEST_F(CodeCacheTest, CodeRunsOnIntoTheNextChunk) {
  // Room for a chunk boundary with code on both sides of it.
  const uint64_t area = engine.memory(3 * CodeChunk::kBytes);
  const uint64_t boundary = (area + 2 * CodeChunk::kBytes - 1) / CodeChunk::kBytes * CodeChunk::kBytes;
  engine.place(boundary - 8, "s_movk_i32 s20, 1\ns_addk_i32 s20, 2\ns_addk_i32 s20, 4\ns_endpgm");
  uint32_t result = 0;
  ASSERT_TRUE(runForS20(engine.descriptor(boundary - 8), result));
  EXPECT_EQ(result, 7u);
}

TEST_F(CodeCacheTest, AnInstructionMayLieAcrossTheBoundary) {
  const uint64_t area = engine.memory(3 * CodeChunk::kBytes);
  const uint64_t boundary = (area + 2 * CodeChunk::kBytes - 1) / CodeChunk::kBytes * CodeChunk::kBytes;
  engine.place(boundary - 4, "s_mov_b32 s20, 0x12345678\ns_addk_i32 s20, 1\ns_endpgm");
  uint32_t result = 0;
  ASSERT_TRUE(runForS20(engine.descriptor(boundary - 4), result));
  EXPECT_EQ(result, 0x12345679u);
}

TEST_F(CodeCacheTest, BranchesCrossTheBoundary) {
  const uint64_t area = engine.memory(3 * CodeChunk::kBytes);
  const uint64_t boundary = (area + 2 * CodeChunk::kBytes - 1) / CodeChunk::kBytes * CodeChunk::kBytes;
  engine.place(boundary - 8, R"(
      s_branch over
    back:
      s_endpgm
    over:
      s_movk_i32 s20, 9
      s_branch back)");
  uint32_t result = 0;
  ASSERT_TRUE(runForS20(engine.descriptor(boundary - 8), result));
  EXPECT_EQ(result, 9u);
}

TEST_F(CodeCacheTest, TheHopIsNotCounted) {
  const uint64_t area = engine.memory(3 * CodeChunk::kBytes);
  const uint64_t boundary = (area + 2 * CodeChunk::kBytes - 1) / CodeChunk::kBytes * CodeChunk::kBytes;
  engine.place(boundary - 4, "s_movk_i32 s20, 1\ns_endpgm");
  Launch launch;
  launch.kernelObject = engine.descriptor(boundary - 4);
  launch.count = true;
  auto running = engine.start(launch);
  ASSERT_TRUE(running->completed());
  uint64_t executed = 0;
  for (const OpcodeCount &count : running->dispatch->counters()->opcodes())
    executed += count.waves;
  EXPECT_EQ(executed, 2u);
}

TEST_F(CodeCacheTest, SteppingSkipsTheHop) {
  const uint64_t area = engine.memory(3 * CodeChunk::kBytes);
  const uint64_t boundary = (area + 2 * CodeChunk::kBytes - 1) / CodeChunk::kBytes * CodeChunk::kBytes;
  engine.place(boundary - 4, "s_movk_i32 s20, 1\ns_movk_i32 s20, 2\ns_endpgm");
  Launch launch;
  launch.kernelObject = engine.descriptor(boundary - 4);
  auto dispatch = engine.device().prepare(launch, {});
  WavePool pool;
  auto group = Workgroup::startNext(*dispatch, pool, nullptr);
  EXPECT_EQ(group->step(0), Stop::None);
  EXPECT_EQ(group->waves()[0]->s[20], 1u);
  EXPECT_EQ(group->step(0), Stop::None);
  EXPECT_EQ(group->waves()[0]->s[20], 2u);
  EXPECT_EQ(group->step(0), Stop::End);
}

TEST_F(CodeCacheTest, RunningOffTheMappedCodeIsAFault) {
  const uint64_t code = engine.memory(2 * 4096);
  engine.place(code + 4092, "s_movk_i32 s20, 1");
  Launch launch;
  launch.kernelObject = engine.descriptor(code + 4092);
  engine.space().unmap(code + 4096, 4096, engine.device().mask());
  ASSERT_FALSE(engine.space().allows(code + 4096, 4, engine.device().mask()));
  auto running = engine.start(launch);
  ASSERT_TRUE(running->ended());
  EXPECT_EQ(running->fault.kind, Fault::Kind::Memory);
  EXPECT_EQ(running->fault.address, code + 4096);
}

TEST_F(CodeCacheTest, AnUnknownInstructionIsReportedOnlyWhenReached) {
  const uint64_t kernel = engine.kernel("s_movk_i32 s20, 3\ns_branch over\n.long 0xffffffff\nover: s_endpgm");
  uint32_t result = 0;
  ASSERT_TRUE(runForS20(kernel, result));
  EXPECT_EQ(result, 3u);

  Launch launch;
  launch.kernelObject = engine.kernel("s_movk_i32 s20, 3\n.long 0xffffffff\ns_endpgm");
  auto running = engine.start(launch);
  ASSERT_TRUE(running->ended());
  EXPECT_EQ(running->fault.kind, Fault::Kind::IllegalInstruction);
  EXPECT_NE(running->fault.text.find("ffffffff"), std::string::npos) << running->fault.text;
  EXPECT_NE(running->fault.text.find("test_kernel"), std::string::npos) << running->fault.text;
}

} // namespace
} // namespace luthier::vgpu::test
