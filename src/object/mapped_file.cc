#include "object/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace luthier::object {

Result<MappedFile> MappedFile::open(const std::string &path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return makeErrorCode(errno, "cannot open {}: {}", path, std::strerror(errno));
  struct stat status{};
  MappedFile mapped;
  Result<void> ok;
  if (fstat(file, &status) != 0)
    ok = makeErrorCode(errno, "cannot look at {}: {}", path, std::strerror(errno));
  else if (!S_ISREG(status.st_mode))
    ok = makeError("{} is not a regular file", path);
  else if (status.st_size > 0) {
    void *data = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED)
      ok = makeErrorCode(errno, "cannot map {}: {}", path, std::strerror(errno));
    else {
      mapped.data_ = static_cast<const std::byte *>(data);
      mapped.size_ = static_cast<size_t>(status.st_size);
    }
  }
  close(file);
  if (!ok)
    return ok.error();
  return mapped;
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_)
    munmap(const_cast<std::byte *>(data_), size_);
}

void MappedFile::forget(ByteSpan part) const {
  if (part.empty() || part.data() < data_ || part.data() + part.size() > data_ + size_)
    return;
  constexpr size_t kPage = 4096;
  const auto offset = static_cast<size_t>(part.data() - data_);
  const size_t begin = offset / kPage * kPage;
  madvise(const_cast<std::byte *>(data_ + begin), offset + part.size() - begin, MADV_DONTNEED);
}

} // namespace luthier::object
