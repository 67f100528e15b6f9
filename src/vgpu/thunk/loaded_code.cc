#include "vgpu/thunk/loaded_code.h"

#include "object/code_object.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <link.h>
#include <optional>
#include <sys/uio.h>
#include <unistd.h>

namespace luthier::vgpu {

namespace {

constexpr size_t kMaxObjectBytes = 1ull << 30;
constexpr size_t kMaxListEntries = 100'000;

bool readMemory(uint64_t address, void *into, size_t size) {
  iovec local{into, size};
  iovec remote{reinterpret_cast<void *>(address), size};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

template <typename T> bool readMemory(const void *address, T &into) {
  return readMemory(reinterpret_cast<uint64_t>(address), &into, sizeof(T));
}

// Up to a page at a time, so that a string at the end of a mapping is still read.
std::string readString(const char *address) {
  std::string text;
  for (uint64_t at = reinterpret_cast<uint64_t>(address); text.size() < 16384;) {
    char piece[256];
    const size_t size = std::min<uint64_t>(sizeof(piece), 4096 - at % 4096);
    if (!readMemory(at, piece, size))
      break;
    const size_t length = strnlen(piece, size);
    text.append(piece, length);
    if (length < size)
      break;
    at += size;
  }
  return text;
}

std::optional<uint64_t> field(std::string_view uri, std::string_view name) {
  const size_t at = uri.find(name);
  if (at == std::string_view::npos)
    return std::nullopt;
  std::string_view digits = uri.substr(at + name.size());
  int base = 10;
  if (digits.starts_with("0x")) {
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

std::vector<std::byte> readFile(const std::string &path, uint64_t offset, std::optional<uint64_t> size) {
  std::vector<std::byte> bytes;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return bytes;
  if (!size) {
    const off_t end = lseek(file, 0, SEEK_END);
    size = end > static_cast<off_t>(offset) ? static_cast<uint64_t>(end) - offset : 0;
  }
  if (*size <= kMaxObjectBytes) {
    bytes.resize(*size);
    if (pread(file, bytes.data(), bytes.size(), static_cast<off_t>(offset)) != static_cast<ssize_t>(bytes.size()))
      bytes.clear();
  }
  close(file);
  return bytes;
}

std::vector<std::byte> readUri(std::string_view uri) {
  const std::optional<uint64_t> offset = field(uri, "offset=");
  const std::optional<uint64_t> size = field(uri, "size=");
  if (uri.starts_with("file://")) {
    std::string_view path = uri.substr(7);
    return readFile(decodePath(path.substr(0, path.find('#'))), offset.value_or(0), size);
  }
  if (!uri.starts_with("memory://") || !offset || !size || *size > kMaxObjectBytes)
    return {};
  std::vector<std::byte> bytes(*size);
  if (!readMemory(*offset, bytes.data(), bytes.size()))
    return {};
  return bytes;
}

} // namespace

std::vector<std::pair<uint64_t, std::string>> kernelSymbols(std::span<const std::byte> elf) {
  std::vector<std::pair<uint64_t, std::string>> kernels;
  if (const auto object = object::CodeObject::parse(elf, "loaded code"))
    for (const object::Symbol &kernel : object->kernels())
      kernels.emplace_back(kernel.descriptor, kernel.name);
  return kernels;
}

namespace {

/// Whether the file has a segment with that virtual address.
bool covers(std::span<const std::byte> elf, uint64_t address) {
  const auto object = object::CodeObject::parse(elf, "loaded code object");
  return object && std::ranges::any_of(object->segments(), [&](const object::Segment &segment) {
           return address - segment.address < segment.size;
         });
}

} // namespace

void LoadedCode::setList(const r_debug *list) {
  std::lock_guard lock(mutex_);
  list_ = list;
  known_.clear();
}

void LoadedCode::forget() {
  std::lock_guard lock(mutex_);
  known_.clear();
}

std::string LoadedCode::kernelName(uint64_t kernelObject) {
  std::lock_guard lock(mutex_);
  if (auto found = known_.find(kernelObject); found != known_.end())
    return found->second;
  std::string name = look(kernelObject);
  known_.emplace(kernelObject, name);
  return name;
}

std::optional<LoadedObject> LoadedCode::objectAt(uint64_t address) {
  std::lock_guard lock(mutex_);
  std::optional<LoadedObject> found;
  walk(address, [&](uint64_t bias, std::vector<std::byte> elf) {
    if (covers(elf, address - bias))
      found = {bias, std::move(elf)};
    return found.has_value();
  });
  return found;
}

void LoadedCode::walk(uint64_t address,
                      const std::function<bool(uint64_t bias, std::vector<std::byte> elf)> &visit) const {
  r_debug list{};
  if (!list_ || !readMemory(list_, list))
    return;
  // The newest object is last, and a freed entry may lead astray: look at all, then take the exact address.
  link_map entry{};
  size_t entries = 0;
  for (const link_map *at = list.r_map; at && entries < kMaxListEntries && readMemory(at, entry);
       at = entry.l_next, ++entries)
    if (entry.l_addr <= address && visit(entry.l_addr, readUri(readString(entry.l_name))))
      return;
}

std::string LoadedCode::look(uint64_t kernelObject) {
  std::string found;
  walk(kernelObject, [&](uint64_t bias, const std::vector<std::byte> &elf) {
    for (auto &[address, name] : kernelSymbols(elf))
      if (bias + address == kernelObject)
        found = name;
    return !found.empty();
  });
  if (!found.empty())
    return found;
  if (!list_)
    return fmt::format("kernel@{:#x}", kernelObject);
  // ROCr's own copy and fill kernels are in no code object: a page with an amd_kernel_code_t at its beginning.
  return fmt::format("{}@{:#x}", kernelObject % 4096 == 0 ? "rocr_blit" : "kernel", kernelObject);
}

} // namespace luthier::vgpu
