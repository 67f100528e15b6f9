// What LLVM made of hooks, kept on disk across runs: one file each, named by a digest of everything that it depends on.
//
// A file is written under another name and renamed, so that readers see it whole or not at all; its own digest tells
// damage. The folder must belong to the user alone: what is in it becomes code on the GPU. It is created so; one that
// others own or may write to is not used. Every file is opened without following links, must be the user's, and every
// number in it is checked by who reads it (hook/encoding.h).
#pragma once

#include "support/cache_folder.h"
#include "support/result.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace luthier::hook {

/// SHA-256 in hexadecimal digits.
std::string digestOf(std::span<const std::byte> bytes);
inline std::string digestOf(std::string_view text) { return digestOf(std::as_bytes(std::span(text))); }

/// Changes with the sources of this layer and with LLVM's version: what was made by another is of no use.
extern const std::string_view kHookVersion;

class Cache {
public:
  /// An empty folder: nothing is kept.
  explicit Cache(std::filesystem::path folder);

  /// Gives what was stored under this key to `decode`. False when there is none, it is damaged, or `decode` finds that
  /// it cannot be.
  bool load(const std::string &key, const std::function<Result<void>(std::string_view)> &decode) const;
  /// What cannot be written is not kept; only LUTHIER_LOG=debug tells.
  void store(const std::string &key, std::string_view text) const;

private:
  std::filesystem::path folder_;
};

} // namespace luthier::hook
