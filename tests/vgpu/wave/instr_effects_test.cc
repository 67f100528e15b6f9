// What the isa layer says an instruction reads and writes, against its execution: every form of every scalar and vector
// ALU instruction, with random registers. Nothing but what it writes may change, and nothing but what it reads may
// matter. Memory instructions need addresses: operands_test.cc has them.
#include "isa/decode.h"

#include "harness.h"
#include "isa/opcode_universe.h"
#include "isa/target.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>

namespace luthier::vgpu::test {
namespace {

using isa::Format;

constexpr uint64_t kExecMask = 0x00ff00ff00ff00ffull;

/// Registers of a wave by number of Reg; vector registers are compared lane by lane.
struct Snapshot {
  explicit Snapshot(ExecTest &t) : vectors(512 * kMaxLanes) {
    for (unsigned reg = 0; reg < 512; ++reg)
      std::ranges::copy(t.lanes(reg), vectors.begin() + reg * kMaxLanes);
    for (unsigned reg = 0; reg < 128; ++reg)
      scalars[reg] = t.s(reg);
    scalars[number(Reg::Scc)] = t.scc();
    scalars[number(Reg::Mode)] = t.mode();
  }
  const uint32_t *lanes(unsigned reg) const { return &vectors[reg * kMaxLanes]; }

  std::vector<uint32_t> vectors;
  std::array<uint32_t, 130> scalars{};
};

void prepare(ExecTest &t, uint32_t seed) {
  std::minstd_rand random(seed + 1);
  for (unsigned reg = 0; reg < 512; ++reg)
    for (uint32_t &lane : t.lanes(reg))
      lane = static_cast<uint32_t>(random() << 8 ^ random());
  for (unsigned reg = 0; reg < 102; ++reg)
    t.s(reg) = static_cast<uint32_t>(random() << 8 ^ random());
  t.vcc(random() * 0x9e3779b97f4a7c15ull);
  t.exec(kExecMask);
  t.scc(random() & 16);
  t.m0(2);
}

RegSet setOf(std::span<const RegRange> ranges) {
  RegSet set;
  for (const RegRange &range : ranges)
    set.insert(range);
  return set;
}

/// Another example of the same form: other registers, other modifiers. Register fields get multiples of 4, so that
/// tuples are aligned and every number is one of SGPRs and of VGPRs.
uint64_t varied(Format format, uint64_t bits, std::minstd_rand &random) {
  const auto set = [&](unsigned low, unsigned width, uint64_t value) {
    const uint64_t mask = ((1ull << width) - 1) << low;
    bits = (bits & ~mask) | (value << low & mask);
  };
  const auto any = [&] { return 4 * (random() / 16 % 10); };
  const auto choice = [&](unsigned n) { return random() / 16 % n; };
  const auto source = [&](unsigned low) { // constants stay
    const uint64_t code = bits >> low & 0x1ff;
    if (code >= 256 || code < 102)
      set(low, 9, (code & 256) | (choice(3) ? 256 : 0) | any());
  };
  const auto scalarSource = [&](unsigned low) {
    if ((bits >> low & 0xff) < 102)
      set(low, 8, any());
  };
  switch (format) {
  case Format::Sop2:
  case Format::Sop1:
    set(16, 7, any());
    scalarSource(0);
    if (format == Format::Sop2)
      scalarSource(8);
    break;
  case Format::Sopc:
    scalarSource(0);
    scalarSource(8);
    break;
  case Format::Sopk:
    set(16, 7, any());
    break;
  case Format::Vop1:
  case Format::Vop2:
  case Format::Vopc: {
    if (format != Format::Vopc)
      set(17, 8, any());
    if (format != Format::Vop1)
      set(9, 8, any());
    const uint64_t src0 = bits & 0x1ff;
    if (src0 == 249) { // SDWA
      set(32, 8, any());
      set(48, 3, choice(7));
      if (format != Format::Vopc) {
        set(40, 3, choice(7));
        set(43, 2, choice(3));
      }
      if (format != Format::Vop1)
        set(56, 3, choice(7));
    } else if (src0 == 250) { // DPP
      set(32, 8, any());
      set(51, 1, choice(2));
      set(56, 4, choice(2) ? 0xf : 0x5);
      set(60, 4, choice(2) ? 0xf : 0x9);
    } else {
      source(0);
    }
    break;
  }
  case Format::Vop3:
    set(14, 1, choice(2));
    [[fallthrough]];
  case Format::Vop3p:
    set(0, 8, any());
    source(32);
    source(41);
    if (choice(2)) // two operands: must stay as it is
      source(50);
    break;
  default:
    break;
  }
  return bits;
}

bool skipped(const Instr &instr) {
  for (const Property property : {Property::Branch, Property::IndirectBranch, Property::Call, Property::EndProgram,
                                  Property::Barrier, Property::Message})
    if (instr.is(property))
      return true;
  static const std::set<std::string_view> kOthers = {
      "s_getpc_b64", "s_getreg_b32", "s_setreg_b32", "s_setreg_imm32_b32",
      "s_sethalt",   "s_setkill",    "s_sleep",      "s_trap"};
  return kOthers.contains(instr.mnemonic());
}

std::string asData(uint64_t bits, unsigned size) {
  std::string text = fmt::format(".long {:#x}\n", static_cast<uint32_t>(bits));
  return size > 4 ? text + fmt::format(".long {:#x}\n", bits >> 32) : text;
}

class InstrEffects {
public:
  explicit InstrEffects(const isa::Target &target) : target_(target) {}
  unsigned executed = 0;
  std::set<std::string_view> opcodes;

  void check(const Instr &instr, uint64_t bits, uint32_t seed) {
    const std::string code = asData(bits, instr.size());
    const RegSet reads = setOf(instr.reads()), writes = setOf(instr.writes());
    ExecTest plain(target_), changed(target_);
    prepare(plain, seed);
    prepare(changed, seed);
    disturb(changed, reads);
    const Snapshot before(plain);
    if (!plain.run(code))
      return; // what the virtual GPU refuses: sources of graphics
    ASSERT_TRUE(changed.run(code));
    ++executed;
    opcodes.insert(instr.mnemonic());
    const Snapshot after(plain), other(changed);
    for (unsigned reg = 0; reg < 130; ++reg) {
      const Reg name = static_cast<Reg>(reg);
      if (before.scalars[reg] != after.scalars[reg])
        EXPECT_TRUE(writes.contains(name)) << toString(name) << " changes";
      if (writes.contains(name))
        EXPECT_EQ(after.scalars[reg], other.scalars[reg]) << toString(name) << " depends on what is not read";
    }
    const bool allLanes = instr.is(Property::IgnoresExec);
    for (unsigned reg = 0; reg < 512; ++reg) {
      const Reg name = Reg::V0 + reg;
      if (memcmp(before.lanes(reg), after.lanes(reg), kMaxLanes * 4) != 0)
        EXPECT_TRUE(writes.contains(name)) << toString(name) << " changes";
      if (!writes.contains(name))
        continue;
      unsigned wrong = 0;
      for (unsigned lane = 0; lane < kMaxLanes; ++lane)
        if (allLanes || (kExecMask >> lane & 1))
          wrong += after.lanes(reg)[lane] != other.lanes(reg)[lane];
      EXPECT_EQ(wrong, 0u) << toString(name) << " depends on what is not read";
    }
  }

private:
  const isa::Target &target_;

  /// Changes everything that is not among `reads`.
  static void disturb(ExecTest &t, const RegSet &reads) {
    for (unsigned reg = 0; reg < 512; ++reg)
      if (!reads.contains(Reg::V0 + reg))
        for (uint32_t &lane : t.lanes(reg))
          lane ^= 0x5a5a5a5a;
    for (unsigned reg = 0; reg < 128; ++reg)
      if (!reads.contains(static_cast<Reg>(reg)) &&
          (reg < 102 || reg == number(Reg::VccLo) || reg == number(Reg::VccHi) || reg == number(Reg::M0) ||
           reg == number(Reg::ExecLo)))
        t.s(reg) ^= 0x5a5a5a5a;
    if (!reads.contains(Reg::Scc))
      t.scc(!t.scc());
    if (!reads.contains(Reg::Mode))
      t.mode(t.mode() ^ 0x0f); // rounding
  }
};

class EffectsOf : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Targets, EffectsOf, testing::Values("gfx900", "gfx908", "gfx90a", "gfx942"),
                         [](const auto &info) { return std::string(info.param); });

TEST_P(EffectsOf, EveryAluForm) {
  const isa::Target &target = *isa::findTarget(GetParam());
  auto universe = isa::opcodeUniverse(target);
  auto decoder = isa::Decoder::create(target);
  ASSERT_TRUE(universe);
  ASSERT_TRUE(decoder);
  InstrEffects effects(target);
  std::minstd_rand random(4711);
  for (const isa::OpcodeEntry &opcode : universe->opcodes)
    for (const isa::OpcodeForm &form : opcode.forms) {
      if (form.format == Format::Smem || form.format > Format::Vop3p)
        continue;
      for (unsigned round = 0; round < 6; ++round) {
        const uint64_t bits = varied(form.format, form.bits, random);
        uint8_t bytes[16] = {};
        memcpy(bytes, &bits, sizeof bits);
        const auto sequence = (*decoder)->decodeOne(bytes, 0);
        if (!sequence || sequence->instrs()[0].mnemonic() != opcode.mnemonic || sequence->instrs()[0].size() > 8)
          continue;
        const Instr &instr = sequence->instrs()[0];
        const std::string text = (*decoder)->text(instr);
        if (skipped(instr) || text.find("Invalid register") != std::string::npos)
          continue;
        SCOPED_TRACE(fmt::format("{} ({:#018x})", text, bits));
        effects.check(instr, bits, static_cast<uint32_t>(random()));
        if (testing::Test::HasFatalFailure())
          return;
      }
    }
  EXPECT_GE(effects.executed, 5500u);
  EXPECT_GE(effects.opcodes.size(), 580u);
}

} // namespace
} // namespace luthier::vgpu::test
