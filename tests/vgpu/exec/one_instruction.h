// One instruction of any target, on a wave of either size: what wmma_test.cc and its neighbours are written with.
#pragma once

#include "assembler.h"
#include "lone_wave.h"
#include "vgpu/exec/row.h"
#include "vgpu/wave/decoder.h"

#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <string>
#include <utility>

namespace luthier::vgpu::test {

inline Decoder &decoderOf(const isa::Target &target, unsigned lanes) {
  static std::map<std::pair<const isa::Target *, unsigned>, std::unique_ptr<Decoder>> decoders;
  auto &decoder = decoders[{&target, lanes}];
  if (!decoder)
    decoder = std::make_unique<Decoder>(target, lanes);
  return *decoder;
}

/// Assembles `text` and executes it.
inline void execute(std::string_view targetName, LoneWave &w, const std::string &text) {
  const isa::Target *target = isa::findTarget(targetName);
  ASSERT_NE(target, nullptr) << targetName;
  const unsigned lanes = w.wave->lanes;
  auto code = isa::assemble(*target, text, lanes);
  ASSERT_TRUE(code) << targetName << ": " << text << ": " << code.error().message();
  Inst insts[8] = {};
  decoderOf(*target, lanes).decode(*code, 0, insts[0]);
  ASSERT_TRUE(Decoder::implements(insts[0])) << targetName << ": " << text;
  EXPECT_EQ(single(insts[0])(*w.wave, insts), insts + insts[0].words) << targetName << ": " << text;
}

constexpr uint32_t f32Bits(float x) { return std::bit_cast<uint32_t>(x); }
constexpr float f32Of(uint32_t x) { return std::bit_cast<float>(x); }
inline uint32_t f16Bits(float x) { return std::bit_cast<uint16_t>(static_cast<_Float16>(x)); }
inline float f16Of(uint32_t x) { return static_cast<float>(std::bit_cast<_Float16>(static_cast<uint16_t>(x))); }

} // namespace luthier::vgpu::test
