#include "support/code_object_uri.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace luthier {

namespace {

// More is a broken URI, not a code object.
constexpr uint64_t kMaxBytes = 1ull << 30;

std::optional<uint64_t> field(std::string_view range, std::string_view name) {
  const size_t at = range.find(name);
  if (at == range.npos)
    return std::nullopt;
  std::string_view digits = range.substr(at + name.size());
  int base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    digits.remove_prefix(2);
    base = 16;
  }
  uint64_t value = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), value, base).ec != std::errc())
    return std::nullopt;
  return value;
}

std::string decodePath(std::string_view encoded) {
  std::string path;
  for (size_t i = 0; i < encoded.size(); ++i) {
    unsigned value = 0;
    if (encoded[i] == '%' && i + 2 < encoded.size() &&
        std::from_chars(encoded.data() + i + 1, encoded.data() + i + 3, value, 16).ec == std::errc()) {
      path += static_cast<char>(value);
      i += 2;
    } else {
      path += encoded[i];
    }
  }
  return path;
}

Result<std::vector<std::byte>> readFile(const std::string &path, uint64_t offset, std::optional<uint64_t> size) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return makeErrorCode(errno, "{}: {}", path, std::strerror(errno));
  const off_t end = lseek(file, 0, SEEK_END);
  const uint64_t available = end > 0 && static_cast<uint64_t>(end) > offset ? static_cast<uint64_t>(end) - offset : 0;
  const uint64_t wanted = size.value_or(available);
  std::vector<std::byte> bytes;
  bool complete = wanted <= available && wanted <= kMaxBytes && wanted > 0;
  if (complete) {
    bytes.resize(wanted);
    complete = pread(file, bytes.data(), wanted, static_cast<off_t>(offset)) == static_cast<ssize_t>(wanted);
  }
  close(file);
  if (!complete)
    return makeError("{}: no {} bytes at {:#x}", path, wanted, offset);
  return bytes;
}

} // namespace

bool readOwnMemory(uint64_t address, void *into, size_t size) {
  iovec local{into, size};
  iovec remote{reinterpret_cast<void *>(address), size};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

Result<CodeObjectUri> CodeObjectUri::parse(std::string_view text) {
  constexpr std::string_view kFile = "file://", kMemory = "memory://";
  CodeObjectUri uri;
  const size_t rangeAt = text.find_first_of("#?");
  const std::string_view range = rangeAt == text.npos ? std::string_view() : text.substr(rangeAt + 1);
  const std::optional<uint64_t> offset = field(range, "offset=");
  uri.size = field(range, "size=");
  uri.offset = offset.value_or(0);
  if (text.starts_with(kFile)) {
    uri.path = decodePath(text.substr(kFile.size(), rangeAt == text.npos ? text.npos : rangeAt - kFile.size()));
    return uri;
  }
  uri.inMemory = true;
  if (!text.starts_with(kMemory) || !offset || !uri.size)
    return makeError("'{}' does not say where a code object is", text);
  return uri;
}

Result<std::vector<std::byte>> CodeObjectUri::read() const {
  if (!inMemory)
    return readFile(path, offset, size);
  if (size && *size <= kMaxBytes) {
    std::vector<std::byte> bytes(*size);
    if (readOwnMemory(offset, bytes.data(), bytes.size()))
      return bytes;
  }
  return makeError("no {} bytes at address {:#x}", size.value_or(0), offset);
}

} // namespace luthier
