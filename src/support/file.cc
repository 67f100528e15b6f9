#include "support/file.h"

#include "support/write_all.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace luthier {

namespace {

Error cannotWrite(const std::string &path, int reason) {
  return makeErrorCode(reason, "cannot write {}: {}", path, std::strerror(reason));
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
  if (exists)
    if (char *resolved = ::realpath(path.c_str(), nullptr)) {
      target = resolved;
      std::free(resolved);
    }
  // Threads, and processes that were given the same name, do not write into each other's.
  static std::atomic<unsigned> counter = 0;
  const std::string temporary = fmt::format("{}.{}.{}.tmp", target, ::getpid(), counter++);
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0)
    return cannotWrite(path, errno);
  int failed = writeAll(file, contents);
  if (!failed && exists && ::fchmod(file, status.st_mode & 07777) != 0)
    failed = errno;
  if (::close(file) != 0 && !failed)
    failed = errno;
  if (!failed && ::rename(temporary.c_str(), target.c_str()) != 0)
    failed = errno;
  if (!failed)
    return {};
  ::unlink(temporary.c_str());
  return cannotWrite(path, failed);
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
