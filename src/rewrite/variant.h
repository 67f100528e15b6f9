// A rewritten kernel: its code and all that changes around it, before it is put into an object (rewrite/emit.h).
#pragma once

#include "hook/module.h"
#include "isa/occupancy.h"
#include "luthier/launch_value.h"
#include "object/code_map.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace luthier::rewrite {

/// A literal in the code that is half of an address.
struct CodeRelocation {
  enum class Base : uint8_t {
    Original, ///< where the original code object is loaded
    Variable, ///< a tool's variable
  };
  uint64_t offset = 0; ///< of the four bytes, in Variant::code
  bool high = false;   ///< the upper 32 bits
  Base base = Base::Original;
  uint32_t variable = 0; ///< number in Variant::variables
  uint64_t addend = 0;   ///< Original: an address of the file
};

/// A function of the variant: the kernel's own code first, then copies of functions that it can reach, then hooks that
/// are called.
struct NewFunction {
  const object::Symbol *original = nullptr; ///< null: a hook
  uint64_t offset = 0, size = 0;            ///< in Variant::code
  std::string name = {};                    ///< of a hook
};

/// A piece of the new code.
struct CodeRange {
  using Kind = object::CodeKind;
  Kind kind = Kind::Original;
  uint64_t offset = 0, size = 0; ///< in Variant::code
  uint64_t original = 0;         ///< address in the file of the instruction it belongs to
  uint32_t site =
      UINT32_MAX; ///< number of the insertion in the request, for Glue and Fragment; the first of a SharedHook
  uint32_t note = UINT32_MAX; ///< number in Variant::notes, the same for all ranges of a place
};

/// The place that a copy of a PerSite variable belongs to.
struct SiteCopy {
  uint32_t insertion = 0;                   ///< number in the request
  const object::Symbol *function = nullptr; ///< that the place is in
  uint64_t address = 0;                     ///< of the instruction there, in the file
};

/// A tool's variable that the code refers to.
struct UsedVariable {
  static constexpr uint32_t kLaunchBlock = UINT32_MAX; ///< the module's block of PerLaunch variables
  std::shared_ptr<const hook::HookModule> module;
  uint32_t variable = 0;             ///< number in module->variables(), or kLaunchBlock
  std::vector<SiteCopy> copies = {}; ///< of a PerSite variable, hook::Variable::stride() bytes apart

  bool isPerSite() const {
    return variable != kLaunchBlock && module->variables()[variable].storage == hook::Storage::PerSite;
  }
};

/// A value of the launch that the code expects at this offset, in 64 bits.
struct LaunchArgument {
  LaunchValue value;
  uint32_t offset;
};

/// What the packet's kernarg_address must point to, if the code needs it: made for each launch.
struct LaunchSegment {
  static constexpr uint32_t kOriginal = 0;    ///< offset of the kernarg_address that the application gave
  uint32_t bytes = 0;                         ///< 0: none is needed, the packet keeps its own
  uint32_t blocks = 0;                        ///< offset of the addresses of launch blocks, 8 bytes each
  std::vector<LaunchArgument> arguments = {}; ///< behind those
  /// Offset of what says where a workgroup's variables are, for each module that has such: the address of the first
  /// one's, and the bytes from one to the next along x, y and z, 32 bits each.
  uint32_t groups = 0;
  static constexpr uint32_t kGroupBytes = 24;
};

struct Resources {
  uint32_t sgprs = 0;    ///< as allocated, special ones included
  uint32_t vgprs = 0;    ///< as allocated; with AccVGPRs where both share a file
  uint32_t accVgprs = 0; ///< that are used
  uint32_t scratch = 0;  ///< bytes per lane
  uint32_t lds = 0;      ///< bytes per workgroup, without what a launch adds
  uint32_t kernarg = 0;
  uint64_t codeBytes = 0;
  unsigned wavesPerSimd = 0;
  isa::ResourceUse registers; ///< of a wave, for what fits on a compute unit
};

struct Variant {
  const object::Symbol *kernel = nullptr;
  std::vector<uint8_t> code;               ///< starts with the kernel's entry; aligned to 256
  std::vector<CodeRelocation> relocations; ///< ascending
  std::vector<NewFunction> functions;
  std::vector<CodeRange> ranges;  ///< ascending, without holes
  std::vector<std::string> notes; ///< per place: hook and where its arguments are, for people
  std::vector<UsedVariable> variables;
  object::KernelDescriptor descriptor; ///< all but entryOffset, which depends on where it is put
  object::KernelMetadata metadata;
  Resources before, after;
  /// Work-items of the largest workgroup that finds room for its registers on a compute unit. Smaller than the kernel's
  /// own limit only if the rewriter was told that whoever launches it looks here (LaunchBlocks::Segment).
  uint32_t largestWorkgroup = 0;
  /// Modules whose PerLaunch variables the code reaches through pointers in the launch segment, in this order. None if
  /// the rewriter was told to use variables instead.
  std::vector<std::shared_ptr<const hook::HookModule>> launchBlocks;
  std::vector<std::shared_ptr<const hook::HookModule>> groupBlocks; ///< the same of PerWorkgroup variables
  LaunchSegment segment;
};

} // namespace luthier::rewrite
