// The section .luthier.map of rewritten code: what each piece of the new code is, and which instruction of the original
// it belongs to (docs/rewritten-objects.md).
//
// src/rewrite writes it; whoever shows such code, or explains an address in it, reads it.
#pragma once

#include "object/code_object.h"
#include "support/result.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace luthier::object {

inline constexpr std::string_view kMapSection = ".luthier.map";

/// What a piece of the new code is.
enum class CodeKind : uint8_t {
  Original,    ///< instructions of the original, unchanged but for branch targets
  Replacement, ///< stands for an original instruction that cannot stay as it is: s_getpc_b64, calls
  Glue,        ///< setting up and saving around a hook
  Fragment,    ///< the hook
  Entry,       ///< the preamble
  Island,      ///< a branch on behalf of one that cannot reach its target
  SharedHook,  ///< a hook that several places call
};
std::string_view toString(CodeKind kind);

/// The ranges and notes of a rewritten file, by addresses of that file.
struct CodeMap {
  struct Range {
    CodeKind kind;
    uint64_t address, size, original;
    std::string note; ///< of the first range of a place
    /// The original's address of the instruction at an address of this range; for what was inserted, of the instruction
    /// that it belongs to.
    uint64_t originalOf(uint64_t at) const { return kind == CodeKind::Original ? original + (at - address) : original; }
  };
  std::vector<Range> ranges; ///< ascending
  const Range *find(uint64_t address) const;
};

/// Nothing for other files; an error for a damaged map.
Result<CodeMap> readCodeMap(const CodeObject &object);
std::vector<std::byte> encodeCodeMap(const CodeMap &map);

} // namespace luthier::object
