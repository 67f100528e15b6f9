// What stands where in the tables of the running ROCr.
//
// A table starts with its version: a major number, its size in bytes (called minor), a step. Releases of ROCr have
// appended functions, which the size tells, but the table of AMD's extensions also got some in its middle in 5.5 and
// 5.6, without a new major number. So a table of known functions is known by its size: with N functions it has those
// that are in every table of N functions or more (later_functions.txt), and if that is not N of them, it is a table of
// a ROCr that Luthier does not know. Functions behind all known ones are ROCr's own business and stay as they are.
#pragma once

#include "hsa/api.h"

#include <vector>

namespace luthier::hsa {

/// Those that Luthier wraps. ROCr's others hold callbacks of tools (6.1) and the sampling of PCs (6.2).
enum class ApiTable { core, amd, finalizer, image, loader };

/// The functions of a table in its order, as far as they are known. Fails by name where a known function could be at
/// another place.
Result<std::vector<ApiId>> layoutOf(ApiTable table, const ApiTableVersion &version);

/// The entry of a function in the table that begins with `version`. Null where the running ROCr has not that function,
/// or is one that Luthier does not know.
void *entryOf(ApiTable table, const ApiTableVersion &version, ApiId id);

/// Those of the loader's extension, a table without a version.
std::vector<ApiId> loaderLayout();

} // namespace luthier::hsa
