// Assembly, decoded: for tests of what the decoder says.
#pragma once

#include "assembler.h"
#include "isa/decode.h"
#include "isa/target.h"

#include <gtest/gtest.h>

namespace luthier::isa {

/// A snippet of assembly, decoded.
struct Code {
  Code(const char *target, const std::string &text, unsigned waveSize = 0, uint64_t address = 0x1000) {
    auto assembled = vgpu::test::assemble(*findTarget(target), text);
    EXPECT_TRUE(assembled) << assembled.error().message();
    if (assembled)
      bytes = *assembled;
    auto made = Decoder::create(*findTarget(target), waveSize);
    EXPECT_TRUE(made) << made.error().message();
    decoder = std::move(*made);
    auto decoded = decoder->decode(bytes, address);
    EXPECT_TRUE(decoded) << decoded.error().message();
    if (decoded)
      sequence = std::move(*decoded);
  }
  const Instr &operator[](size_t n) const { return sequence.instrs()[n]; }

  std::vector<uint8_t> bytes;
  std::unique_ptr<Decoder> decoder;
  InstrSequence sequence;
};

} // namespace luthier::isa
