// Fragments on disk, one file each, named by a digest of everything that they depend on.
//
// A file is written under another name and renamed, so that readers see it whole or not at all; its own digest at the
// end tells damage. Only what the compiler decided is in it: what can be read off the code is read off it again.
#pragma once

#include "hook/fragment.h"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace luthier::hook {

/// SHA-256 in hexadecimal digits.
std::string digestOf(std::span<const std::byte> bytes);
inline std::string digestOf(std::string_view text) { return digestOf(std::as_bytes(std::span(text))); }

class FragmentCache {
public:
  /// An empty folder: nothing is kept.
  explicit FragmentCache(std::filesystem::path folder);

  /// Kind, bytes, ports and relocations of the fragment with this key. Nothing when there is none or it is damaged.
  std::optional<Fragment> load(const std::string &key) const;
  /// What cannot be written is not kept; only LUTHIER_LOG=debug tells.
  void store(const std::string &key, const Fragment &fragment) const;

private:
  std::filesystem::path pathOf(const std::string &key) const;

  std::filesystem::path folder_;
};

} // namespace luthier::hook
