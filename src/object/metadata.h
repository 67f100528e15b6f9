// The metadata note of a code object: what a runtime must know about its kernels (LLVM's AMDGPUUsage, "Code Object
// Metadata"; versions 3 to 5 differ in keys only).
//
// Reading and writing are inverses, byte for byte for what LLVM writes: keys are written in order, absent ones stay
// absent, and keys that are not known here are kept as they are.
#pragma once

#include "object/bytes.h"
#include "support/result.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace luthier::object {

/// How an argument is to be set up: `.value_kind`.
enum class ValueKind : uint8_t {
  ByValue,
  GlobalBuffer,
  DynamicSharedPointer,
  Sampler,
  Image,
  Pipe,
  Queue,
  HiddenGlobalOffsetX,
  HiddenGlobalOffsetY,
  HiddenGlobalOffsetZ,
  HiddenNone,
  HiddenPrintfBuffer,
  HiddenHostcallBuffer,
  HiddenDefaultQueue,
  HiddenCompletionAction,
  HiddenMultigridSyncArg,
  HiddenBlockCountX,
  HiddenBlockCountY,
  HiddenBlockCountZ,
  HiddenGroupSizeX,
  HiddenGroupSizeY,
  HiddenGroupSizeZ,
  HiddenRemainderX,
  HiddenRemainderY,
  HiddenRemainderZ,
  HiddenGridDims,
  HiddenHeapV1,
  HiddenDynamicLdsSize,
  HiddenPrivateBase,
  HiddenSharedBase,
  HiddenQueuePtr,
  Other, ///< not known here: the text is kept
};

std::string_view nameOf(ValueKind kind);

/// A key that is not known here, with its value as MessagePack.
struct ExtraKey {
  std::string key;
  std::string value;
  bool operator==(const ExtraKey &) const = default;
};

/// A `.value_kind`, known or not.
struct ArgumentKind {
  ValueKind kind = ValueKind::ByValue;
  std::string other; ///< the text where `kind` is Other

  std::string_view text() const { return kind == ValueKind::Other ? std::string_view(other) : nameOf(kind); }
  bool hidden() const { return text().starts_with("hidden_"); }
  bool operator==(const ArgumentKind &) const = default;
};

struct KernelArgument {
  std::string name; ///< may be empty, as all texts here where the key may be absent
  std::string typeName;
  uint32_t size = 0;
  uint32_t offset = 0;
  ArgumentKind valueKind;
  std::string valueType;
  std::optional<uint32_t> pointeeAlign;
  std::string addressSpace; ///< "global", ...
  std::string access;       ///< "read_only", ...
  std::string actualAccess;
  std::optional<bool> isConst, isRestrict, isVolatile, isPipe;
  std::vector<ExtraKey> extra;

  bool hidden() const { return valueKind.hidden(); }
  bool operator==(const KernelArgument &) const = default;
};

struct KernelMetadata {
  std::string name;
  std::string symbol; ///< of the descriptor: usually the name and ".kd"
  std::string language;
  std::optional<std::array<uint32_t, 2>> languageVersion;
  std::vector<KernelArgument> arguments;
  std::optional<std::array<uint32_t, 3>> requiredWorkgroupSize;
  std::optional<std::array<uint32_t, 3>> workgroupSizeHint;
  std::string vecTypeHint;
  std::string deviceEnqueueSymbol;
  uint32_t kernargSegmentSize = 0;
  uint32_t groupSegmentFixedSize = 0;
  uint32_t privateSegmentFixedSize = 0;
  uint32_t kernargSegmentAlign = 0;
  uint32_t wavefrontSize = 0;
  uint32_t sgprCount = 0; ///< with VCC and other special ones
  uint32_t vgprCount = 0; ///< with AccVGPRs where both share a file
  std::optional<uint32_t> agprCount;
  uint32_t maxFlatWorkgroupSize = 0;
  std::optional<uint32_t> sgprSpillCount, vgprSpillCount;
  std::string kind; ///< "normal", "init", "fini"; empty: normal
  std::optional<uint32_t> maxWorkgroupsX, maxWorkgroupsY, maxWorkgroupsZ;
  std::optional<bool> usesDynamicStack;
  std::optional<uint32_t> workgroupProcessorMode; ///< a boolean by the book, a number by LLVM
  std::optional<uint32_t> uniformWorkgroupSize;
  std::vector<ExtraKey> extra;

  /// Bytes of the arguments that the program passes, without the hidden ones.
  uint64_t explicitArgumentBytes() const;
  bool operator==(const KernelMetadata &) const = default;
};

struct Metadata {
  std::array<uint32_t, 2> version{};
  std::string target; ///< "amdgcn-amd-amdhsa--gfx90a:xnack-", from version 4 on
  std::vector<std::string> printf;
  std::vector<KernelMetadata> kernels;
  std::vector<ExtraKey> extra;

  /// By the kernel's symbol with or without ".kd"; null when there is none.
  const KernelMetadata *kernel(std::string_view name) const;
  bool operator==(const Metadata &) const = default;
};

/// What to read: lists of many kernels have no use for their arguments, which are most of the note.
enum class MetadataParts : uint8_t { All, WithoutArguments };

Result<Metadata> parseMetadata(ByteSpan note, MetadataParts parts = MetadataParts::All);

std::vector<std::byte> serialise(const Metadata &metadata);

} // namespace luthier::object
