// A code object: the ELF file that holds a GPU program, as LLVM's AMDGPUUsage describes it (versions 3 to 6).
//
// A CodeObject is a view: the bytes it was made from must outlive it, and nothing big is copied. Parsing reads headers,
// symbols and relocations; descriptors, the metadata note and line tables are read when asked for. Every offset and
// size in the file is checked before it is used, and work is linear in the file's size whatever it claims; an error
// names the origin and the offset.
#pragma once

#include "isa/target.h"
#include "isa/target_id.h"
#include "object/bytes.h"
#include "object/elf_file.h"
#include "object/kernel_descriptor.h"
#include "object/metadata.h"
#include "support/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace luthier::object {

/// A kernel is a pair NAME (code) and NAME.kd (descriptor); a device function is any other function.
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
  bool weak = false;       ///< may stay undefined
  bool sized = true;       ///< the file itself says the size

  bool function() const { return kind != SymbolKind::Variable; }
  uint64_t end() const { return address + size; }
};

/// Types of relocation: R_AMDGPU_*.
enum class RelocationType : uint32_t {
  None = 0,
  Abs32Lo = 1,
  Abs32Hi = 2,
  Abs64 = 3,
  Rel32 = 4,
  Rel64 = 5,
  Abs32 = 6,
  GotPcRel = 7,
  GotPcRel32Lo = 8,
  GotPcRel32Hi = 9,
  Rel32Lo = 10,
  Rel32Hi = 11,
  Relative64 = 13,
  Rel16 = 14,
};

/// A place that the loader fills in.
struct Relocation {
  uint64_t address = 0;
  uint32_t type = 0;          ///< RelocationType
  bool hasSymbol = false;     ///< not for Relative64
  std::string_view symbol{};  ///< its name, which may be empty
  uint64_t symbolAddress = 0; ///< 0 when undefined
  int64_t addend = 0;
  bool defined = true; ///< the symbol is in this code object, or there is none
  bool weak = false;   ///< the symbol may stay undefined, and is 0 then
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
  std::span<const std::byte> elf() const { return elf_.bytes; }
  const ElfFile &file() const { return elf_; }
  /// "gfx90a:sramecc+:xnack-", as the ELF header says.
  const std::string &targetId() const { return targetText_; }
  const isa::TargetId &parsedTargetId() const { return targetId_; }
  /// Whether the target has a row in isa/; without one, code can be listed but not understood.
  bool hasTarget() const { return target_ != nullptr; }
  const isa::Target &target() const { return *target_; } ///< only if hasTarget()
  unsigned version() const { return version_; }          ///< of the code object: 3, 4, 5, 6

  std::span<const Symbol> symbols() const { return symbols_; } ///< sorted by kind, then address, then name
  std::span<const Symbol> symbols(SymbolKind kind) const;
  std::span<const Symbol> kernels() const { return symbols(SymbolKind::Kernel); }
  /// By name; a kernel also by its descriptor's ("NAME.kd").
  const Symbol *find(std::string_view name) const;
  /// The kernel or device function whose code contains the address; the one that begins last if they overlap.
  const Symbol *functionAt(uint64_t address) const;
  /// Functions that begin within another, which comes first in the pair: the one that began last. Aliases (same address
  /// and size) count as one function.
  std::vector<std::pair<const Symbol *, const Symbol *>> overlaps() const;
  std::span<const Segment> segments() const { return segments_; }
  std::span<const Relocation> relocations() const { return relocations_; } ///< sorted by address
  /// The relocation that fills in the word at this address, such as an entry of the .got; or null.
  const Relocation *relocationAt(uint64_t address) const;
  std::span<const Section> sections() const { return elf_.sections; }
  const Section *section(std::string_view name) const { return elf_.section(name); }
  uint64_t imageSize() const { return imageSize_; } ///< bytes from address 0 to the end of the last segment

  /// Bytes of the image; fails when they are not all in the file.
  Result<std::span<const std::byte>> bytesAt(uint64_t address, uint64_t size) const;
  Result<std::span<const uint8_t>> code(const Symbol &function) const;

  Result<KernelDescriptor> descriptor(const Symbol &kernel) const;
  /// Reads the metadata note anew at each call. Without a note, an empty one.
  Result<Metadata> metadata(MetadataParts parts = MetadataParts::All) const;
  /// The metadata note's MessagePack; empty when there is none.
  std::span<const std::byte> metadataNote() const { return note_; }

private:
  friend class SymbolReader;

  /// A range of addresses and the function that functionAt gives for it.
  struct CodeRange {
    uint64_t begin, end;
    uint32_t symbol;
  };

  Error error(const Error &why) const { return why.withContext(origin_); }
  Result<void> readHeader();
  Result<void> readSegments();
  Result<void> findNote();

  std::string origin_;
  ElfFile elf_;
  isa::TargetId targetId_;
  std::string targetText_;
  const isa::Target *target_ = nullptr;
  unsigned version_ = 0;
  uint64_t imageSize_ = 0;
  std::span<const std::byte> note_;
  std::vector<Symbol> symbols_;
  std::vector<std::pair<uint64_t, uint32_t>> byName_; ///< hash and index into symbols_, sorted
  std::vector<uint32_t> functions_;                   ///< defined ones, sorted by address
  std::vector<CodeRange> code_;                       ///< disjoint, sorted by address
  std::vector<Segment> segments_;
  std::vector<Relocation> relocations_;
};

} // namespace luthier::object
