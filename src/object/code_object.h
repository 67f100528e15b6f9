// A code object: the ELF file that holds a GPU program, as LLVM's AMDGPUUsage describes it (versions 3, 4 and 5).
//
// A CodeObject is a view: the bytes it was made from must outlive it, and nothing big is copied. Parsing reads headers
// and symbols; the metadata note and line tables are read when asked for. Every offset and size in the file is checked
// before it is used; an error names the origin and the offset.
#pragma once

#include "isa/target.h"
#include "object/kernel_descriptor.h"
#include "object/metadata.h"
#include "support/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace luthier::object {

enum class SymbolKind : uint8_t { Kernel, Variable, DeviceFunction };

/// Addresses are virtual addresses of the ELF file: offsets from where it is loaded.
struct Symbol {
  std::string_view name; ///< a kernel's without ".kd"
  SymbolKind kind = SymbolKind::Variable;
  uint64_t address = 0;    ///< of the code for kernels and functions
  uint64_t size = 0;       ///< of the code; where the file does not say, up to the next symbol or the section's end
  uint64_t descriptor = 0; ///< kernels: address of the kernel descriptor
  bool defined = true;     ///< false: must be provided by another code object
  bool external = true;    ///< visible to other code objects
  bool sized = true;       ///< the file itself says the size
};

struct Relocation {
  uint64_t address = 0;
  uint32_t type = 0;          ///< R_AMDGPU_*
  std::string_view symbol;    ///< empty for R_AMDGPU_RELATIVE64
  uint64_t symbolAddress = 0; ///< 0 when undefined
  int64_t addend = 0;
};

struct Segment {
  uint64_t address = 0;
  std::span<const std::byte> contents; ///< in the file
  uint64_t size = 0;                   ///< in memory; zeros behind the contents
  bool executable = false, writable = false;
};

class CodeObject {
public:
  /// `origin` names the file and the object within it in messages.
  static Result<CodeObject> parse(std::span<const std::byte> elf, std::string origin);

  const std::string &origin() const { return origin_; }
  std::span<const std::byte> elf() const { return elf_; }
  /// "gfx90a:sramecc+:xnack-", as the ELF header says.
  const std::string &targetId() const { return targetId_; }
  const isa::Target &target() const { return *target_; }
  unsigned version() const { return version_; } ///< of the code object: 3, 4, 5

  std::span<const Symbol> symbols() const { return symbols_; } ///< sorted by kind, then address
  const Symbol *find(std::string_view name) const;
  /// The kernel or device function whose code contains the address.
  const Symbol *functionAt(uint64_t address) const;
  std::span<const Segment> segments() const { return segments_; }
  std::span<const Relocation> relocations() const { return relocations_; }
  uint64_t imageSize() const; ///< bytes from address 0 to the end of the last segment

  /// Bytes of the image; fails when they are not all in the file.
  Result<std::span<const std::byte>> bytesAt(uint64_t address, uint64_t size) const;
  Result<std::span<const uint8_t>> code(const Symbol &function) const;

  Result<KernelDescriptor> descriptor(const Symbol &kernel) const;
  /// From the metadata note, parsed at the first call.
  Result<Metadata> metadata() const;

private:
  std::string origin_;
  std::span<const std::byte> elf_;
  std::string targetId_;
  const isa::Target *target_ = nullptr;
  unsigned version_ = 0;
  std::vector<Symbol> symbols_;
  std::vector<Segment> segments_;
  std::vector<Relocation> relocations_;
};

} // namespace luthier::object
