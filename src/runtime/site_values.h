// Per-site variables (LUTHIER_PER_SITE): an array in a GPU's memory for each variant of a kernel, with a copy for every
// place where a hook that uses the variable was inserted, and which place that is.
//
// Arrays live until the end of the run, and so does what is known of the code. A kernel whose code was unloaded and
// loaded again goes on with the array that it had, if the tool asked for the same places.
#pragma once

#include "rewrite/variant.h"
#include "runtime/kernel_view.h"
#include "runtime/tool_memory.h"

#include <memory>
#include <mutex>
#include <vector>

namespace luthier::runtime {

/// Thread-safe.
class SiteValues {
public:
  explicit SiteValues(ToolMemory &memory) : memory_(memory) {}

  /// A variant of a kernel on an agent.
  struct Owner {
    hsa_agent_t agent = {};
    std::shared_ptr<ObjectView> object;
    std::shared_ptr<const KernelIdentity> identity;
    std::vector<unsigned> choice; ///< a number per tool; none: 0 for all
  };
  /// Where the array of a variable that the variant uses is. `insertions`: as in the request.
  Result<uint64_t> arrayFor(const Owner &owner, const rewrite::UsedVariable &used,
                            std::span<const rewrite::Insertion> insertions);

  /// Calls `visit` for every copy with its place and value, kernel by kernel.
  using Visit = std::function<void(const SiteOfValue &, std::span<const std::byte>)>;
  Result<void> read(const hook::HookModule &module, const hook::Variable &variable, size_t tool, const Visit &visit);

private:
  struct Copy {
    const analysis::Function *function = nullptr;
    const Instr *instr = nullptr;
    std::string hook;
    bool samePlace(const Copy &other) const {
      return instr->address() == other.instr->address() && hook == other.hook &&
             function->symbol().address == other.function->symbol().address;
    }
  };
  struct Array {
    Owner owner;
    std::shared_ptr<const hook::HookModule> module;
    uint32_t variable = 0;
    std::vector<Copy> copies;
    std::vector<std::unique_ptr<Function>> functions; ///< as tools see them, one per function
    std::vector<const Function *> functionOf;         ///< by copy
    hsa::PoolMemory memory;

    bool isFor(const Owner &other, const rewrite::UsedVariable &used, std::span<const Copy> places) const;
  };
  static Result<std::vector<Copy>> copiesOf(const Owner &owner, const rewrite::UsedVariable &used,
                                            std::span<const rewrite::Insertion> insertions);
  Result<void> allocate(Array &array);

  ToolMemory &memory_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Array>> arrays_; ///< in the order of making
};

} // namespace luthier::runtime
