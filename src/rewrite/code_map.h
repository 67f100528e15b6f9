// The bytes of the section .luthier.map; only emit.cc writes them. readCodeMap (rewrite/emit.h) is the other way.
#pragma once

#include "rewrite/emit.h"

namespace luthier::rewrite {

inline constexpr std::string_view kMapSection = ".luthier.map";

/// The ranges of a variant whose code is at `address`.
void addRanges(CodeMap &map, const Variant &variant, uint64_t address);

std::vector<std::byte> encodeCodeMap(const CodeMap &map);

} // namespace luthier::rewrite
