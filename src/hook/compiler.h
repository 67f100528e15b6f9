// Compiles hooks to fragments with LLVM, each once per target, wave size and kinds of arguments. LLVM works in a
// process of its own (hook/compiler_process.h).
//
// The hook is wrapped in a function of the shader convention amdgpu_cs that returns its results in registers: LLVM
// turns that into code without prologue, stack or return. Hooks that need what a fragment cannot have (LDS, a stack, a
// call) are refused by name.
#pragma once

#include "hook/cache.h"
#include "hook/fragment.h"
#include "isa/target.h"

#include <filesystem>

namespace luthier::hook {

struct FragmentRequest {
  std::string hook;            ///< name or symbol
  std::vector<Source> sources; ///< one per parameter; the predicate's first
  std::string predicate = {};  ///< a hook that decides where it runs (conditional()); empty: everywhere
  bool operator<=>(const FragmentRequest &) const = default;
};

/// Thread-safe.
class FragmentCompiler {
public:
  struct Options {
    /// Where fragments are kept across runs; empty: nowhere. Any number of processes may use it at once; what is
    /// damaged or foreign in it is ignored and replaced.
    std::filesystem::path cache;
  };

  explicit FragmentCompiler(Options options = {.cache = defaultCacheFolder()});
  ~FragmentCompiler();

  Result<std::shared_ptr<const Fragment>> compile(const std::shared_ptr<const HookModule> &module,
                                                  const FragmentRequest &request, const isa::Target &target,
                                                  unsigned waveSize);

  struct Statistics {
    uint64_t compiled = 0, fromDisk = 0, fromMemory = 0;
    double compileSeconds = 0; ///< of a core
  };
  Statistics statistics() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace luthier::hook
