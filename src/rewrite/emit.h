// Puts rewritten kernels into code objects that ROCr loads.
//
// Two ways. `emitMerged` makes a file that takes the original's place: everything of the original stays where it is,
// the rewritten kernels' code and the tool's variables follow behind it, descriptors, symbols and the metadata note of
// the rewritten kernels are changed to agree. `emitOverlay` makes an object of the rewritten kernels alone, which is
// loaded beside the original and refers to it by address: data, and code that was not rewritten, stay the original's.
#pragma once

#include "rewrite/variant.h"
#include "support/result.h"

#include <cstddef>
#include <span>
#include <vector>

namespace luthier::rewrite {

/// Variables become symbols of the new file; those of Storage::Device that several variants use are one.
Result<std::vector<std::byte>> emitMerged(const object::CodeObject &original, std::span<const Variant> variants);

struct OverlayAddresses {
  uint64_t original = 0;           ///< load delta: what is added to addresses of the original's file
  std::vector<uint64_t> variables; ///< of Variant::variables
};
Result<std::vector<std::byte>> emitOverlay(const object::CodeObject &original, const Variant &variant,
                                           const OverlayAddresses &addresses);

} // namespace luthier::rewrite
