// The functions of a code object, decoded when they are first asked for.
//
// A function is what a symbol of the ELF file names: its instructions are those of the symbol's bytes. Symbols may
// overlap or be several for the same code (each then has instructions and blocks of its own); a symbol without a size
// goes up to the next one. Code that jumps or falls out of its symbol's bytes is a block with an Exit (analysis/cfg.h).
#pragma once

#include "analysis/cfg.h"
#include "isa/decode.h"
#include "object/code_object.h"

#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace luthier::analysis {

/// In the names of hooks that a rewritten kernel calls: KERNEL$hook.NAME.
inline constexpr std::string_view kSharedHookInfix = "$hook.";

/// Calls are followed so deep; what is called deeper down is unknown. Real programs stay far below, and the stack of
/// this process is not for a file to decide about.
inline constexpr unsigned kMaxCallDepth = 200;

/// What is known about calls of other functions, by address. They resolve jumps behind calls.
struct Callees {
  std::function<const RegSet *(uint64_t address)> clobbers = {}; ///< what a call may write; null where unknown
  std::function<bool(uint64_t address)> mayReturn = {};          ///< false: a call never comes back
};

class Function {
public:
  /// The object must outlive the function.
  static Result<std::unique_ptr<Function>> decode(isa::Decoder &decoder, const object::CodeObject &object,
                                                  const object::Symbol &symbol, const Callees &callees = {});
  Function(const Function &) = delete;
  Function &operator=(const Function &) = delete;

  const object::Symbol &symbol() const { return *symbol_; }
  bool isKernel() const { return symbol_->kind == object::SymbolKind::Kernel; }
  std::span<const Instr> instrs() const { return code_.instrs(); }
  const Cfg &cfg() const { return cfg_; }
  /// Where addresses that the function forms from its PC or loads from the GOT point to, except for calls and jumps.
  std::span<const uint64_t> addresses() const { return addresses_; }
  /// Where it loads from through such addresses: entries of the GOT, and data.
  std::span<const uint64_t> slots() const { return slots_; }

private:
  Function() = default;

  const object::Symbol *symbol_ = nullptr;
  isa::InstrSequence code_;
  Cfg cfg_;
  std::vector<uint64_t> addresses_, slots_;
};

/// Not thread-safe.
class Program {
public:
  static Result<std::unique_ptr<Program>> create(const object::CodeObject &object);

  const object::CodeObject &object() const { return *object_; }
  /// The decoder for a function's wave size: a kernel's own; for device functions, that of the object's kernels.
  Result<isa::Decoder *> decoder(const object::Symbol &function);
  /// Kernels and device functions that are defined here, by address.
  std::span<const object::Symbol *const> functions() const { return functions_; }

  Result<const Function *> function(const object::Symbol &symbol);
  /// The function that starts at the address; of several, the one with the longest code. Null when there is none.
  const object::Symbol *startingAt(uint64_t address) const;

  /// What a call of the function that starts at the address may write, its callees included. Null where no function
  /// starts there, or while it is being found out (recursion).
  const RegSet *clobbers(uint64_t address);
  /// Whether a call of the function that starts at the address may come back: false where no path leads to a return,
  /// or out of what is known. True where no function starts there, and while it is being found out (recursion).
  bool mayReturn(uint64_t address);
  /// For Function::decode; refers to this object.
  Callees callees() {
    return {.clobbers = [this](uint64_t address) { return clobbers(address); },
            .mayReturn = [this](uint64_t address) { return mayReturn(address); }};
  }

private:
  struct Written {
    RegSet regs;
    bool done = false;
  };
  const RegSet *findClobbers(const object::Symbol &symbol, Written &written);

  const object::CodeObject *object_ = nullptr;
  std::unique_ptr<isa::Decoder> wave64_, wave32_;
  std::vector<const object::Symbol *> functions_;
  std::map<const object::Symbol *, std::unique_ptr<Function>> decoded_;
  std::map<uint64_t, Written> written_;
  std::map<uint64_t, bool> mayReturn_;
  unsigned depth_ = 0;
};

} // namespace luthier::analysis
