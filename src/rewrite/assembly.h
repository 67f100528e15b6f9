// Assembly text that a tool inserts, made ready for being placed.
//
// A hook's registers are renamed to what is free; assembly means the registers that it names. So it is put into the
// kernel as it is written, and nothing is saved around it: what it writes must be free at the place, or be declared as
// the kernel's to be changed. All else is as for hooks: loads in flight are waited for, wait states and other hazards
// at both ends are looked after, and the descriptor gets the registers that it takes.
#pragma once

#include "rewrite/placement.h"
#include "rewrite/prepared_fragment.h"
#include "rewrite/rewriter.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace luthier::rewrite {

class AssemblyCode {
public:
  /// An error names the line.
  static Result<std::unique_ptr<AssemblyCode>> make(std::string_view text, const isa::Target &target,
                                                    unsigned waveSize);

  const PreparedFragment &fragment() const { return *fragment_; }
  /// Registers whose values from before it are looked at.
  const RegSet &inputs() const { return inputs_; }
  /// All that are named; what is not numbered (VCC, EXEC, ...) among them.
  RegSet registers() const { return fragment_->fragment->reads | fragment_->fragment->writes; }

  /// Whether all that it reads is there: `known` to the kernel, or to assembly elsewhere in it.
  Result<void> checkInputs(const RegSet &known, const isa::Target &target) const;
  /// Whether it may be where these are live; `mayChange`: they may be changed all the same. `kept`: registers that
  /// count as in use everywhere.
  Result<void> checkPlace(const analysis::LiveSets &live, const RegSet &mayChange, const RegSet &kept) const;

private:
  std::string place(const Instr &instr) const;
  void findInputs();

  std::unique_ptr<PreparedFragment> fragment_;
  RegSet inputs_;
  std::vector<uint32_t> lines_;   ///< of the instructions, from 1; empty: not known
  std::vector<std::string> text_; ///< the lines
};

} // namespace luthier::rewrite
