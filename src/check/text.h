// A finding for people, in the manner of compute-sanitizer and ASan.
#pragma once

#include "check/finding.h"

#include <string>

namespace luthier::check {

/// Several lines, without a newline at the end. The first is the message; the others are indented.
std::string toText(const Finding &finding);

} // namespace luthier::check
