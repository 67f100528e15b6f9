#include "hsa/stored_bytes.h"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace luthier::hsa {

namespace {

struct FilePart {
  std::string path;
  uint64_t offset;
};

/// The file that this memory is an unwritable mapping of.
std::optional<FilePart> fileBehind(std::span<const std::byte> bytes) {
  const std::unique_ptr<FILE, int (*)(FILE *)> maps(fopen("/proc/self/maps", "re"), fclose);
  if (!maps)
    return std::nullopt;
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  const auto end = begin + bytes.size();
  char *line = nullptr;
  size_t capacity = 0;
  std::optional<FilePart> found;
  while (!found && getline(&line, &capacity, maps.get()) > 0) {
    uint64_t from, to, offset;
    char permissions[5];
    int path = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &from, &to, permissions, &offset, &path) < 4)
      continue;
    if (begin < from || begin >= to)
      continue;
    if (end > to || permissions[1] == 'w' || path == 0 || line[path] != '/')
      break;
    std::string name = line + path;
    name.erase(name.find_last_not_of('\n') + 1);
    found = FilePart{std::move(name), offset + (begin - from)};
  }
  free(line);
  return found;
}

} // namespace

Result<StoredBytes> StoredBytes::map(int file, size_t offset, size_t size) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t before = offset % page;
  const size_t length = before + size;
  void *memory = mmap(nullptr, length, PROT_READ, MAP_PRIVATE, file, static_cast<off_t>(offset - before));
  if (memory == MAP_FAILED)
    return makeErrorCode(errno, "cannot map {} bytes of a code object's file: {}", size, strerror(errno));
  std::shared_ptr<const void> owner(memory, [length](const void *p) { munmap(const_cast<void *>(p), length); });
  return StoredBytes(std::move(owner), {static_cast<const std::byte *>(memory) + before, size}, false);
}

StoredBytes StoredBytes::copy(std::span<const std::byte> bytes) {
  std::shared_ptr<std::byte[]> memory(new std::byte[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), memory.get());
  const std::span<const std::byte> view(memory.get(), bytes.size());
  return StoredBytes(std::move(memory), view, true);
}

Result<StoredBytes> StoredBytes::ofMemory(std::span<const std::byte> bytes) {
  if (const auto part = fileBehind(bytes)) {
    if (const int file = open(part->path.c_str(), O_RDONLY | O_CLOEXEC); file >= 0) {
      auto mapped = map(file, part->offset, bytes.size());
      close(file);
      // Somebody may have replaced the file since it was loaded; its ends are where that shows.
      const size_t probe = std::min<size_t>(bytes.size(), 4096);
      if (mapped && memcmp(mapped->bytes().data(), bytes.data(), probe) == 0 &&
          memcmp(mapped->bytes().last(probe).data(), bytes.last(probe).data(), probe) == 0)
        return mapped;
    }
  }
  return copy(bytes);
}

Result<StoredBytes> StoredBytes::ofFile(int file, size_t offset, size_t size) { return map(file, offset, size); }

} // namespace luthier::hsa
