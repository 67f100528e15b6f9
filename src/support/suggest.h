// What a user probably meant by a name that does not exist.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace luthier {

/// The name that is only a slip of the keyboard away; empty if none is.
std::string closestName(std::string_view word, const std::vector<std::string> &names);

/// "; did you mean 'per'?", or nothing.
std::string suggestion(std::string_view word, const std::vector<std::string> &names);

} // namespace luthier
