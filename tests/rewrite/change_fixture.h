// The kernel `changes`, which stores every kind of state: what it stores unless something is changed before its s_nop.
#pragma once

#include "trace_fixture.h"

#include <array>

namespace luthier::rewrite::test {

/// What the kernel `changes` stores.
struct Rows {
  std::array<std::array<uint32_t, 64>, 6> rows;
  enum { Data, Vcc, M0, Scalar, Scc, Accumulator };

  static Rows predicted(const std::vector<uint32_t> &in) {
    Rows result;
    for (unsigned lane = 0; lane < 64; ++lane) {
      const uint32_t row[] = {in[lane], lane < 48 ? 20u : 10u, 5, 100, 1, in[lane]};
      for (unsigned n = 0; n < 6; ++n)
        result.rows[n][lane] = row[n];
    }
    return result;
  }
  template <class F> Rows &with(unsigned row, F change) {
    for (unsigned lane = 0; lane < 64; ++lane)
      rows[row][lane] = change(lane, rows[row][lane]);
    return *this;
  }
};

class ChangeFixture : public testing::Test {
protected:
  void expect(const std::vector<Insertion> &insertions, const std::function<void(Rows &)> &change,
              uint32_t stored = 64) {
    const std::vector<std::byte> file = subject_.rewritten("changes", insertions);
    for (const bool strict : {true, false}) {
      const Outcome outcome = machine_.run(file, "changes", {.strict = strict});
      ASSERT_EQ(outcome.error, "");
      Rows rows = Rows::predicted(outcome.in);
      change(rows);
      for (unsigned row = 0; row < 6; ++row)
        for (unsigned lane = 0; lane < 64; ++lane)
          ASSERT_EQ(outcome.out[64 * row + lane], lane < stored ? rows.rows[row][lane] : 0xcccccccc)
              << "row " << row << ", lane " << lane;
    }
  }
  Insertion here(std::string hook, std::vector<Argument> arguments = {}, RegRange result = {}) {
    return subject_.before(subject_.instr("changes", "s_nop"), std::move(hook), std::move(arguments), result);
  }

  Machine machine_;
  Subject subject_{STATE_KERNELS};
};

} // namespace luthier::rewrite::test
