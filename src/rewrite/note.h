// What was inserted at a place, in words: "count(0x3 in s5, address = v[2:3] + 0x10) with seen = s[96:97]".
#pragma once

#include "rewrite/placement.h"
#include "rewrite/rewriter.h"

#include <string>

namespace luthier::rewrite {

/// `site.inputs` and `site.outputs` are in the order of the fragment's ports.
std::string noteOf(const Insertion &insertion, const Site &site, const PlacedSite &placed);

} // namespace luthier::rewrite
