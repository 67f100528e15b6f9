#include "support/cache_folder.h"

#include "support/env.h"

#include <fmt/format.h>

#include <unistd.h>

namespace luthier {

std::filesystem::path defaultCacheFolder() {
  if (const auto folder = env::text("LUTHIER_CACHE"))
    return *folder == "off" ? std::filesystem::path() : std::filesystem::path(*folder);
  if (const auto cache = env::text("XDG_CACHE_HOME"))
    return std::filesystem::path(*cache) / "luthier";
  if (const auto home = env::text("HOME"))
    return std::filesystem::path(*home) / ".cache" / "luthier";
  return {};
}

std::string whoElseCouldWrite(const struct stat &status) {
  const uid_t user = ::geteuid();
  if (status.st_uid != user)
    return fmt::format("belongs to user {}, not to user {}, who runs this process", status.st_uid, user);
  if (status.st_mode & (S_IWGRP | S_IWOTH))
    return fmt::format("can be written by others (mode {:04o})", status.st_mode & 07777);
  return {};
}

} // namespace luthier
