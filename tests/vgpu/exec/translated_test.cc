// Translated instructions (vgpu/translate/): each must do what the interpreter does, whatever its operands are.
//
// Many instructions are translated together, since a translation takes a while, each with a destination of its own. The
// state is compared when the interpreter goes on behind them.

#include "assembler.h"
#include "harness.h"
#include "row_text.h"

#include "vgpu/exec/level.h"
#include "vgpu/state/fp_mode.h"
#include "vgpu/translate/library.h"
#include "vgpu/wave/kernel_code.h"
#include "vgpu/wave/workgroup.h"

#include <algorithm>
#include <random>

namespace luthier::vgpu::test {
namespace {

class Translated : public testing::Test {
protected:
  void SetUp() override {
    if (!translator())
      GTEST_SKIP() << "no translator for the CPU level " << execLevel().name;
  }
};

struct Outcome {
  uint32_t executed = 0;        ///< instructions in translated code
  std::vector<uint32_t> called; ///< of these: by calling the handler
};

/// Runs `code` from the state of `t`, translated as far as it goes.
Outcome runTranslated(ExecTest &t, const std::vector<uint8_t> &code) {
  Outcome outcome;
  std::unique_ptr<TranslatedCode> translated;
  const auto result = t.runCode(code, [&](Wave &w, const Inst *) {
    auto guest = kernelCode(w.group->dispatch());
    ASSERT_TRUE(guest) << guest.error().message();
    guest->keepsAll = true;
    analyse(*guest);
    std::string refused;
    translated = translator()->translate(*guest, 512, refused);
    ASSERT_TRUE(translated) << refused;
    outcome.called = translated->called;
    struct alignas(64) File {
      uint32_t v[512][kMaxLanes];
    };
    const auto given = std::make_unique<File>();
    memcpy(given->v, w.v, sizeof w.v);
    {
      HostFpMode fp;
      fp.set(mxcsrForF32(w.mode));
      outcome.executed = translated->entry(&w, given->v[0], guest->entry, 1);
    }
    ASSERT_LT(outcome.executed, guest->instructions.size());
    w.ip = guest->instructions[outcome.executed].original;
  });
  EXPECT_TRUE(result) << result.message();
  return outcome;
}

void expectSame(ExecTest &a, ExecTest &b, const std::string &what) {
  for (unsigned reg = 0; reg < 512; ++reg)
    for (unsigned lane = 0; lane < kMaxLanes; ++lane)
      ASSERT_EQ(a.v(reg, lane), b.v(reg, lane)) << "interpreted and translated, v" << reg << " lane " << lane << "\n"
                                                << what;
  for (unsigned reg = 0; reg < 128; ++reg)
    ASSERT_EQ(a.s(reg), b.s(reg)) << "s" << reg << "\n" << what;
  ASSERT_EQ(a.scc(), b.scc()) << what;
  ASSERT_EQ(a.mode(), b.mode()) << what;
}

struct Batch {
  uint64_t executed = 0;
  std::string refused;
  bool manyNans = true; ///< also where translated code leaves them to the interpreter: in two sources of a lane
};

void fillRegisters(ExecTest &t, bool manyNans) {
  fillRegisters(t);
  for (unsigned r = 4; r < 12 && !manyNans; ++r) // all but the first source
    for (unsigned lane = 0; lane < kMaxLanes; ++lane)
      if (isNanF32(t.v(r, lane)) || isNanF16(t.v(r, lane)))
        t.v(r, lane) = 0x3f803c00 + lane;
}

/// Runs instructions both ways. Those that the translator refuses are left out.
void runBatch(std::vector<std::string> lines, uint32_t mode, uint64_t scalar, Batch &batch) {
  while (!lines.empty()) {
    std::string text;
    for (const std::string &line : lines)
      text += line + "\n";
    const auto code = assemble(*isa::findTarget("gfx90a"), text + "s_endpgm\n");
    ASSERT_TRUE(code) << code.error().message();
    ExecTest interpreted, translated;
    for (ExecTest *t : {&interpreted, &translated}) {
      fillRegisters(*t, batch.manyNans);
      t->mode(mode);
      t->setS64(4, scalar);
      t->setS64(6, 0x800000007fc12345);
      t->s(8) = 0x00030007;
      t->vcc(0x0123456789abcdef);
      t->scc(true);
    }
    ASSERT_TRUE(interpreted.runCode(*code)) << text;
    const Outcome outcome = runTranslated(translated, *code);
    // Translated code leaves in front of what it cannot do in this mode.
    batch.executed += outcome.executed;
    for (const uint32_t n : outcome.called)
      if (n < outcome.executed) {
        --batch.executed;
        batch.refused += "the handler executes " + lines[n] + "\n";
      }
    expectSame(interpreted, translated, text);
    if (outcome.executed >= lines.size())
      return;
    batch.refused += "left at " + lines[outcome.executed] + "\n";
    lines.erase(lines.begin(), lines.begin() + outcome.executed + 1);
  }
}

bool assembles(const std::string &line) { return static_cast<bool>(assemble(*isa::findTarget("gfx90a"), line + "\n")); }

// Rounding to nearest, as compilers ask for; toward zero; up. Denormals are kept in all modes that are translated.
constexpr uint32_t kModes[] = {0x3f0, 0x3ff, 0x3f5};

constexpr size_t kTogether = 24; ///< instructions in a translation

void runAll(const std::vector<std::string> &lines, uint32_t mode, uint64_t scalar, Batch &batch) {
  for (size_t from = 0; from < lines.size(); from += kTogether)
    runBatch({lines.begin() + static_cast<std::ptrdiff_t>(from),
              lines.begin() + static_cast<std::ptrdiff_t>(std::min(from + kTogether, lines.size()))},
             mode, scalar, batch);
}

TEST_F(Translated, EveryVectorInstruction) {
  Batch batch;
  for (const auto &[mode, manyNans] : {std::pair(kModes[0], true), std::pair(kModes[0], false),
                                       std::pair(kModes[1], false), std::pair(kModes[2], false)}) {
    batch.manyNans = manyNans;
    std::vector<std::string> lines;
    for (std::span<const Row> table : execLevel().tables)
      for (const Row &row : table) {
        if (!row.threaded || !row.loop || (row.traits & kKeepsHigh))
          continue;
        for (unsigned uniform : {0u, 1u, 2u, 4u}) {
          const auto to = static_cast<unsigned>(16 + 2 * (lines.size() % kTogether));
          const std::string line = instructionText(row, uniform, to, to);
          if (row.threaded[uniform] && assembles(line))
            lines.push_back(line);
        }
      }
    runAll(lines, mode, mode == kModes[0] ? 0x40490fdb3f000001 : 0x7ff8000180000001, batch);
  }
  EXPECT_GT(batch.executed, 2000u) << batch.refused;
}

// Instructions that use each other's results, and constants that the optimiser sees through several of them.
TEST_F(Translated, ChainsOfInstructions) {
  std::vector<const Row *> rows;
  for (std::span<const Row> table : execLevel().tables)
    for (const Row &row : table)
      if (row.threaded && row.loop && !(row.traits & kKeepsHigh))
        rows.push_back(&row);
  std::mt19937 random(1);
  const auto below = [&](size_t n) { return static_cast<unsigned>(random() % n); };
  Batch batch;
  for (unsigned chain = 0; chain < 30; ++chain) {
    std::vector<std::string> lines;
    while (lines.size() < 40) {
      const Row &row = *rows[below(rows.size())];
      // The sources are v2 to v7 and s[4:5] (row_text.h), and so are the results.
      std::string line = instructionText(row, below(8), 2 + below(3) * 2, below(4) ? 20 : 4);
      if (below(5) == 0)
        line = fmt::format("v_mov_b32_e32 v{}, {}", 2 + below(6), static_cast<int>(below(70)) - 3);
      if (assembles(line))
        lines.push_back(line);
    }
    runBatch(lines, kModes[0], 0x40490fdb3f000001, batch);
  }
  EXPECT_GT(batch.executed, 1000u) << batch.refused;
}

TEST_F(Translated, EveryScalarInstruction) {
  std::vector<std::string> lines;
  for (std::span<const Row> table : execLevel().tables)
    for (const Row &row : table) {
      if (!row.threaded || row.loop || !row.mnemonic.starts_with("s_") ||
          row.mnemonic.find("load") != std::string::npos)
        continue;
      const unsigned n = 20 + 2 * static_cast<unsigned>(lines.size() % kTogether);
      for (const std::string &operands :
           {fmt::format("s{}, s4, s6", n), fmt::format("s[{}:{}], s[4:5], s[6:7]", n, n + 1),
            fmt::format("s[{}:{}], s[4:5], s8", n, n + 1), fmt::format("s{}, s[4:5]", n), fmt::format("s{}, s4", n),
            fmt::format("s[{}:{}], s[4:5]", n, n + 1), fmt::format("s[{}:{}], s4", n, n + 1), std::string("s4, s6"),
            std::string("s[4:5], s[6:7]"), std::string("s[4:5], s6"), fmt::format("s{}, -3, s6", n),
            fmt::format("s[{}:{}], 0x12345, s[6:7]", n, n + 1), std::string("0")}) {
        const std::string line = fmt::format("{} {}", row.mnemonic, operands);
        if (assembles(line))
          lines.push_back(line);
      }
    }
  Batch batch;
  runAll(lines, kModes[0], 0x40490fdb3f000001, batch);
  EXPECT_GT(batch.executed, 100u) << batch.refused;
}

TEST_F(Translated, NarrowedExec) {
  for (const char *first : {"s_and_saveexec_b64 s[10:11], s[4:5]", "v_cmpx_lt_u32_e64 s[10:11], v2, v3",
                            "s_mov_b64 exec, s[4:5]", "s_andn2_b64 exec, exec, s[6:7]", "s_mov_b64 exec, 0"}) {
    const std::string text = std::string("v_add_u32 v20, v2, v3\n") + first +
                             "\nv_add_u32 v21, v2, v4\nv_cmp_lt_u32_e64 s[12:13], v2, v3\n"
                             "v_add_co_u32 v22, vcc, v2, v4\nv_mov_b32 v2, 17\ns_mov_b64 exec, -1\n"
                             "v_add_u32 v23, v2, v21\n";
    const auto code = assemble(*isa::findTarget("gfx90a"), text + "s_endpgm\n");
    ASSERT_TRUE(code) << code.error().message();
    ExecTest interpreted, translated;
    for (ExecTest *t : {&interpreted, &translated}) {
      fillRegisters(*t);
      t->setS64(4, 0xffffffff0fffffff);
      t->setS64(6, 1);
    }
    ASSERT_TRUE(interpreted.runCode(*code)) << text;
    const Outcome outcome = runTranslated(translated, *code);
    EXPECT_EQ(outcome.executed, 8u) << text;
    EXPECT_TRUE(outcome.called.empty()) << text;
    expectSame(interpreted, translated, text);
  }
}

TEST_F(Translated, ModifiersPairsAndSingleLanes) {
  const std::vector<std::string> lines = {"v_add_f32_e64 v20, -v2, |v3|",
                                          "v_fma_f32 v21, -v2, |v4|, -v6 clamp",
                                          "v_mul_f32_e64 v22, -v5, s4 clamp",
                                          "v_mul_f64 v[24:25], -v[2:3], |v[4:5]|",
                                          "v_add_f64 v[26:27], -|v[2:3]|, v[6:7] clamp",
                                          "v_max_f32_e64 v28, -v2, -v3",
                                          "v_cndmask_b32_e64 v29, -v2, |v3|, s[6:7]",
                                          "v_cmp_lt_f32_e64 s[20:21], -v2, |v3|",
                                          "v_pk_fma_f32 v[30:31], v[2:3], v[4:5], v[6:7] op_sel:[1,0,0]",
                                          "v_pk_mul_f32 v[32:33], v[2:3], s[4:5]",
                                          "v_pk_add_f32 v[34:35], v[4:5], v[2:3] op_sel_hi:[0,1]",
                                          "v_pk_mov_b32 v[36:37], v[2:3], v[4:5] op_sel:[1,0]",
                                          "v_readfirstlane_b32 s22, v3",
                                          "v_readlane_b32 s23, v3, 5",
                                          "v_readlane_b32 s24, v3, s8"};
  for (const bool narrow : {false, true})
    for (const bool manyNans : {false, true}) {
      std::string text = narrow ? "s_mov_b64 exec, s[6:7]\n" : "";
      for (const std::string &line : lines)
        text += line + "\n";
      const auto code = assemble(*isa::findTarget("gfx90a"), text + "s_endpgm\n");
      ASSERT_TRUE(code) << code.error().message();
      ExecTest interpreted, translated;
      for (ExecTest *t : {&interpreted, &translated}) {
        fillRegisters(*t, manyNans);
        for (unsigned reg = 2; reg < 8 && !manyNans; ++reg)
          for (unsigned lane = 0; lane < kMaxLanes; ++lane)
            t->v(reg, lane) = 0x3f000000 + (reg << 20) + lane * 0x12345 + (lane % 3 ? 0 : 0x80000000);
        t->mode(kModes[0] | mode::kDx10Clamp);
        t->setS64(4, 0x40490fdb3f000001);
        t->setS64(6, 0x8123000070f12346);
        t->s(8) = 41;
      }
      ASSERT_TRUE(interpreted.runCode(*code)) << text;
      const Outcome outcome = runTranslated(translated, *code);
      EXPECT_TRUE(outcome.called.empty());
      if (!manyNans)
        EXPECT_EQ(outcome.executed, lines.size() + narrow);
      expectSame(interpreted, translated, text);
    }
}

} // namespace
} // namespace luthier::vgpu::test
