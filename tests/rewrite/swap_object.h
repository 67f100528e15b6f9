// What the swap tool does to a code object, without HSA around it.
#pragma once

#include "object/code_object.h"
#include "rewrite/rewriter.h"

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace luthier::rewrite::test {

enum class SwapMode {
  End,        ///< kernels that do nothing at all: shows that what is swapped in is what runs
  Copy,       ///< verbatim, without the rewriter (copy_variant.h)
  Identity,   ///< rewritten without hooks
  Empty,      ///< a hook that does nothing, at every instruction
  Count,      ///< one that counts
  Hostile,    ///< one that takes registers, clobbers, loops and diverges (harness_hooks.hip)
  Stateful,   ///< the same with variables per lane or per wave, and LDS
  Frame,      ///< one with local variables in memory, calls through pointers and recursion
  Everything, ///< all of these in one hook
  Sampled,    ///< the hostile one in every third visit, in every second wave that starts
};

struct SwapOptions {
  SwapMode mode = SwapMode::Copy;
  bool wave = false;  ///< the hook's wave form
  bool after = false; ///< after each instruction instead of before it
  /// Of all places, every n-th gets a hook, beginning with the one numbered `phase`.
  uint64_t every = 1, phase = 0;
  uint64_t first = 0, last = UINT64_MAX; ///< and only those with numbers from `first` to `last`
  std::string kernel;                    ///< and only in kernels whose name contains this
  std::string hooks;                     ///< the bitcode of harness_hooks.hip
  HookForm form = HookForm::Auto;

  static Result<SwapOptions> fromEnvironment();
  bool usesHooks() const { return mode >= SwapMode::Empty; }
};

/// Bytes that a kernel needs beyond what it needed: scratch per lane, LDS per workgroup.
struct MoreMemory {
  uint32_t scratch = 0, lds = 0;
};

struct Swapped {
  std::vector<std::byte> file;
  nlohmann::json account;
  std::vector<std::pair<uint64_t, MoreMemory>> more; ///< by descriptor address
};

class Swapper {
public:
  static Result<std::unique_ptr<Swapper>> create(SwapOptions options);
  ~Swapper();

  /// All kernels of an object. A kernel that cannot be rewritten stays as it is, and the account says why.
  Result<Swapped> swap(const object::CodeObject &object);
  const SwapOptions &options() const { return options_; }

private:
  struct Impl;
  explicit Swapper(SwapOptions options);

  SwapOptions options_;
  std::unique_ptr<Impl> impl_;
};

} // namespace luthier::rewrite::test
