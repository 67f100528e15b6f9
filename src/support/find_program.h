// Where a program is that is started by its name.
#pragma once

#include <string>

namespace luthier {

/// The file that execvp would start: `name` itself if it is a path, else the first executable file of that name in the
/// folders of PATH; empty if there is none.
std::string findProgram(const std::string &name);

} // namespace luthier
