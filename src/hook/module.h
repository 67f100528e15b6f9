// A file of hooks: LLVM bitcode made from a HIP or C++ source that includes luthier/hook.h.
//
// The bitcode belongs to no GPU target; it is specialised for one when a fragment is compiled (hook/compiler.h). What
// is in it is read once, by the hook compiler's process (hook/compiler_process.h), and kept in the cache: the hooks
// with the types of their parameters, and the tool's variables. Everything that can be refused without compiling is
// refused here, with the name of the hook: LDS, recursion, symbols that nobody defines.
#pragma once

#include "hook/cache.h"
#include "support/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace luthier::hook {

enum class HookKind : uint8_t {
  Lane, ///< runs under the guest's EXEC
  Wave, ///< runs once per wave, even when no lane is active
};

enum class ValueType : uint8_t { Void, Integer, Float, Pointer, Structure };

struct HookParameter {
  ValueType type = ValueType::Integer;
  uint8_t dwords = 1; ///< registers that it takes; smaller integers take one
  bool operator==(const HookParameter &) const = default;
};

struct Hook {
  std::string name; ///< as written in the source, with its namespaces: "count", "my::count"
  std::string symbol;
  HookKind kind = HookKind::Lane;
  std::vector<HookParameter> parameters;
  HookParameter result; ///< type Void, 0 dwords when there is none
  /// Types of the parameters as the tool's host code names them (hook/host_types.h): "uint32_t", "const void *".
  std::vector<std::string> hostTypes;
};

/// A hook that runs only where a predicate holds, which is a hook of the same kind that returns a number: its
/// parameters are the predicate's and then the hook's; it returns nothing.
Result<Hook> conditional(const Hook &predicate, const Hook &hook);

enum class Storage : uint8_t {
  Device,       ///< one copy in device memory
  PerLaunch,    ///< one copy per launch, in a block of memory whose address the kernel is given
  PerWave,      ///< in reserved scalar registers, zero when a wave starts
  PerLane,      ///< in reserved vector registers, zero when a wave starts
  Lds,          ///< one copy per workgroup, in a block of LDS, zero when a workgroup starts
  PerWorkgroup, ///< one copy per workgroup, in a block of memory as PerLaunch, zero when a workgroup starts
  PerSite,      ///< in device memory, one copy for each place where a hook that uses it is inserted
};
inline constexpr unsigned kStorages = 7;
/// Kept in registers: no address, no initial contents.
constexpr bool inRegisters(Storage storage) { return storage == Storage::PerWave || storage == Storage::PerLane; }
/// A module's variables of this kind lie in one block, at Variable::offset.
constexpr bool inBlock(Storage storage) {
  return storage == Storage::PerLaunch || storage == Storage::Lds || storage == Storage::PerWorkgroup;
}
/// "per wave", for messages.
std::string_view scopeOf(Storage storage);

struct Variable {
  std::string name;
  std::string symbol;
  std::string hostType; ///< as the tool's host code names it: "uint64_t", "float[16]"
  Storage storage = Storage::Device;
  uint64_t size = 0;
  uint64_t alignment = 1;
  uint64_t offset = 0;             ///< in its block, if there is one
  std::vector<std::byte> contents; ///< initial ones; empty: zeros

  /// Whether code refers to it by address, which is known before the kernel is launched.
  bool hasAddress() const { return storage == Storage::Device || storage == Storage::PerSite; }
  /// PerSite: from one copy to the next.
  uint64_t stride() const { return (size + alignment - 1) / alignment * alignment; }
};

class HookModule {
public:
  /// `origin` names the file in messages. `cache`: where what was found is kept across runs; empty: nowhere.
  static Result<std::shared_ptr<const HookModule>> load(std::span<const std::byte> bitcode, std::string origin,
                                                        const std::filesystem::path &cache = defaultCacheFolder());
  ~HookModule();

  const std::string &origin() const;
  std::span<const Hook> hooks() const;
  std::span<const Variable> variables() const;
  const Hook *findHook(std::string_view name) const; ///< by name or symbol; null when there is none
  const Variable *findVariable(std::string_view name) const;
  /// The block of all variables of a kind (inBlock).
  struct Block {
    uint64_t bytes = 0, alignment = 1;
    uint64_t stride() const { return (bytes + alignment - 1) / alignment * alignment; } ///< of one behind the other
  };
  const Block &block(Storage storage) const;
  uint64_t perLaunchBytes() const { return block(Storage::PerLaunch).bytes; }
  uint64_t perLaunchAlignment() const { return block(Storage::PerLaunch).alignment; }

  /// For the compiler of fragments (hook/module_impl.h).
  struct Impl;
  const Impl &impl() const { return *impl_; }
  /// Of hooks and variables that are known already.
  static std::shared_ptr<const HookModule> make(std::unique_ptr<Impl> impl);

private:
  explicit HookModule(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace luthier::hook
