#include "support/file.h"

#include "support/write_all.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace luthier {

namespace {

Error cannotWrite(const std::string &path, int reason) {
  return makeErrorCode(reason, "cannot write {}: {}", path, std::strerror(reason));
}

/// A new file beside `target`. Several threads and processes, and who else may write to the folder, do not get in each
/// other's way.
int createBeside(int folder, const std::string &target, mode_t mode, std::string &name) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    uint64_t random = 0;
    if (::getrandom(&random, sizeof random, 0) != sizeof random)
      return -1;
    name = fmt::format("{}.{:016x}.tmp", target, random);
    const int file = ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (file >= 0 || errno != EEXIST)
      return file;
  }
  return -1;
}

Result<void> replace(int folder, const std::string &target, const std::string &path, std::string_view contents,
                     mode_t mode, bool exactMode) {
  std::string temporary;
  const int file = createBeside(folder, target, mode, temporary);
  if (file < 0)
    return cannotWrite(path, errno);
  int failed = writeAll(file, contents);
  if (!failed && exactMode && ::fchmod(file, mode) != 0)
    failed = errno;
  if (::close(file) != 0 && !failed)
    failed = errno;
  if (!failed && ::renameat(folder, temporary.c_str(), folder, target.c_str()) != 0)
    failed = errno;
  if (!failed)
    return {};
  ::unlinkat(folder, temporary.c_str(), 0);
  return cannotWrite(path, failed);
}

} // namespace

Result<void> replaceFile(const std::string &path, std::string_view contents) {
  struct stat status;
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0)
      return cannotWrite(path, errno);
    const int failed = writeAll(file, contents);
    ::close(file);
    return failed ? Result<void>(cannotWrite(path, failed)) : Result<void>();
  }

  std::string target = path;
  std::error_code error;
  if (exists) {
    if (const auto resolved = std::filesystem::canonical(path, error); !error)
      target = resolved.string();
  } else if (const auto linked = std::filesystem::read_symlink(path, error); !error) {
    target = (std::filesystem::path(path).parent_path() / linked).string();
  }
  const mode_t mode = exists ? status.st_mode & 07777 : 0666;
  return replace(AT_FDCWD, target, path, contents, mode, exists);
}

Result<void> replaceFileAt(int folder, const std::string &name, std::string_view contents, unsigned mode) {
  return replace(folder, name, name, contents, mode, false);
}

Result<std::string> readAll(int file) {
  std::string text;
  char buffer[65536];
  for (;;) {
    const ssize_t count = ::read(file, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return makeErrorCode(errno, "{}", std::strerror(errno));
    if (count == 0)
      return text;
    text.append(buffer, static_cast<size_t>(count));
  }
}

Result<std::string> readFile(const std::string &path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return makeErrorCode(EISDIR, "{}: {}", path, std::strerror(EISDIR));
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return makeErrorCode(errno, "{}: {}", path, std::strerror(errno));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

} // namespace luthier
