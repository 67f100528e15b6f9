// Findings as SARIF 2.1.0, which CI systems show beside the source; and as plain JSON.
#pragma once

#include "check/summary.h"

#include <string>

namespace luthier::check {

std::string toSarif(const Summary &summary);
std::string toJsonText(const Summary &summary);

} // namespace luthier::check
