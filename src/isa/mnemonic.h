// Names of instructions, without what tells their encodings apart.
#pragma once

#include <string_view>

namespace luthier::isa {

/// Drops the suffix by which LLVM tells encodings of one instruction apart.
constexpr std::string_view withoutEncodingSuffix(std::string_view mnemonic) {
  // More than one at a time: gfx11 has "_e64_dpp".
  for (std::string_view suffix : {"_dpp", "_sdwa", "_e64", "_e32"})
    if (mnemonic.ends_with(suffix))
      mnemonic.remove_suffix(suffix.size());
  return mnemonic;
}

} // namespace luthier::isa
