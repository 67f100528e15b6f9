// A wave whose waits are checked, with something to load: what tests of strict waits share.
#pragma once

#include "harness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace luthier::vgpu::test {

/// v[10:11] and s[40:41] point to memory whose dwords are 100, 101, ...; v12 is an LDS offset; v[14:15] an address in
/// LDS's aperture.
struct WaitsMachine {
  ExecTest t;
  explicit WaitsMachine(std::string_view target = "gfx90a", unsigned lanes = 0) : t(target, lanes) {
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

  void expectClean(std::string_view code) { EXPECT_TRUE(t.run(code)) << code; }
  /// The register that is used too early, and the instruction that is to write it.
  void expectEarly(std::string_view code, const char *inFlight, const char *reg) {
    EXPECT_FALSE(t.run(code)) << code;
    EXPECT_EQ(t.fault().kind, Fault::Kind::EarlyAccess) << code << "\n" << t.fault().text;
    EXPECT_THAT(t.fault().text, testing::AllOf(testing::HasSubstr(std::string("in flight   ") + inFlight),
                                               testing::StartsWith(std::string(reg) + " is ")))
        << code;
  }
};

} // namespace luthier::vgpu::test
