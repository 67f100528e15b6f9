// How much of a target's instruction set the virtual GPU executes.
#pragma once

#include "isa/target.h"
#include "support/result.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace luthier::vgpu {

/// Instructions that are left out because only graphics has a use for them.
struct GraphicsGroup {
  std::string_view name;
  std::string_view reason;
  std::span<const std::string_view> mnemonics;
};
std::span<const GraphicsGroup> graphicsGroups();

struct Coverage {
  struct Group {
    std::string name;
    std::string reason;
    std::vector<std::string> mnemonics; ///< those that the target has
  };

  std::vector<std::string> implemented; ///< compute opcodes that are executed in all their forms, sorted
  std::vector<std::string> missing;     ///< the other compute opcodes, sorted
  std::vector<Group> graphics; ///< in the order of graphicsGroups; groups that the target has nothing of are left out
  size_t forms = 0;            ///< encodings of all opcodes that LLVM tells apart
  uint64_t probes = 0;         ///< bit patterns that LLVM was asked about

  size_t compute() const { return implemented.size() + missing.size(); }
  bool complete() const { return missing.empty(); }
};

/// Decodes every form of every opcode that LLVM has for the target (isa/opcode_universe.h).
Result<Coverage> coverage(const isa::Target &target);

} // namespace luthier::vgpu
