// Where what may be needed again in later runs is kept, and whether a file or folder there can be trusted.
#pragma once

#include <filesystem>
#include <string>

#include <sys/stat.h>

namespace luthier {

/// What the environment says: LUTHIER_CACHE (a folder; empty for "off"), or else $XDG_CACHE_HOME/luthier or
/// ~/.cache/luthier.
std::filesystem::path defaultCacheFolder();

/// Who else could have put something there, as what follows "it"; empty when nobody but the user of this process could.
std::string whoElseCouldWrite(const struct stat &status);

} // namespace luthier
