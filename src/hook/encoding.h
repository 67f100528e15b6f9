// What the application's process, the hook compiler's process and the cache on disk pass to each other, as bytes.
//
// Reading trusts nothing: a number is compared with the range that its meaning allows before it becomes an enumeration,
// a register or an index, and the error says which number it was.
#pragma once

#include "hook/fragment.h"
#include "hook/module_impl.h"
#include "isa/target.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace luthier::hook {

/// What the hook compiler is asked.
struct CompilerRequest {
  std::string version = {}; ///< kHookVersion of who asks: the compiler must have the same
  std::string origin;       ///< names the bitcode in messages
  std::vector<std::byte> bitcode;
  std::string hook;           ///< symbol; empty: which hooks and variables are there?
  std::string predicate = {}; ///< symbol of the hook that decides where it runs; empty: there is none
  std::vector<Source> sources;
  std::string target;
  uint32_t waveSize = 0;
  bool operator==(const CompilerRequest &) const = default;
};

struct CompilerReply {
  enum class Outcome : uint8_t {
    Done,    ///< `text` is what was asked for, encoded
    Refused, ///< `text` says what is wrong with the hooks
    GaveUp,  ///< LLVM ended in the middle of its work; `text` is what it said
  };
  Outcome outcome = Outcome::GaveUp;
  std::string text;
  double seconds = 0; ///< of a core
};

std::string encode(const CompilerRequest &request);
Result<CompilerRequest> decodeRequest(std::string_view text);

std::string encode(const CompilerReply &reply);
Result<CompilerReply> decodeReply(std::string_view text);

/// Hooks and variables of a module.
std::string encode(const HookModule::Impl &module);
Result<void> decodeContents(std::string_view text, HookModule::Impl &module);

/// What the compiler decided: kind, bytes, ports, relocations and the frame's size. The rest of a fragment is derived
/// from its code (hook/inspect.h).
std::string encode(const Fragment &fragment);
Result<Fragment> decodeFragment(std::string_view text, const HookModule &module, const Hook &hook,
                                const isa::Target &target);

} // namespace luthier::hook
