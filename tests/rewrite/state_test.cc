// What hooks see is what is there: registers, conditions, operands and effective addresses equal the virtual GPU's own.
#include "trace_fixture.h"

namespace luthier::rewrite::test {
namespace {

constexpr RegRange kExec{Reg::ExecLo, 2}, kVcc{Reg::VccLo, 2}, kScc{Reg::Scc, 1}, kM0{Reg::M0, 1};

/// What a wave is given and an application cannot see differs from launch to launch.
bool comparable(RegRange regs) { return !(regs.first <= sgpr(1)); }

class StateTest : public testing::TestWithParam<const char *> {
protected:
  template <class Add> void watchAll(Add add) {
    const object::Symbol &kernel = subject_.file.kernel(GetParam());
    for (const Instr &instr : subject_.instrs(GetParam()))
      add(&kernel, instr);
    ASSERT_GT(watcher_.size(), 0u);
    watcher_.check(machine_);
  }
  Machine machine_;
  Subject subject_{STATE_KERNELS};
  Watcher watcher_{subject_, GetParam()};
};

TEST_P(StateTest, Conditions) {
  watchAll([&](const object::Symbol *kernel, const Instr &instr) {
    watcher_.addRegisters(kernel, instr, kExec, Argument::exec());
    watcher_.addRegisters(kernel, instr, kVcc, Argument::vcc());
    watcher_.addRegisters(kernel, instr, kScc, Argument::scc());
    watcher_.addRegisters(kernel, instr, kM0, Argument::m0());
  });
}

TEST_P(StateTest, Operands) {
  watchAll([&](const object::Symbol *kernel, const Instr &instr) {
    for (unsigned n = 0; n < instr.operands().size(); ++n) {
      const Operand &operand = instr.operands()[n];
      if (operand.kind == OperandKind::Register && !operand.regs.empty() && comparable(operand.regs))
        watcher_.addRegisters(kernel, instr, operand.regs, Argument::operand(n));
    }
  });
}

/// Every register everywhere: also where the guest does not need it any more, so that a hook before has no business
/// with it either.
TEST_P(StateTest, Registers) {
  watchAll([&](const object::Symbol *kernel, const Instr &instr) {
    for (const unsigned n : {8u, 20u, 21u, 24u})
      watcher_.addRegisters(kernel, instr, {sgpr(n), 1}, Argument::reg({sgpr(n), 1}));
    for (const unsigned n : {0u, 2u, 3u, 4u, 9u})
      watcher_.addRegisters(kernel, instr, {vgpr(n), 1}, Argument::reg({vgpr(n), 1}));
    watcher_.addRegisters(kernel, instr, {agpr(0), 1}, Argument::reg({agpr(0), 1}));
  });
}

INSTANTIATE_TEST_SUITE_P(Kernels, StateTest,
                         testing::Values("addresses", "conditions", "accumulators", "loops", "indexed"),
                         [](const auto &info) { return std::string(info.param); });

TEST(StateAddressTest, EveryAccess) {
  Machine machine;
  Subject subject(STATE_KERNELS);
  Watcher watcher(subject, "addresses");
  const object::Symbol &kernel = subject.file.kernel("addresses");
  unsigned spaces = 0, second = 0;
  for (const Instr &instr : subject.instrs("addresses")) {
    const auto memory = instr.memory();
    if (!memory || memory->saddr == RegRange{sgpr(0), 2})
      continue;
    spaces |= 1u << static_cast<unsigned>(memory->space);
    watcher.addAddress(&kernel, instr, 0);
    if (memory->two) {
      watcher.addAddress(&kernel, instr, 1);
      ++second;
    }
  }
  EXPECT_EQ(std::popcount(spaces), 6) << "flat, global, LDS, scratch, buffer, scalar";
  EXPECT_EQ(second, 3u);
  watcher.check(machine);
}

} // namespace
} // namespace luthier::rewrite::test
