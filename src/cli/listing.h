// Instructions as text with names for what they refer to: labels of blocks, functions that are called.
#pragma once

#include "analysis/program.h"

#include <string>

namespace luthier::cli {

class Listing {
public:
  Listing(analysis::Program &program, const analysis::Function &function, isa::Decoder &decoder)
      : program_(program), function_(function), decoder_(decoder) {}

  /// "L3" of block 3.
  static std::string label(uint32_t block) { return "L" + std::to_string(block); }
  /// Assembly, with a label in place of a branch's distance.
  std::string text(const Instr &instr) const;
  /// What the last instruction of a block calls or leaves for: "calls leaf(float)", "returns"; empty if nothing.
  std::string remark(const analysis::Block &block) const;
  /// The name of the function at an address, with an offset if it is within; a number if there is none.
  std::string place(uint64_t address) const;

private:
  analysis::Program &program_;
  const analysis::Function &function_;
  isa::Decoder &decoder_;
};

/// Registers of a set in short: "s[0:3] s9 v[4:255]", only those in [first, end).
std::string shortList(const RegSet &set, Reg first, Reg end);
std::string hexBytes(std::span<const uint8_t> bytes); ///< as dwords

} // namespace luthier::cli
