// A file with GPU code, with other code objects in the place of its own: a code object, a bundle, or a host program or
// library with its bundles.
//
// Of a host file, everything stays where it is. New bundles are seldom as small as the old ones, so they go into a
// segment of their own at the end; what leads there is changed: HIP's descriptions of the bundles (.hipFatBinSegment),
// the relocations that fill these in, and the header of the section .hip_fatbin. The table of program headers grows by
// one entry, and moves to the end too, as it has no room to grow. The old bundles' bytes are left behind unused.
#pragma once

#include "object/bytes.h"
#include "support/result.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace luthier::object {

/// New code objects, by the number of the one that each replaces: as images follow each other in a Container, from 1.
using NewImages = std::map<uint64_t, std::vector<std::byte>>;

/// The whole new file. What cannot be replaced is an error: images in offload binaries (OpenMP), and in host files for
/// other processors than x86-64.
Result<std::vector<std::byte>> replaceImages(ByteSpan file, const std::string &name, const NewImages &images);

} // namespace luthier::object
