// From addresses of code to lines of source, where the code object has DWARF line tables (hipcc -g).
//
// A library of its own (luthier_source_lines): it brings LLVM's DWARF reader along, which only commands that print
// source positions need.
#pragma once

#include "object/code_object.h"
#include "support/result.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace luthier::object {

struct SourceLocation {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;  ///< 0 when not known
  std::string function; ///< as linked, so mangled; empty when not known

  bool operator==(const SourceLocation &) const = default;
};

class SourceLines {
public:
  /// Of a code object, which must outlive this. An error when it has no line tables, or none that can be read.
  static Result<SourceLines> of(const CodeObject &object);

  SourceLines(SourceLines &&) noexcept;
  SourceLines &operator=(SourceLines &&) noexcept;
  ~SourceLines();

  /// Where the instruction at this address comes from: the innermost function if it was inlined.
  std::optional<SourceLocation> at(uint64_t address) const;
  /// The same with the callers that it was inlined into, innermost first; empty when nothing is known.
  std::vector<SourceLocation> framesAt(uint64_t address) const;

private:
  struct State;
  explicit SourceLines(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

} // namespace luthier::object
