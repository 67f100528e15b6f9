// Assembly text as decoded instructions with blocks, for the tests of the analyses. Instructions are numbered from 0 in
// the order of the text; labels do not count.
#pragma once

#include "analysis/cfg.h"
#include "analysis/liveness.h"
#include "analysis/scalar_values.h"
#include "assembler.h"
#include "isa/decode.h"
#include "isa/target.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace luthier::analysis::test {

struct CodeOptions {
  std::string_view target = "gfx90a";
  unsigned waveSize = 0; ///< 0: the target's
  bool kernel = true;
  bool values = true; ///< resolve jumps through registers
  uint64_t address = 0x1000;
};

class Code {
public:
  explicit Code(std::string_view source, const CodeOptions &options = {}) : target_(isa::findTarget(options.target)) {
    if (!target_) {
      ADD_FAILURE() << "no target " << options.target;
      return;
    }
    auto assembled = vgpu::test::assemble(*target_, source);
    if (!assembled) {
      ADD_FAILURE() << assembled.error().message();
      return;
    }
    bytes_ = *std::move(assembled);
    auto decoder = isa::Decoder::create(*target_, options.waveSize);
    if (!decoder) {
      ADD_FAILURE() << decoder.error().message();
      return;
    }
    decoder_ = *std::move(decoder);
    auto sequence = decoder_->decode(bytes_, options.address);
    if (!sequence) {
      ADD_FAILURE() << sequence.error().message();
      return;
    }
    sequence_ = *std::move(sequence);
    cfg_ = Cfg::build(sequence_.instrs(), {.kernel = options.kernel});
    if (options.values && ScalarValues::needed(sequence_.instrs()))
      for (int round = 0; round < 3; ++round) {
        values_ = ScalarValues::compute(cfg_, {.kernel = options.kernel, .loaded = {}, .clobbers = {}});
        cfg_ = Cfg::build(sequence_.instrs(), {.kernel = options.kernel, .values = &values_});
      }
    const auto fine = verify(cfg_);
    EXPECT_TRUE(fine) << fine.error().message();
  }

  const isa::Target &target() const { return *target_; }
  const Cfg &cfg() const { return cfg_; }
  const ScalarValues &values() const { return values_; }
  const Instr &operator[](size_t n) const {
    static const Instr none;
    return n < size() ? sequence_.instrs()[n] : none;
  }
  size_t size() const { return sequence_.instrs().size(); }
  uint64_t address(size_t n) const { return (*this)[n].address(); }

  Liveness liveness(const LivenessContext &context = {}) const { return Liveness::compute(cfg_, context); }

private:
  const isa::Target *target_;
  std::vector<uint8_t> bytes_;
  std::unique_ptr<isa::Decoder> decoder_;
  isa::InstrSequence sequence_;
  ScalarValues values_;
  Cfg cfg_;
};

/// "A" where the register is live in active lanes, "I" in inactive ones, "AI" in both, "-" in neither.
inline std::string where(const LiveSets &sets, Reg reg) {
  std::string text;
  if (sets.active.contains(reg))
    text += "A";
  if (sets.inactive.contains(reg))
    text += "I";
  return text.empty() ? "-" : text;
}

} // namespace luthier::analysis::test
