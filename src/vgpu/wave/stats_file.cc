#include "vgpu/wave/stats_file.h"

#include "support/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <utility>

namespace luthier::vgpu {

namespace {

constexpr std::string_view kBegin = "{\"version\": 1, \"clock_hz\": 100000000, \"dispatches\": [";
constexpr std::string_view kEnd = "\n]}\n";

/// One system call, unless the system takes less than the whole.
bool writeAt(int file, std::string_view text, uint64_t at) {
  while (!text.empty()) {
    const ssize_t written = pwrite(file, text.data(), text.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0) {
      if (written == 0)
        errno = EIO;
      return false;
    }
    text.remove_prefix(static_cast<size_t>(written));
    at += static_cast<uint64_t>(written);
  }
  return true;
}

/// Beside `path`, so that it can take its place; nobody else's.
std::string temporaryFor(const std::string &path) {
  static std::atomic<unsigned> count = 0;
  return fmt::format("{}.{}.{}.tmp", path, getpid(), count++);
}

int createTemporary(const std::string &path) {
  return open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

} // namespace

StatsFile::StatsFile(std::string path) : path_(std::move(path)), owner_(getpid()) {
  struct stat there = {};
  if (stat(path_.c_str(), &there) == 0 && S_ISREG(there.st_mode) && there.st_size == 0)
    create();
}

StatsFile::~StatsFile() {
  if (file_ >= 0)
    close(file_);
}

bool StatsFile::fail(const char *what, const std::string &path) {
  const int error = errno;
  if (!failed_)
    log::error("cannot {} the statistics file {}: {}", what, path, strerror(error));
  failed_ = true;
  return false;
}

bool StatsFile::create() {
  struct stat there = {};
  if (stat(path_.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    errno = EINVAL; // a device or a pipe cannot be replaced, nor written twice
    return fail("replace", path_);
  }
  const std::string temporary = temporaryFor(path_);
  file_ = createTemporary(temporary);
  if (file_ < 0)
    return fail("create", temporary);
  end_ = kBegin.size();
  return writeAt(file_, std::string(kBegin) + std::string(kEnd), 0) ? rename(temporary) : fail("write", temporary);
}

bool StatsFile::rename(const std::string &temporary) {
  if (::rename(temporary.c_str(), path_.c_str()) == 0)
    return true;
  fail("create", path_);
  unlink(temporary.c_str());
  return false;
}

void StatsFile::add(std::string_view dispatch) {
  if (getpid() != owner_ || failed_ || (file_ < 0 && !create()))
    return;
  const std::string text = fmt::format("{}{}{}", empty_ ? "\n" : ",\n", dispatch, kEnd);
  if (!writeAt(file_, text, end_)) {
    fail("write", path_);
    return;
  }
  end_ += text.size() - kEnd.size();
  if (std::exchange(empty_, false))
    publish(); // the one that was made without a dispatch may have been replaced
}

bool StatsFile::inPlace() const {
  struct stat ours = {}, there = {};
  return fstat(file_, &ours) == 0 && stat(path_.c_str(), &there) == 0 && ours.st_dev == there.st_dev &&
         ours.st_ino == there.st_ino;
}

void StatsFile::publish() {
  if (getpid() != owner_ || failed_ || empty_ || inPlace())
    return;
  const std::string temporary = temporaryFor(path_);
  const int copy = createTemporary(temporary);
  if (copy < 0) {
    fail("create", temporary);
    return;
  }
  char buffer[64 * 1024];
  uint64_t at = 0;
  ssize_t count = 0;
  while ((count = pread(file_, buffer, sizeof buffer, static_cast<off_t>(at))) > 0 &&
         writeAt(copy, {buffer, static_cast<size_t>(count)}, at))
    at += static_cast<uint64_t>(count);
  if (count != 0) {
    fail("write", temporary);
    unlink(temporary.c_str());
    close(copy);
    return;
  }
  if (!rename(temporary)) {
    close(copy);
    return;
  }
  close(file_);
  file_ = copy;
}

} // namespace luthier::vgpu
