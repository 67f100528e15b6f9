// Instructions of loaded functions: what stands at a PC of the GPU.
//
// A luthier::Instr (include/luthier/instr.h) is decoded from the bytes of a code object's file; an hsa::Instr also says
// which loaded function it belongs to, and is found by its loaded address. Functions are decoded when first asked for,
// and kept as long as their code is captured.
#pragma once

#include "hsa/code_capture.h"
#include "isa/decode.h"
#include "luthier/instr.h"

#include <memory>
#include <span>

namespace luthier::hsa {

class Instr {
public:
  const luthier::Instr &operator*() const { return *instr_; }
  const luthier::Instr *operator->() const { return instr_; }
  uint64_t address() const { return instr_->address(); } ///< loaded
  const SharedCode &code() const { return code_; }
  const object::Symbol &function() const { return *function_; }

  /// The instruction that starts at a loaded address, or contains it. Fails where no code is loaded.
  static Result<Instr> at(const CodeCapture &capture, uint64_t loadedAddress);
  /// All instructions of a kernel or device function, at their loaded addresses.
  static Result<std::vector<Instr>> of(const SharedCode &code, const object::Symbol &function);

private:
  Instr(SharedCode code, const object::Symbol *function, std::shared_ptr<const isa::InstrSequence> sequence,
        const luthier::Instr *instr)
      : code_(std::move(code)), function_(function), sequence_(std::move(sequence)), instr_(instr) {}

  SharedCode code_;
  const object::Symbol *function_;
  std::shared_ptr<const isa::InstrSequence> sequence_; ///< keeps `instr_`
  const luthier::Instr *instr_;
};

} // namespace luthier::hsa
