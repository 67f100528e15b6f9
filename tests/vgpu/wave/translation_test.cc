// Whole kernels, translated and interpreted: memory must be the same to the bit, and so must faults.
//
// LUTHIER_VGPU_TRANSLATE is `always` here. The interpreter's turn comes with a launch that counts: what is watched is
// never translated.

#include "engine.h"

#include "vgpu/exec/level.h"
#include "vgpu/translate/library.h"
#include "vgpu/translate/report.h"
#include "vgpu/translate/thread.h"

#include <fmt/format.h>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <functional>
#include <sstream>

namespace {
std::atomic<bool> mappingFails = false;
} // namespace

/// In front of libc's, for the translator: malloc does not come here.
extern "C" [[gnu::visibility("default")]] void *mmap(void *address, size_t length, int protection, int flags, int file,
                                                     off_t offset) noexcept {
  if (mappingFails && file == -1) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return reinterpret_cast<void *>(syscall(SYS_mmap, address, length, protection, flags, file, offset)); // NOLINT
}

namespace luthier::vgpu::test {
namespace {

class Translation : public testing::Test {
protected:
  void SetUp() override {
    if (!translator())
      GTEST_SKIP() << "no translator for the CPU level " << execLevel().name;
  }

  struct Result {
    std::vector<uint32_t> memory;
    Fault fault;
    uint64_t translated = 0;
  };

  /// Runs on `words` dwords of memory, each its own number times 0x01000193, but never infinite or NaN. Arguments:
  /// where they are, `words`.
  Result run(uint64_t kernel, uint32_t grid, uint32_t group, uint32_t words, bool interpreted) {
    const uint64_t memory = memory_ ? memory_ : memory_ = engine.memory(words * 4ull);
    for (uint32_t n = 0; n < words; ++n)
      Engine::at<uint32_t>(memory, n) = n * 0x01000193 & ~0x00800000u;
    Launch launch;
    launch.kernelObject = kernel;
    launch.grid = {grid, 1, 1};
    launch.workgroup = {static_cast<uint16_t>(group), 1, 1};
    launch.kernarg = arguments_ ? arguments_ : arguments_ = engine.arguments(memory, words);
    launch.count = interpreted;
    launch.groupSegmentSize = lds_;
    const auto running = engine.start(launch);
    EXPECT_TRUE(running->ended());
    Result result;
    result.memory.assign(&Engine::at<uint32_t>(memory), &Engine::at<uint32_t>(memory) + words);
    result.fault = running->fault;
    result.translated = running->dispatch->translatedWaves();
    return result;
  }

  /// Both ways. `translated`: waves that must run to their end in translated code.
  void both(uint64_t kernel, uint32_t grid, uint32_t group, uint32_t words, uint64_t translated) {
    const Result expected = run(kernel, grid, group, words, true), actual = run(kernel, grid, group, words, false);
    EXPECT_EQ(expected.fault.kind, Fault::Kind::None) << expected.fault.text;
    EXPECT_EQ(actual.fault.kind, Fault::Kind::None) << actual.fault.text;
    EXPECT_EQ(expected.translated, 0u);
    if (translated != kAny)
      EXPECT_EQ(actual.translated, translated);
    for (uint32_t n = 0; n < words; ++n)
      ASSERT_EQ(actual.memory[n], expected.memory[n]) << "dword " << n;
  }

  Engine engine{2};
  uint32_t lds_ = 0; ///< bytes of a workgroup
  static constexpr uint64_t kAny = ~0ull;

private:
  uint64_t memory_ = 0, arguments_ = 0;
};

/// x[i] = fma(x[i], 1.5, x[i]) * 3 for i < n, where work-items have numbers in v1: what compilers write for that.
std::string guarded(unsigned group) {
  return prologue(group) + R"(
    s_load_dword s9, s[0:1], 0x8
    s_waitcnt lgkmcnt(0)
    v_cmp_gt_u32 vcc, s9, v1
    s_and_saveexec_b64 s[10:11], vcc
    s_cbranch_execz end
    v_mov_b32 v3, s7
    v_add_co_u32 v2, vcc, s6, v2
    v_addc_co_u32 v3, vcc, 0, v3, vcc
    global_load_dword v4, v[2:3], off
    s_waitcnt vmcnt(0)
    v_fma_f32 v5, v4, 0.5, v4
    v_mul_f32 v5, 0x40400000, v5
    global_store_dword v[2:3], v5, off
    end:
    s_endpgm
)";
}

TEST_F(Translation, WholeWaves) { both(engine.kernel(guarded(256)), 256 * 40, 256, 256 * 40, 4 * 40); }

TEST_F(Translation, GuardNarrowsExec) {
  // 10 of 12 waves have all lanes on, one some, one none.
  both(engine.kernel(guarded(256)), 256 * 3, 256, 64 * 10 + 17, 12);
}

TEST_F(Translation, SmallerLastWorkgroup) {
  // It has one whole wave, and one that starts with some lanes off and is interpreted.
  both(engine.kernel(guarded(256)), 256 * 5 + 100, 256, 256 * 6, 4 * 5 + 1);
}

TEST_F(Translation, PartialWaveInEveryWorkgroup) { both(engine.kernel(guarded(96)), 96 * 20, 96, 96 * 20, 20); }

TEST_F(Translation, ManyWorkgroupsOnSeveralWorkers) {
  both(engine.kernel(guarded(64)), 64 * 20000, 64, 64 * 20000, 20000);
}

TEST_F(Translation, ScatteredAddresses) {
  // Each lane at the place of its neighbour.
  const std::string swapped = prologue(64) + R"(
    v_xor_b32 v2, 4, v2
    global_load_dword v3, v2, s[6:7]
    v_add_u32 v4, 7, v1
    s_waitcnt vmcnt(0)
    v_add_u32 v3, v3, v4
    global_store_dword v2, v3, s[6:7]
    s_endpgm
)";
  both(engine.kernel(swapped), 64 * 300, 64, 64 * 300, 300);
}

TEST_F(Translation, RegistersStartAsZero) {
  // Uses registers that nothing wrote, before and behind a place where a handler is called: v40, s60.
  const std::string zeros = prologue(64) + R"(
    v_add_u32 v3, 5, v40
    v_xor_b32 v6, 4, v2
    global_store_dword v6, v3, s[6:7]
    v_add_u32 v4, v41, v3
    v_add_u32 v4, s60, v4
    v_add_u32 v4, v4, v0
    global_store_dword v2, v4, s[6:7]
    s_endpgm
)";
  both(engine.kernel(zeros), 64 * 8, 64, 64 * 8, 8);
}

TEST_F(Translation, OtherModes) {
  const std::string arithmetic = prologue(64) + R"(
    v_mov_b32 v7, 0x00400000
    v_add_f32 v8, v7, v7
    v_mov_b32 v7, 0x3f800001
    v_mul_f32 v9, v7, v7
    v_cvt_f32_u32 v10, 0x01ffffff
    v_xor_b32 v8, v8, v9
    v_xor_b32 v8, v8, v10
    global_load_dword v3, v2, s[6:7]
    s_waitcnt vmcnt(0)
    v_and_b32 v3, 0x807fffff, v3
    v_mul_f32 v3, 0.5, v3
    v_xor_b32 v3, v3, v8
    global_store_dword v2, v3, s[6:7]
    s_endpgm
)";
  const auto withMode = [&](uint32_t floatMode, uint64_t translated) {
    DescriptorBits bits;
    bits.rsrc1 = (bits.rsrc1 & ~(0xffu << 12)) | floatMode << 12;
    both(engine.kernel(arithmetic, bits), 64 * 4, 64, 64 * 4, translated);
  };
  withMode(0xf0, 4); // nearest
  withMode(0xff, 4); // toward zero
  withMode(0xf5, 4); // up
  withMode(0x00, 0); // denormals flushed
  withMode(0xaf, 0); // as inputs only
  withMode(0xf3, 0); // f32 and f64 differ
}

TEST_F(Translation, FaultsAreTheInterpreters) {
  // Work-items from 1024 on are behind the end of the memory.
  const uint64_t kernel = engine.kernel(prologue(64) + R"(
    global_load_dword v3, v2, s[6:7]
    s_waitcnt vmcnt(0)
    v_add_u32 v3, 1, v3
    global_store_dword v2, v3, s[6:7]
    s_endpgm
)");
  constexpr uint32_t kWords = Engine::kPage / 4;
  const uint64_t guard = engine.memory(2 * Engine::kPage);
  engine.space().unmap(guard + Engine::kPage, Engine::kPage, engine.device().mask());
  const uint64_t arguments = engine.arguments(guard);
  Fault faults[2];
  for (const bool interpreted : {true, false}) {
    Launch launch;
    launch.kernelObject = kernel;
    launch.grid = {kWords + 64, 1, 1};
    launch.workgroup = {64, 1, 1};
    launch.kernarg = arguments;
    launch.count = interpreted;
    const auto running = engine.start(launch);
    ASSERT_TRUE(running->ended());
    faults[interpreted] = running->fault;
    EXPECT_EQ(interpreted, running->dispatch->translatedWaves() == 0);
  }
  EXPECT_EQ(faults[0].kind, Fault::Kind::Memory);
  EXPECT_EQ(faults[0].address, guard + Engine::kPage);
  EXPECT_EQ(faults[0].address, faults[1].address);
  EXPECT_EQ(faults[0].write, faults[1].write);
  EXPECT_EQ(faults[0].text, faults[1].text);
}

TEST_F(Translation, ScalarLoadFaultsAreTheInterpreters) {
  const uint64_t kernel = engine.kernel("s_load_dwordx2 s[6:7], s[0:1], 0x0\n"
                                        "s_waitcnt lgkmcnt(0)\n"
                                        "s_load_dword s8, s[6:7], 0x0\n"
                                        "s_endpgm\n");
  std::string texts[2];
  for (const bool interpreted : {true, false}) {
    Launch launch;
    launch.kernelObject = kernel;
    launch.grid = {64, 1, 1};
    launch.workgroup = {64, 1, 1};
    launch.kernarg = engine.arguments(uint64_t{0x1000});
    launch.count = interpreted;
    const auto running = engine.start(launch);
    ASSERT_TRUE(running->ended());
    EXPECT_EQ(running->fault.kind, Fault::Kind::Memory);
    texts[interpreted] = running->fault.text;
  }
  EXPECT_EQ(texts[0], texts[1]);
}

TEST_F(Translation, NewCodeIsTranslatedAnew) {
  const uint64_t code = engine.memory(64 * 1024);
  const auto adds = [&](int what) {
    engine.place(code, prologue(64) + "global_load_dword v3, v2, s[6:7]\ns_waitcnt vmcnt(0)\nv_add_u32 v3, " +
                           std::to_string(what) + ", v3\nglobal_store_dword v2, v3, s[6:7]\ns_endpgm\n");
  };
  adds(1);
  const uint64_t kernel = engine.descriptor(code);
  EXPECT_EQ(run(kernel, 64, 64, 64, false).memory[1], 0x01000193u + 1);
  EXPECT_EQ(run(kernel, 64, 64, 64, false).translated, 1u);
  adds(2);
  const Result second = run(kernel, 64, 64, 64, false);
  EXPECT_EQ(second.memory[1], 0x01000193u + 2);
  EXPECT_EQ(second.translated, 1u);
}

TEST_F(Translation, LoopsAndBarriers) {
  // Each wave adds up what the others of its workgroup have left in LDS, three times.
  const std::string loop = prologue(256) + R"(
    v_lshlrev_b32 v4, 2, v0
    v_xor_b32 v5, 0x100, v4
    s_mov_b32 s12, 3
    again:
    ds_write_b32 v4, v1
    s_waitcnt lgkmcnt(0)
    s_barrier
    ds_read_b32 v6, v5
    s_waitcnt lgkmcnt(0)
    s_barrier
    v_add_u32 v1, v1, v6
    s_sub_u32 s12, s12, 1
    s_cmp_lg_u32 s12, 0
    s_cbranch_scc1 again
    global_store_dword v2, v1, s[6:7]
    s_endpgm
)";
  lds_ = 1024;
  both(engine.kernel(loop), 256 * 4, 256, 256 * 4, 4 * 4);
}

TEST_F(Translation, LdsAccesses) {
  // By all ways of addressing: shared by rows of lanes, consecutive, scattered, and behind the end.
  const std::string start = prologue(64) + R"(
    v_mov_b32 v3, v1
    v_add_u32 v4, 7, v1
    v_mul_lo_u32 v5, v1, v1
    v_xor_b32 v6, v5, v4
)";
  const char *addresses[] = {"v_lshrrev_b32 v10, 4, v0\nv_lshlrev_b32 v10, 4, v10\n",
                             "v_lshlrev_b32 v10, 4, v0\n",
                             "v_mul_u32_u24 v10, 28, v0\nv_and_b32 v10, 0x3fc, v10\n",
                             "v_mul_u32_u24 v10, 40, v0\nv_and_b32 v10, 0xffc, v10\n",
                             "v_lshlrev_b32 v10, 2, v0\n",
                             "v_xor_b32 v10, 13, v0\n"};
  const char *accesses = R"(
    ds_write_b32 v10, v3 offset:8
    ds_write_b64 v10, v[4:5] offset:16
    ds_write_b128 v10, v[4:7] offset:32
    s_waitcnt lgkmcnt(0)
    ds_read_b32 v20, v10 offset:4
    ds_read_b64 v[22:23], v10
    ds_read_b96 v[24:26], v10
    ds_read_b128 v[28:31], v10 offset:16
    ds_read2_b32 v[32:33], v10 offset0:3 offset1:9
    ds_read2_b64 v[34:37], v10 offset0:2 offset1:1
    ds_read2st64_b32 v[38:39], v10 offset0:1 offset1:2
    s_waitcnt lgkmcnt(0)
)";
  std::string end = "s_mov_b64 exec, -1\nv_mov_b32 v3, 0\n";
  for (unsigned reg = 20; reg < 40; ++reg)
    end += fmt::format("v_mul_lo_u32 v3, v3, 33\nv_add_u32 v3, v3, v{}\n", reg);
  end += "global_store_dword v2, v3, s[6:7]\ns_endpgm\n";
  lds_ = 2048;
  const char *execs[] = {"", "s_mov_b32 exec_lo, 0x0ff0f00c\n", "s_mov_b64 exec, 0\n"};
  for (unsigned n = 0; n < std::size(addresses); ++n)
    both(engine.kernel(start + addresses[n] + execs[n % 2] + accesses + end), 64 * 2, 64, 64 * 2, 2);
  both(engine.kernel(start + addresses[4] + execs[2] + accesses + end), 64 * 2, 64, 64 * 2, 2);
}

TEST_F(Translation, LoopsOfLanes) {
  // Each lane goes round as often as the low bits of its number say, 0 times included; and a longer way every second
  // time.
  const std::string lanes = prologue(64) + R"(
    v_and_b32 v3, 15, v0
    v_mov_b32 v4, v1
    v_cmp_ne_u32 vcc, 0, v3
    s_and_saveexec_b64 s[10:11], vcc
    s_cbranch_execz end
    s_mov_b64 s[12:13], 0
    again:
    v_and_b32 v5, 1, v3
    v_cmp_eq_u32 vcc, 1, v5
    s_and_saveexec_b64 s[14:15], vcc
    v_mul_lo_u32 v4, v4, 5
    s_xor_b64 exec, exec, s[14:15]
    v_add_u32 v4, 3, v4
    s_or_b64 exec, exec, s[14:15]
    v_subrev_u32 v3, 1, v3
    v_cmp_eq_u32 vcc, 0, v3
    s_or_b64 s[12:13], vcc, s[12:13]
    s_andn2_b64 exec, exec, s[12:13]
    s_cbranch_execnz again
    s_or_b64 exec, exec, s[12:13]
    end:
    s_or_b64 exec, exec, s[10:11]
    global_store_dword v2, v4, s[6:7]
    s_endpgm
)";
  both(engine.kernel(lanes), 64 * 20, 64, 64 * 20, 20);
}

TEST_F(Translation, BranchesThatAreTaken) {
  // Every second workgroup jumps over an addition.
  const std::string branch = prologue(64) + R"(
    s_and_b32 s12, s2, 1
    s_cmp_eq_u32 s12, 1
    s_cbranch_scc1 over
    v_add_u32 v1, 100, v1
    over:
    global_store_dword v2, v1, s[6:7]
    s_endpgm
)";
  both(engine.kernel(branch), 64 * 32, 64, 64 * 32, 32);
}

TEST_F(Translation, LongLoopsYield) {
  // More rounds than a wave may go before others get their turn, in several loops, and more registers than the host
  // has.
  std::string rounds = prologue(64) + "v_mov_b32 v3, v1\n";
  for (unsigned reg = 8; reg < 40; ++reg)
    rounds += fmt::format("v_add_u32 v{}, {}, v1\n", reg, reg);
  for (unsigned loop = 0; loop < 2; ++loop) {
    rounds += fmt::format("s_mov_b32 s12, 0\nloop{}:\n", loop);
    for (unsigned reg = 8; reg < 40; ++reg)
      rounds += fmt::format("v_add_u32 v{}, v{}, v3\n", reg, reg == 39 ? 8 : reg + 1);
    rounds += fmt::format("s_addk_i32 s12, 1\ns_cmpk_lt_u32 s12, 5000\ns_cbranch_scc1 loop{}\n", loop);
  }
  for (unsigned reg = 8; reg < 40; ++reg)
    rounds += fmt::format("v_xor_b32 v3, v3, v{}\n", reg);
  rounds += "global_store_dword v2, v3, s[6:7]\ns_endpgm\n";
  both(engine.kernel(rounds), 64 * 5, 64, 64 * 5, 5);
}

TEST_F(Translation, WavesThatWaitForOthers) {
  // The first wave of each workgroup waits, without sleeping, until the last has said that it is there.
  const std::string waits = prologue(256) + R"(
    v_readfirstlane_b32 s12, v0
    s_lshr_b32 s12, s12, 6
    s_lshl_b32 s13, s2, 10
    v_mov_b32 v3, s13
    s_cmp_eq_u32 s12, 3
    s_cbranch_scc1 speaks
    s_cmp_eq_u32 s12, 0
    s_cbranch_scc0 end
    listens:
    global_load_dword v4, v3, s[6:7] glc
    s_waitcnt vmcnt(0)
    v_readfirstlane_b32 s14, v4
    s_cmp_eq_u32 s14, 77
    s_cbranch_scc0 listens
    s_branch end
    speaks:
    v_mov_b32 v4, 77
    global_store_dword v3, v4, s[6:7]
    end:
    s_endpgm
)";
  for (unsigned n = 0; n < 2; ++n)
    both(engine.kernel(waits), 256 * 20, 256, 256 * 20, kAny);
}

TEST_F(Translation, Calls) {
  const std::string calls = prologue(64) + R"(
    s_getpc_b64 s[12:13]
    s_add_u32 s12, s12, function-here
    s_addc_u32 s13, s13, 0
    here:
    v_mov_b32 v3, v1
    s_swappc_b64 s[30:31], s[12:13]
    v_add_u32 v3, v3, v1
    global_store_dword v2, v3, s[6:7]
    s_endpgm
    function:
    v_mul_lo_u32 v3, v3, 7
    s_setpc_b64 s[30:31]
)";
  std::string text = calls;
  text.replace(text.find("function-here"), 13, "function-here+12");
  both(engine.kernel(text), 64 * 4, 64, 64 * 4, 0);
}

TEST_F(Translation, EndlessLoopsCanBeAborted) {
  const uint64_t kernel = engine.kernel("again:\nv_add_u32 v1, 1, v1\ns_branch again\ns_endpgm\n");
  for (const uint32_t items : {64u, 64u * 1000}) {
    Launch launch;
    launch.kernelObject = kernel;
    launch.grid = {items, 1, 1};
    launch.workgroup = {64, 1, 1};
    const auto running = engine.start(launch);
    running->dispatch->abort({Fault::Kind::Aborted, 0, false, "enough"});
    EXPECT_TRUE(running->ended());
  }
}

/// While it lives, new mappings are out of reach of 32-bit displacements from those of today.
class NeighbourhoodTaken {
public:
  NeighbourhoodTaken() {
    std::ifstream maps("/proc/self/maps");
    uint64_t end = 0;
    for (std::string line; std::getline(maps, line);) {
      std::istringstream range(line);
      uint64_t begin = 0, next = 0;
      range >> std::hex >> begin;
      range.ignore(1);
      range >> next;
      // Not below the stack, which grows; nor far below what mmap has given out, which goes downwards.
      constexpr uint64_t kReach = 1ull << 32;
      const uint64_t from = begin - end > kReach ? begin - kReach : end;
      if (begin > kReach && line.find("[stack]") == std::string::npos && from < begin)
        take(from, begin - from);
      end = next;
    }
  }
  ~NeighbourhoodTaken() {
    for (auto [address, length] : taken_)
      munmap(address, length);
  }

private:
  void take(uint64_t from, uint64_t length) {
    void *address = mmap(reinterpret_cast<void *>(from), length, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (address != MAP_FAILED)
      taken_.emplace_back(address, length);
  }
  std::vector<std::pair<void *, size_t>> taken_;
};

// Both look whether lanes are at consecutive addresses, for which they need the same constants.
TEST_F(Translation, OutOfReachOfThoseBefore) {
  const uint64_t first = engine.kernel(guarded(256)), second = engine.kernel(guarded(64));
  both(first, 256 * 4, 256, 256 * 4, 4 * 4); // and stays, as nothing is loaded from here on
  NeighbourhoodTaken taken;
  testing::internal::CaptureStderr();
  both(second, 256 * 4, 64, 256 * 4, 4 * 4);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(Translation, FailuresOfLlvmAreNotPrinted) {
  const uint64_t kernel = engine.kernel(guarded(128));
  const Result expected = run(kernel, 128, 128, 128, true);
  testing::internal::CaptureStderr();
  mappingFails = true;
  const Result actual = run(kernel, 128, 128, 128, false);
  mappingFails = false;
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(actual.translated, 0u);
  EXPECT_EQ(actual.memory, expected.memory);
}

TEST(TranslationThread, StopsAloneWhenLlvmCannotGoOn) {
  auto *thread = new TranslationThread; // it stays with its thread
  bool ran = false;
  EXPECT_TRUE(thread->run([&] { ran = true; }));
  EXPECT_TRUE(ran);
  EXPECT_EQ(thread->stoppedBecause(), "");
  EXPECT_FALSE(thread->run([] { TranslationThread::stopHere("out of registers"); }));
  EXPECT_EQ(thread->stoppedBecause(), "out of registers");
  EXPECT_FALSE(thread->submit([] {}));
  EXPECT_FALSE(thread->run([] {}));
}

TEST(TranslationReport, SaysWhatBecameOfKernels) {
  TranslationReport report;
  EXPECT_EQ(report.text(), "");
  report.add("hot", {.translated = false, .why = "too few waves to be hot", .waves = 64, .translatedWaves = 0});
  report.add("hot", {.translated = true, .why = "", .waves = 64, .translatedWaves = 63});
  report.add("loop", {.translated = false, .why = "s_barrier", .waves = 8, .translatedWaves = 0});
  report.add("odd", {.translated = false, .why = "LLVM: out of memory", .waves = 1, .translatedWaves = 0});
  EXPECT_EQ(report.text(),
            "translation: kernels 3, translated 1, failed 1; launches 4; waves 137, in translated code 63\n"
            "  translated: hot: launches 2, waves 128, in translated code 63\n"
            "  interpreted: loop: launches 1, waves 8: s_barrier\n"
            "  interpreted: odd: launches 1, waves 1: LLVM: out of memory");
}

} // namespace
} // namespace luthier::vgpu::test
