// Loads code objects: copies them to GPU memory and relocates them there.
//
// What a code object is made of is read by object/; here is what a loader does with it, for the GPU that is there.
#pragma once

#include "isa/target.h"
#include "object/code_object.h"
#include "support/result.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace luthier::vgpu {

/// Reads a code object that must be for `target`.
Result<object::CodeObject> parseFor(const isa::Target &target, std::span<const std::byte> elf);

/// Copies the segments to `base` and relocates them. There must be imageSize() bytes of zeros.
Result<void> placeAt(uint64_t base, const object::CodeObject &object);

/// Fills in the places that depend on the load address `base`. Each lies in the image.
Result<void> relocate(uint64_t base, std::span<const object::Relocation> relocations);

} // namespace luthier::vgpu
