#include "hsa/code_object_reader.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace luthier::hsa {

namespace {

template <class Create> Result<OwnedCodeObjectReader> fromPath(const std::string &path, Create create) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return makeErrorCode(errno, "{}: {}", path, std::strerror(errno));
  Result<OwnedCodeObjectReader> reader = create(file);
  close(file);
  if (!reader)
    return reader.error().withContext(path);
  return reader;
}

} // namespace

Result<OwnedCodeObjectReader> CodeObjectReader::fromMemory(std::span<const std::byte> elf) {
  hsa_code_object_reader_t reader = {};
  LUTHIER_TRY(call<ApiId::hsa_code_object_reader_create_from_memory>(static_cast<const void *>(elf.data()), elf.size(),
                                                                     &reader));
  return OwnedCodeObjectReader(CodeObjectReader(reader));
}

Result<OwnedCodeObjectReader> CodeObjectReader::fromFile(hsa_file_t file) {
  hsa_code_object_reader_t reader = {};
  LUTHIER_TRY(call<ApiId::hsa_code_object_reader_create_from_file>(file, &reader));
  return OwnedCodeObjectReader(CodeObjectReader(reader));
}

Result<OwnedCodeObjectReader> CodeObjectReader::fromFile(hsa_file_t file, size_t offset, size_t size) {
  struct stat status = {};
  if (fstat(file, &status) == 0) {
    const auto available = static_cast<size_t>(status.st_size);
    if (offset > available || size > available - offset)
      return makeErrorCode(HSA_STATUS_ERROR_INVALID_FILE, "the file has {} bytes, not {} at {}", available, size,
                           offset);
  }
  hsa_code_object_reader_t reader = {};
  LUTHIER_TRY(call<ApiId::hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size>(file, offset, size,
                                                                                                   &reader));
  return OwnedCodeObjectReader(CodeObjectReader(reader));
}

Result<OwnedCodeObjectReader> CodeObjectReader::fromFile(const std::string &path) {
  return fromPath(path, [](int file) { return fromFile(file); });
}

Result<OwnedCodeObjectReader> CodeObjectReader::fromFile(const std::string &path, size_t offset, size_t size) {
  return fromPath(path, [&](int file) { return fromFile(file, offset, size); });
}

Result<void> CodeObjectReader::destroy() const {
  LUTHIER_TRY(check("destroying"));
  lifetime::noteDestruction(value());
  return call<ApiId::hsa_code_object_reader_destroy>(raw_);
}

} // namespace luthier::hsa
