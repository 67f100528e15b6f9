// Included by both sides.
#pragma once

namespace call_graph {
constexpr unsigned kCallees = 16; // of one call through a pointer, that are told apart
}
