// What is said about an instruction's registers, by operandsOf and by luthier::Instr, against what handlers do: for
// every form of every instruction that the virtual GPU executes. For one execution with random registers and EXEC:
//
//   - only registers declared as written change, and of vector registers only active lanes, unless the instruction is
//     declared as one that crosses lanes;
//   - after everything that is not declared as read has been changed, inactive lanes of vector operands included, the
//     instruction does the same: to registers declared as written, to memory, LDS and MODE, and to the flow of control.
//
// The second finds undeclared reads, and results declared as written that keep a part of what was there.

#include "analysis/effects.h"
#include "harness.h"
#include "isa/decode.h"
#include "random_forms.h"
#include "vgpu/exec/modes.h"
#include "vgpu/wave/operands.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace luthier::vgpu::test {
namespace {

/// Everything that an instruction can change, and EXEC as it was before.
struct State {
  uint32_t v[512][kMaxLanes];
  uint32_t s[128];
  bool scc;
  uint32_t mode;
  std::vector<uint8_t> lds, memory;
};

/// Registers by their place in State. Vector registers are declared for all lanes or for active ones.
struct Declared {
  bool readV[512] = {}, writtenV[512] = {}, readS[128] = {}, writtenS[128] = {}, readScc = false, writtenScc = false;
  bool readsOtherLanes = false, writesOtherLanes = false;
  bool writtenMode = true; ///< operandsOf says nothing of MODE

  void add(RegRange range, bool read, bool write) {
    for (unsigned n = 0; n < range.count; ++n) {
      const Reg reg = range.first + n;
      if (isVector(reg) || isAccumulator(reg)) {
        readV[vectorIndex(reg)] |= read;
        writtenV[vectorIndex(reg)] |= write;
      } else if (reg == Reg::Scc) {
        readScc |= read;
        writtenScc |= write;
      } else if (number(reg) < 128) {
        readS[number(reg)] |= read;
        writtenS[number(reg)] |= write;
      }
    }
  }
};

constexpr unsigned kMarker = 98; ///< an SGPR that says whether the instruction behind was executed
constexpr uint32_t kScratchPerLane = 256, kMemoryBytes = 16384, kLdsBytes = 16384;

class OperandWalk : public testing::Test {
protected:
  static void SetUpTestSuite() {
    auto made = InstructionMaker::create(*isa::findTarget("gfx90a"));
    ASSERT_TRUE(made) << made.error().message();
    maker_ = made->release();
    auto instrs = isa::Decoder::create(*isa::findTarget("gfx90a"));
    ASSERT_TRUE(instrs) << instrs.error().message();
    instrs_ = instrs->release();
  }
  static void TearDownTestSuite() {
    delete maker_;
    delete instrs_;
  }

  OperandWalk() {
    t_.lds(kLdsBytes);
    t_.scratch(kScratchPerLane);
    memory_ = t_.buffer(kMemoryBytes);
    flatScratch_ = t_.s64(kFlatScratch);
  }

  /// Random registers and memory, addresses where instructions expect them.
  State start(const MadeInstruction &instruction, uint32_t seed) const {
    State state;
    std::minstd_rand random(seed);
    const auto next = [&] { return static_cast<uint32_t>(random() ^ random() << 16); };
    for (auto &reg : state.v)
      for (uint32_t &lane : reg)
        lane = next();
    for (uint32_t &reg : state.s)
      reg = next();
    const auto set64 = [&](unsigned reg, uint64_t value) { memcpy(&state.s[reg], &value, 8); };
    static constexpr uint64_t kExecs[] = {0x00ff00ff00ff00ff, 0x123456789abcdef0, ~0ull, 0x8000000000000001, 0};
    set64(kExec, kExecs[seed % std::size(kExecs)]);
    set64(kFlatScratch, flatScratch_);
    set64(addresses::kScalar, memory_);
    set64(addresses::kResource, memory_);
    set64(addresses::kCode, t_.codeAddress() + instruction.bytes.size() + 4);
    state.s[addresses::kResource + 2] = 4096;
    const uint32_t format = bufferFormat(instruction.mnemonic);
    state.s[addresses::kResource + 3] = 0xfac | (format >> 4) << 12 | (format & 15) << 15;
    state.s[addresses::kScalarOffset] = 32;
    state.s[kMarker] = 0;
    for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
      const uint64_t address = memory_ + 128 * lane;
      state.v[addresses::kVector][lane] = static_cast<uint32_t>(address);
      state.v[addresses::kVector + 1][lane] = static_cast<uint32_t>(address >> 32);
      state.v[addresses::kLds][lane] = 128 * lane;
      state.v[addresses::kOffset][lane] = state.v[addresses::kOffset + 1][lane] = 32 + 16 * (lane & 7);
    }
    state.scc = next() >> 15 & 1;
    state.lds.resize(kLdsBytes);
    state.memory.resize(kMemoryBytes + size_t{kScratchPerLane} * kMaxLanes);
    for (auto *bytes : {&state.lds, &state.memory})
      for (uint8_t &byte : *bytes)
        byte = static_cast<uint8_t>(next());
    return state;
  }

  /// Runs the instruction, and gives the declared operands if asked for.
  testing::AssertionResult execute(const MadeInstruction &instruction, State &state, Declared *declared = nullptr) {
    std::vector<uint8_t> code = instruction.bytes;
    for (const uint32_t word : {0xbe800081u | kMarker << 16, 0xbf810000u}) // s_mov_b32 marker, 1; s_endpgm
      for (unsigned byte = 0; byte < 4; ++byte)
        code.push_back(static_cast<uint8_t>(word >> 8 * byte));
    for (unsigned reg = 0; reg < 512; ++reg)
      std::ranges::copy(state.v[reg], t_.lanes(reg).begin());
    for (unsigned reg = 0; reg < 128; ++reg)
      t_.s(reg) = state.s[reg];
    t_.scc(state.scc);
    t_.mode(state.mode);
    std::ranges::copy(state.lds, t_.ldsBytes().begin());
    const size_t scratchBytes = state.memory.size() - kMemoryBytes;
    memcpy(ExecTest::at<uint8_t>(memory_), state.memory.data(), kMemoryBytes);
    memcpy(ExecTest::at<uint8_t>(t_.scratchBase()), state.memory.data() + kMemoryBytes, scratchBytes);
    const auto result = t_.runCode(code, [&](Wave &w, const Inst *inst) {
      if (!declared)
        return;
      const Operands operands = operandsOf(w, inst);
      declared->readsOtherLanes = declared->writesOtherLanes = operands.crossLane;
      std::vector<RegisterUse> storage;
      for (const RegisterUse &use : placed(w, inst, operands, storage))
        declared->add(use.regs, use.read, use.write);
    });
    for (unsigned reg = 0; reg < 512; ++reg)
      std::ranges::copy(t_.lanes(reg), state.v[reg]);
    for (unsigned reg = 0; reg < 128; ++reg)
      state.s[reg] = t_.s(reg);
    state.scc = t_.scc();
    state.mode = t_.mode();
    std::ranges::copy(t_.ldsBytes(), state.lds.begin());
    memcpy(state.memory.data(), ExecTest::at<uint8_t>(memory_), kMemoryBytes);
    memcpy(state.memory.data() + kMemoryBytes, ExecTest::at<uint8_t>(t_.scratchBase()), scratchBytes);
    return result;
  }

  static std::string nameV(unsigned reg) { return toString(reg < kAccBase ? vgpr(reg) : agpr(reg - kAccBase)); }

  /// What is wrong after one execution, empty if nothing.
  static std::string undeclaredChange(const State &before, const State &after, const Declared &declared) {
    uint64_t exec;
    memcpy(&exec, &before.s[kExec], 8);
    for (unsigned reg = 0; reg < 512; ++reg)
      for (unsigned lane = 0; lane < kMaxLanes; ++lane)
        if (before.v[reg][lane] != after.v[reg][lane]) {
          if (!declared.writtenV[reg])
            return "changes " + nameV(reg);
          if (!declared.writesOtherLanes && !(exec >> lane & 1))
            return fmt::format("changes {} in inactive lane {}", nameV(reg), lane);
        }
    for (unsigned reg = 0; reg < 128; ++reg)
      if (before.s[reg] != after.s[reg] && reg != kMarker && !declared.writtenS[reg])
        return "changes " + toString(sgpr(reg));
    if (before.scc != after.scc && !declared.writtenScc)
      return "changes scc";
    if (before.mode != after.mode && !declared.writtenMode)
      return "changes mode";
    return "";
  }

  /// `state` with everything changed that is not declared as read.
  static State changed(const State &state, const Declared &declared, uint32_t seed) {
    State result = state;
    std::minstd_rand random(seed);
    uint64_t exec;
    memcpy(&exec, &state.s[kExec], 8);
    const auto other = [&] { return static_cast<uint32_t>(random() ^ random() << 16) | 1; };
    for (unsigned reg = 0; reg < 512; ++reg)
      for (unsigned lane = 0; lane < kMaxLanes; ++lane)
        if (!declared.readV[reg] || (!declared.readsOtherLanes && !(exec >> lane & 1)))
          result.v[reg][lane] ^= other();
    for (unsigned reg = 0; reg < kExec; ++reg)
      if (!declared.readS[reg] && reg != kMarker)
        result.s[reg] ^= other();
    if (!declared.readScc)
      result.scc = !result.scc;
    return result;
  }

  /// What differs between two executions that differed in nothing declared as read, empty if nothing.
  static std::string undeclaredRead(const State &before, const State &after, const State &otherBefore,
                                    const State &otherAfter, const Declared &declared) {
    uint64_t exec;
    memcpy(&exec, &before.s[kExec], 8);
    for (unsigned reg = 0; reg < 512; ++reg)
      for (unsigned lane = 0; declared.writtenV[reg] && lane < kMaxLanes; ++lane) {
        const uint32_t one = after.v[reg][lane], other = otherAfter.v[reg][lane];
        const bool kept = one == before.v[reg][lane] && other == otherBefore.v[reg][lane];
        if (one != other && !(kept && !(exec >> lane & 1)))
          return fmt::format("{} in lane {} depends on an undeclared register", nameV(reg), lane);
      }
    for (unsigned reg = 0; reg < 128; ++reg)
      if ((declared.writtenS[reg] || reg >= kExec) && after.s[reg] != otherAfter.s[reg])
        return toString(sgpr(reg)) + " depends on an undeclared register";
    if (declared.writtenScc && after.scc != otherAfter.scc)
      return "scc depends on an undeclared register";
    if (after.s[kMarker] != otherAfter.s[kMarker])
      return "the flow of control depends on an undeclared register";
    if (after.mode != otherAfter.mode)
      return "mode depends on an undeclared register";
    if (after.lds != otherAfter.lds)
      return "LDS depends on an undeclared register";
    if (after.memory != otherAfter.memory)
      return "memory depends on an undeclared register";
    return "";
  }

  /// What is wrong with `declared`, after an execution that led from `before` to `after`. Empty if nothing.
  std::string compare(const MadeInstruction &instruction, const State &before, const State &after,
                      const Declared &declared, uint32_t seed) {
    if (std::string wrong = undeclaredChange(before, after, declared); !wrong.empty())
      return wrong;
    if (instruction.mnemonic == "s_memtime" || instruction.mnemonic == "s_memrealtime")
      return ""; // the clock goes on
    const State otherBefore = changed(before, declared, seed + 1);
    State other = otherBefore;
    if (const auto result = execute(instruction, other); !result)
      return std::string("fails when undeclared registers are changed: ") + result.message();
    return undeclaredRead(before, after, otherBefore, other, declared);
  }

  /// What luthier::Instr says.
  static std::string declaredByInstr(const Instr &instr, Declared &declared) {
    for (const RegRange range : instr.reads())
      declared.add(range, true, false);
    for (const RegRange range : instr.writes())
      declared.add(range, false, true);
    const auto writes = [&](Reg reg) {
      return std::ranges::any_of(instr.writes(), [&](RegRange range) { return range.contains(reg); });
    };
    declared.writtenMode = writes(Reg::Mode);
    declared.readsOtherLanes = instr.is(Property::CrossLane) || instr.is(Property::IgnoresExec);
    declared.writesOtherLanes = instr.is(Property::IgnoresExec);
    if (instr.is(Property::WritesExec) != (writes(Reg::ExecLo) || writes(Reg::ExecHi)))
      return "writes EXEC or not";
    return "";
  }

  /// How analyses say that EXEC changes.
  static std::string wrongExecChange(const Instr &instr, const State &before, const State &after) {
    uint64_t from, to;
    memcpy(&from, &before.s[kExec], 8);
    memcpy(&to, &after.s[kExec], 8);
    const auto change = instr.is(Property::WritesExec) ? analysis::execChange(instr) : analysis::ExecChange::None;
    const bool right = change == analysis::ExecChange::None     ? from == to
                       : change == analysis::ExecChange::Narrow ? (to & ~from) == 0
                       : change == analysis::ExecChange::Widen  ? (from & ~to) == 0
                                                                : true;
    return right ? "" : fmt::format("EXEC changes from {:#x} to {:#x}", from, to);
  }

  std::string check(const MadeInstruction &instruction, uint32_t seed, uint32_t mode = kDefaultMode, uint32_t m0 = 4) {
    State before = start(instruction, seed);
    before.mode = mode;
    before.s[kM0] = m0;
    State after = before;
    Declared declared;
    if (const auto result = execute(instruction, after, &declared); !result)
      return std::string("fails: ") + result.message();
    const bool indexed = mode & kGprIdxEn;
    declared.readS[kM0] |= indexed; // by the mode, not by the instruction
    if (std::string wrong = compare(instruction, before, after, declared, seed); !wrong.empty())
      return wrong;
    if (indexed)
      return "";
    const auto decoded = instrs_->decode(instruction.bytes, t_.codeAddress());
    if (!decoded || decoded->instrs().size() != 1)
      return "is not one Instr";
    const Instr &instr = decoded->instrs()[0];
    Declared byInstr;
    std::string wrong = declaredByInstr(instr, byInstr);
    if (wrong.empty())
      wrong = compare(instruction, before, after, byInstr, seed);
    if (wrong.empty())
      wrong = wrongExecChange(instr, before, after);
    return wrong.empty() ? "" : "Instr: " + wrong;
  }

  ExecTest t_;
  uint64_t memory_ = 0, flatScratch_ = 0;
  static inline InstructionMaker *maker_;
  static inline isa::Decoder *instrs_;
};

/// Instructions that cannot be executed alone.
const std::map<std::string_view, std::string_view> kSkipped = {
    {"s_trap", "ends the dispatch"},
    {"s_sethalt", "halts"},
    {"s_sendmsghalt", "halts"},
    {"s_setkill", "kills the wave"},
    {"s_rfe_b64", "only in trap handlers"},
    {"s_rfe_restore_b64", "only in trap handlers"},
    {"s_cbranch_g_fork", "pushes to a stack in SGPRs that MODE points into"},
    {"s_cbranch_i_fork", "pushes to a stack in SGPRs that MODE points into"},
    {"s_cbranch_join", "pops from a stack in SGPRs that MODE points into"},
    {"ds_gws_barrier", "waits for other waves"},
    {"ds_gws_sema_p", "waits for other waves"},
};

constexpr unsigned kShards = 4;
class OperandWalkShard : public OperandWalk, public testing::WithParamInterface<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Forms, OperandWalkShard, testing::Range(0u, kShards));

TEST_P(OperandWalkShard, EveryFormTouchesWhatItDeclares) {
  std::map<std::string, std::string> wrong; // per mnemonic and kind of error, an example
  unsigned forms = 0, executed = 0, refused = 0;
  for (const isa::OpcodeEntry &opcode : maker_->universe().opcodes) {
    if (kSkipped.contains(opcode.mnemonic))
      continue;
    for (const isa::OpcodeForm &form : opcode.forms) {
      if (!maker_->implements(form))
        continue;
      if (++forms % kShards != GetParam())
        continue;
      static constexpr Operandry kOperands[] = {Operandry::Apart, Operandry::Scalar, Operandry::Mixed, Operandry::Mixed,
                                                Operandry::Mixed};
      for (uint32_t n = 0; n < std::size(kOperands); ++n) {
        const MadeInstruction instruction = maker_->make(opcode, form, kOperands[n], forms * 16 + n);
        const std::string text = maker_->text(instruction), what = check(instruction, forms + n);
        // Operands and modifiers that mean nothing to an instruction, and loads to LDS that convert.
        const bool unsupported = t_.fault().kind == Fault::Kind::IllegalInstruction &&
                                 (kOperands[n] != Operandry::Apart || text.ends_with(" lds"));
        ++(unsupported ? refused : executed);
        if (!what.empty() && !unsupported)
          wrong.try_emplace(opcode.mnemonic + " " + what.substr(0, 18), text + ": " + what);
      }
    }
  }
  for (const auto &[key, what] : wrong)
    ADD_FAILURE() << what;
  printf("%u forms, %u instructions executed, %u refused\n", forms, executed, refused);
  EXPECT_GT(forms, 2800u);
  EXPECT_GT(executed, 13500u / kShards);
}

// The same while GPR indexing moves vector operands (vgpu/exec/modes.h).
TEST_F(OperandWalk, IndexedOperandsAreWhereTheyAreMovedTo) {
  unsigned seed = 0, executed = 0;
  for (const isa::OpcodeEntry &opcode : maker_->universe().opcodes)
    for (const isa::OpcodeForm &form : opcode.forms) {
      if (!opcode.mnemonic.starts_with("v_") || form.format == isa::Format::Vop3p || !maker_->implements(form))
        continue;
      for (const Operandry operands : {Operandry::Apart, Operandry::Mixed}) {
        ++seed;
        const MadeInstruction instruction = maker_->make(opcode, form, operands, seed);
        const uint32_t index = seed % 7 ? seed % 50 : 250, enabled = seed / 2 % 16;
        const std::string what = check(instruction, seed, kDefaultMode | kGprIdxEn, index | enabled << 12);
        if (t_.fault().kind == Fault::Kind::IllegalInstruction) // AccVGPRs cannot be indexed
          continue;
        EXPECT_EQ(what, "") << maker_->text(instruction) << " index " << index << " enabled " << enabled;
        ++executed;
      }
    }
  EXPECT_GT(executed, 2000u);
}

TEST_F(OperandWalk, SkippedInstructionsExist) {
  for (const auto &[mnemonic, reason] : kSkipped)
    EXPECT_NE(maker_->universe().find(mnemonic), nullptr) << mnemonic;
}

} // namespace
} // namespace luthier::vgpu::test
