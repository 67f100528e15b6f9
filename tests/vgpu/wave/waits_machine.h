// A wave whose waits are checked, with something to load: what tests of strict waits share.
//
// Whatever strict waits stop, the check (`luthier check wait`) must report, at the same instruction, and go on; and
// what they do not stop, it must not report. So each case runs both ways. The wait that a finding names must be enough:
// with it, the finding is gone.
#pragma once

#include "assembler.h"
#include "harness.h"
#include "vgpu/wave/waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace luthier::vgpu::test {

/// v[10:11] and s[40:41] point to memory whose dwords are 100, 101, ...; v12 is an LDS offset; v[14:15] an address in
/// LDS's aperture.
struct WaitsMachine {
  struct Found {
    uint64_t offset; ///< of the instruction, from the code's beginning
    EarlyUse use;
  };

  ExecTest t;
  std::string target;
  unsigned lanes;
  explicit WaitsMachine(std::string_view targetName = "gfx90a", unsigned waveLanes = 0)
      : t(targetName, waveLanes), target(targetName), lanes(waveLanes) {
    std::vector<uint32_t> data(1024);
    for (unsigned n = 0; n < data.size(); ++n)
      data[n] = 100 + n;
    const uint64_t memory = t.buffer(data);
    t.setS64(40, memory);
    t.lds(1024);
    for (unsigned lane = 0; lane < t.lanes(); ++lane) {
      t.setV64(10, lane, memory + 4 * lane);
      t.v(12, lane) = 4 * lane;
      t.setLdsWord(4 * lane, 500 + lane);
      t.setV64(14, lane, t.sharedAperture() + 4 * lane);
    }
    t.m0(0);
    t.strictWaits(true);
  }

  /// What the check reports of `code`, in a machine of its own.
  std::vector<Found> check(std::string_view code) const {
    std::vector<Found> found;
    WaitsMachine other(target, lanes);
    other.t.strictWaits(false);
    const auto check = std::make_shared<WaitCheck>();
    check->onFinding = [&](const Wave &wave, const Inst *inst, const EarlyUse &use) {
      found.push_back({wave.pc(inst) - other.t.codeAddress(), use});
    };
    other.t.waitCheck(check);
    // Once: `run` does it twice.
    const auto bytes = assemble(t.target(), std::string(code) + "\ns_endpgm\n", lanes);
    EXPECT_TRUE(bytes && other.t.runCode(*bytes)) << code;
    return found;
  }

  /// `code` with the wait that `found` names before its instruction. None where the lines cannot be told apart.
  std::optional<std::string> repaired(const std::string &code, const Found &found) const {
    std::string wait = found.use.wait;
    if (const size_t both = wait.find(" and "); both != std::string::npos)
      wait.replace(both, 5, "\n");
    for (size_t end = 0; end != std::string::npos; end = code.find('\n', end + 1)) {
      const std::string before = code.substr(0, end == 0 ? 0 : end + 1);
      const auto bytes = assemble(t.target(), before + "\n", lanes);
      if (bytes && bytes->size() == found.offset)
        return before + wait + "\n" + code.substr(before.size());
    }
    return std::nullopt;
  }

  void expectClean(std::string_view code) {
    EXPECT_TRUE(t.run(code)) << code;
    EXPECT_TRUE(check(code).empty()) << code;
  }
  /// The register that is used too early, and the instruction that is to write it.
  void expectEarly(std::string_view code, const char *inFlight, const char *reg) {
    expectStopped(code, inFlight, reg);
    const uint64_t offset = t.fault().address - t.codeAddress();
    const std::vector<Found> found = check(code);
    ASSERT_FALSE(found.empty()) << code;
    EXPECT_EQ(found[0].offset, offset) << code;
    EXPECT_EQ(found[0].use.what, reg) << code;
    EXPECT_THAT(found[0].use.operation, testing::StartsWith(inFlight)) << code;
    const auto fixed = repaired(std::string(code), found[0]);
    ASSERT_TRUE(fixed) << code;
    for (const Found &left : check(*fixed))
      EXPECT_FALSE(left.use.what == reg && left.use.pc == found[0].use.pc) << *fixed;
  }
  /// Only strict waits do not know that full counters have waited.
  void expectStopped(std::string_view code, const char *inFlight, const char *reg) {
    EXPECT_FALSE(t.run(code)) << code;
    EXPECT_EQ(t.fault().kind, Fault::Kind::EarlyAccess) << code << "\n" << t.fault().text;
    EXPECT_THAT(t.fault().text, testing::AllOf(testing::HasSubstr(std::string("in flight   ") + inFlight),
                                               testing::StartsWith(std::string(reg) + " is ")))
        << code;
  }
};

} // namespace luthier::vgpu::test
