// Formats that hold several device images in one: clang's offload bundles and LLVM's offload binaries.
//
// A bundle is a table of (offset, size, entry id), the id being "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+" or older
// spellings of it (Clang's "Offload Bundler" page). An offload binary holds one image with key-value strings (LLVM's
// Object/OffloadBinary.h). Both are read in place.
#pragma once

#include "object/bytes.h"
#include "support/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace luthier::object {

struct BundleEntry {
  std::string id;
  uint64_t offset = 0; ///< from the bundle's start
  ByteSpan contents;

  /// The target id's text, "gfx90a:xnack+"; empty when this is no machine code for an AMD GPU.
  std::string_view target() const;
};

struct Bundle {
  std::vector<BundleEntry> entries;
  uint64_t size = 0; ///< up to the end of the last entry
};

bool isBundle(ByteSpan bytes);
/// The bundle at the beginning of `bytes`; more may follow it.
Result<Bundle> readBundle(ByteSpan bytes);

bool isOffloadBinary(ByteSpan bytes);
/// The offload binary at the beginning of `bytes`, as a bundle with one entry.
Result<Bundle> readOffloadBinary(ByteSpan bytes);

} // namespace luthier::object
