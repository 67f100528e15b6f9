#include "support/file.h"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace luthier {

Result<std::string> readFile(const std::filesystem::path &path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) // which can be opened, and then reads as empty
    return makeErrorCode(EISDIR, "{}: {}", path.string(), strerror(EISDIR));
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return makeErrorCode(errno, "{}: {}", path.string(), strerror(errno));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<void> replaceFile(const std::filesystem::path &path, std::span<const std::byte> contents) {
  static std::atomic<unsigned> counter = 0;
  std::filesystem::path temporary = path;
  temporary += fmt::format(".{}.{}.tmp", getpid(), counter++);
  const auto fail = [&](int code) -> Result<void> {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    return makeErrorCode(code, "{}: {}", path.string(), strerror(code));
  };
  errno = 0;
  std::ofstream file(temporary, std::ios::binary);
  if (!file)
    return fail(errno);
  file.write(reinterpret_cast<const char *>(contents.data()), static_cast<std::streamsize>(contents.size()));
  file.close();
  if (file.fail())
    return fail(errno ? errno : EIO);
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (error)
    return fail(error.value());
  return {};
}

} // namespace luthier
