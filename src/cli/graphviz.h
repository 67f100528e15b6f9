// Writes graphs in the language of Graphviz, and has its program `dot` draw them.
#pragma once

#include "support/result.h"

#include <string>
#include <string_view>

namespace luthier::cli {

/// Text within double quotes; lines end at the left.
std::string dotQuoted(std::string_view text);

/// `graph` into the file: as it is when that ends in .dot or .gv, drawn by `dot` for .svg, .png and .pdf. Any other
/// ending, and a missing `dot`, is an error.
Result<void> writeGraph(const std::string &graph, const std::string &path);

} // namespace luthier::cli
