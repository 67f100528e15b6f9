// Reads AMD GPU code objects: ELF files of the kind that clang links for amdgcn-amd-amdhsa.
//
// Only what launching needs: segments, dynamic symbols, dynamic relocations, and the kernels' metadata (a MessagePack
// document in a note). Layouts: LLVM's AMDGPUUsage, "ELF Code Object" and "Code Object Metadata".
#pragma once

#include "isa/target.h"
#include "luthier/vgpu.h"
#include "support/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace luthier::vgpu {

struct CodeObject {
  struct Segment {
    uint64_t address;                    ///< relative to the load address, as all addresses here
    std::span<const std::byte> contents; ///< points into the file
    uint64_t bytes;                      ///< in memory; zeros behind the contents
  };
  struct Symbol {
    std::string name;
    uint64_t address = 0;
    uint64_t bytes = 0;
    bool defined = false;
    bool weak = false;
    bool object = false; ///< a variable or a kernel descriptor
  };
  struct Relocation {
    uint64_t address;
    uint32_t type;   ///< R_AMDGPU_*
    uint32_t symbol; ///< index into `symbols`
    int64_t addend;
  };

  std::vector<Segment> segments;
  std::vector<Symbol> symbols;
  std::vector<Relocation> relocations;
  std::vector<Kernel> kernels; ///< from the metadata: names and arguments only
  uint64_t bytes = 0;          ///< of the loaded image

  /// Checks that `elf` is a linked code object for `target`, and takes it apart.
  static Result<CodeObject> parse(std::span<const std::byte> elf, const isa::Target &target);

  /// Copies the segments to `base` and relocates them. There must be `bytes` bytes of zeros.
  Result<void> placeAt(uint64_t base) const;
};

} // namespace luthier::vgpu
