// What hooks change is changed, and nothing else: written registers, returned values, replaced and removed
// instructions.
#include "change_fixture.h"

namespace luthier::rewrite::test {
namespace {

class ChangeTest : public ChangeFixture {
protected:
  /// `hook` is given the registers, and they get what it returns.
  Insertion change(std::string hook, RegRange regs) { return here(std::move(hook), {Argument::reg(regs)}, regs); }
};

constexpr RegRange kS20{sgpr(20), 1}, kV2{vgpr(2), 1}, kA0{agpr(0), 1}, kVcc{Reg::VccLo, 2}, kExec{Reg::ExecLo, 2};

TEST_F(ChangeTest, Nothing) {
  expect({}, [](Rows &) {});
  expect({here("addSeven", {Argument::reg(kV2)})}, [](Rows &) {});
}

TEST_F(ChangeTest, ReturnedValues) {
  expect({change("addSeven", kV2)}, [](Rows &r) { r.with(Rows::Data, [](unsigned, uint32_t x) { return x + 7; }); });
  expect({change("addSeven", kA0)},
         [](Rows &r) { r.with(Rows::Accumulator, [](unsigned, uint32_t x) { return x + 7; }); });
  expect({change("scalarAddSeven", kS20)},
         [](Rows &r) { r.with(Rows::Scalar, [](unsigned, uint32_t) { return 107; }); });
  expect({change("scalarAddSeven", {Reg::M0, 1})},
         [](Rows &r) { r.with(Rows::M0, [](unsigned, uint32_t) { return 12; }); });
  expect({change("flip", {Reg::Scc, 1})}, [](Rows &r) { r.with(Rows::Scc, [](unsigned, uint32_t) { return 2; }); });
  expect({change("invert", kVcc)},
         [](Rows &r) { r.with(Rows::Vcc, [](unsigned, uint32_t x) { return x == 20 ? 10 : 20; }); });
  expect({change("swapHalves", {vgpr(4), 2})},
         [](Rows &r) { r.with(Rows::Vcc, [](unsigned, uint32_t x) { return x == 20 ? 10 : 20; }); });
}

TEST_F(ChangeTest, Exec) {
  expect({change("lowest", kExec)}, [](Rows &) {}, 8);
  expect({change("invert", kExec)}, [](Rows &) {}, 0);
}

TEST_F(ChangeTest, WrittenRegisters) {
  expect({here("writeV2")}, [](Rows &r) { r.with(Rows::Data, [](unsigned, uint32_t x) { return 3 * x; }); });
  expect({here("writeA0")}, [](Rows &r) { r.with(Rows::Accumulator, [](unsigned, uint32_t x) { return 3 * x; }); });
  expect({here("writeS20")}, [](Rows &r) { r.with(Rows::Scalar, [](unsigned, uint32_t) { return 300; }); });
  // The upper half of VCC stays as it was: lanes 32 to 47 are still on.
  expect({here("writeVccLo", {Argument::constant(0x10)})}, [](Rows &r) {
    r.with(Rows::Vcc, [](unsigned lane, uint32_t x) { return lane < 32 ? (lane == 4 ? 20 : 10) : x; });
  });
}

TEST_F(ChangeTest, OrderAtOnePoint) {
  expect({change("scalarAddSeven", kS20), here("writeS20")},
         [](Rows &r) { r.with(Rows::Scalar, [](unsigned, uint32_t) { return 321; }); });
  expect({here("writeS20"), change("scalarAddSeven", kS20)},
         [](Rows &r) { r.with(Rows::Scalar, [](unsigned, uint32_t) { return 307; }); });
}

TEST_F(ChangeTest, BehindALoadInFlight) {
  Insertion insertion = change("addSeven", kV2);
  insertion.position = Position::After;
  insertion.address = subject_.instr("changes", "global_load_dword").address();
  expect({insertion}, [](Rows &r) {
    r.with(Rows::Data, [](unsigned, uint32_t x) { return x + 7; });
    r.with(Rows::Accumulator, [](unsigned, uint32_t x) { return x + 7; });
  });
}

TEST_F(ChangeTest, ReplaceAndRemove) {
  const auto moves = [&](unsigned n) { return subject_.instr("changes", "v_mov_b32", n).address(); };
  // v_mov_b32 v7, s20: the 6th.
  expect({subject_.at(Position::Replace, moves(5), "product", {Argument::reg(kV2), Argument::reg({vgpr(0), 1})},
                      {vgpr(7), 1})},
         [](Rows &r) {
           const auto data = r.rows[Rows::Data];
           r.with(Rows::Scalar, [&](unsigned lane, uint32_t) { return data[lane] * lane; });
         });
  for (const Position position : {Position::Remove, Position::Replace}) {
    Insertion gone;
    gone.position = position;
    gone.address = moves(5);
    Insertion other = gone;
    other.address = moves(6);
    expect({gone, other}, [](Rows &r) {
      r.with(Rows::Scalar, [](unsigned, uint32_t) { return 66; });
      r.with(Rows::Scc, [](unsigned, uint32_t) { return 77; });
    });
  }
  // What is before and after a removed instruction runs.
  Insertion gone;
  gone.position = Position::Remove;
  gone.address = moves(5);
  expect({gone, subject_.at(Position::After, moves(5), "addSeven", {Argument::reg({vgpr(7), 1})}, {vgpr(7), 1}),
          subject_.at(Position::Before, moves(5), "product", {Argument::reg({vgpr(7), 1}), Argument::reg({vgpr(7), 1})},
                      {vgpr(7), 1})},
         [](Rows &r) { r.with(Rows::Scalar, [](unsigned, uint32_t) { return 66 * 66 + 7; }); });
}

/// Registers read by number, without being arguments.
TEST_F(ChangeTest, ReadByNumber) {
  const std::vector<Insertion> insertions = {
      here("readV2", {Argument::constant(1)}), here("readA0", {Argument::constant(2)}),
      here("readS20", {Argument::constant(3)}), here("readExec", {Argument::constant(4)})};
  const Outcome outcome = expectSame(machine_, subject_, subject_.rewritten("changes", insertions), "changes");
  std::map<uint32_t, uint64_t> sums, counts;
  for (const Record &record : recordsOf(outcome)) {
    sums[record.what] += record.value;
    ++counts[record.what];
  }
  uint64_t sum = 0;
  for (unsigned lane = 0; lane < 64; ++lane)
    sum += outcome.in[lane];
  EXPECT_EQ(sums, (std::map<uint32_t, uint64_t>{{1, sum}, {2, sum}, {3, 100}, {4, UINT64_MAX}}));
  EXPECT_EQ(counts, (std::map<uint32_t, uint64_t>{{1, 64}, {2, 64}, {3, 1}, {4, 1}}));
}

} // namespace
} // namespace luthier::rewrite::test
