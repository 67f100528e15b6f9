// The engine's own knowledge of an instruction's registers against the isa layer's: for every form of every
// instruction, with random operands and modifiers. And what happens where they disagree.

#include "vgpu/wave/footprint.h"

#include "assembler.h"
#include "harness.h"
#include "isa/decode.h"
#include "random_forms.h"
#include "trace_file.h"
#include "vgpu/exec/level.h"
#include "vgpu/exec/row.h"
#include "vgpu/wave/operands.h"
#include "vgpu/wave/poison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace luthier::vgpu::test {
namespace {

using testing::HasSubstr;

class FootprintOf : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Targets, FootprintOf, testing::Values("gfx900", "gfx906", "gfx908", "gfx90a", "gfx942"),
                         [](const auto &info) { return std::string(info.param); });

TEST_P(FootprintOf, AgreesWithTheIsaLayerForEveryForm) {
  const isa::Target &target = *isa::findTarget(GetParam());
  auto created = InstructionMaker::create(target);
  ASSERT_TRUE(created) << created.error().message();
  InstructionMaker &maker = **created;
  auto instructions = isa::Decoder::create(target);
  ASSERT_TRUE(instructions);
  Decoder decoder(target);
  unsigned compared = 0, failures = 0, seed = 0;
  for (const isa::OpcodeEntry &opcode : maker.universe().opcodes)
    for (const isa::OpcodeForm &form : opcode.forms) {
      if (!maker.implements(form))
        continue;
      for (const Operandry operands : {Operandry::Apart, Operandry::Scalar, Operandry::Mixed, Operandry::Mixed}) {
        const MadeInstruction made = maker.make(opcode, form, operands, ++seed);
        uint8_t bytes[16] = {};
        memcpy(bytes, made.bytes.data(), std::min(made.bytes.size(), sizeof bytes));
        Inst inst;
        decoder.decode(bytes, 0, inst);
        const auto sequence = (*instructions)->decodeOne(bytes, 0);
        ASSERT_TRUE(sequence && inst.row) << opcode.mnemonic;
        const Instr &instr = sequence->instrs()[0];
        RegSet reads, writes;
        for (const RegRange range : instr.reads())
          reads.insert(range);
        for (const RegRange range : instr.writes())
          writes.insert(range);
        // MODE is nobody's operand here, and of registers that an index chooses the isa layer names all that it can.
        for (RegSet *set : {&reads, &writes})
          set->erase(Reg::Mode);
        if (instr.is(Property::Indexed))
          continue;
        ++compared;
        const auto footprint = footprintOf(*inst.row, bytes, target, 64);
        ASSERT_TRUE(footprint);
        const std::string wrong = disagreement(*footprint, reads, writes);
        EXPECT_EQ(wrong, "") << (*instructions)->text(instr);
        failures += !wrong.empty();
        ASSERT_LE(failures, 60u);
      }
    }
  EXPECT_GE(compared, 10000u);
}

/// Runs `text` with its first instruction taken for another one, whose row says something else of its registers.
Fault runAs(ExecTest &t, const char *text, std::string_view other) {
  const auto code = assemble(*isa::findTarget("gfx90a"), text);
  EXPECT_TRUE(code) << code.error().message();
  EXPECT_FALSE(t.runCode(*code, [&](Wave &, const Inst *inst) {
    for (const std::span<const Row> table : execLevel().tables)
      for (const Row &row : table)
        if (row.mnemonic == other)
          const_cast<Inst *>(inst)->row = &row;
  }));
  return t.fault();
}

TEST(Footprint, ADisagreementStopsTheDispatch) {
  constexpr const char *kText = "v_add_f32 v4, v6, v8\ns_endpgm";
  {
    ExecTest t;
    TraceFile file;
    auto trace = Trace::open(file.path(), "", {});
    ASSERT_TRUE(trace);
    t.trace(*trace);
    const Fault fault = runAs(t, kText, "v_fmac_f32");
    EXPECT_THAT(fault.text, HasSubstr("as the manual encodes it, it reads v4\n"));
    EXPECT_THAT(fault.text, HasSubstr("v_add_f32"));
  }
  {
    ExecTest t;
    t.strictWaits(true);
    t.lds(1024);
    const Fault fault = runAs(t, "ds_read_b32 v4, v6\ns_waitcnt lgkmcnt(0)\ns_endpgm", "ds_read_b64");
    EXPECT_THAT(fault.text, HasSubstr("it writes v5\n"));
  }
  {
    ExecTest t;
    auto poison = std::make_shared<Poison>();
    poison->dead = [](uint64_t, uint64_t) { return DeadRegisters{}; };
    t.poison(poison);
    const Fault fault = runAs(t, kText, "v_cmp_lt_f32");
    EXPECT_THAT(fault.text, HasSubstr("it writes vcc_lo vcc_hi; does not write v4\n"));
  }
}

TEST(Footprint, SaysWhatTheIsaLayerMisses) {
  Footprint engine;
  engine.reads.insert(vgpr(3));
  engine.writes.insert(RegRange{vgpr(4), 2});
  RegSet reads, writes;
  reads.insert(vgpr(3));
  reads.insert(vgpr(9)); // too many are harmless
  writes.insert(RegRange{vgpr(4), 2});
  EXPECT_EQ(disagreement(engine, reads, writes), "");
  reads.erase(vgpr(3));
  EXPECT_EQ(disagreement(engine, reads, writes), "reads v3");
  writes.erase(vgpr(5));
  writes.insert(Reg::Scc);
  EXPECT_EQ(disagreement(engine, reads, writes), "reads v3; writes v5; does not write scc");
}

} // namespace
} // namespace luthier::vgpu::test
