#include "vgpu/thunk/loaded_code.h"

#include "object/code_object.h"
#include "support/code_object_uri.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <fmt/core.h>
#include <link.h>

namespace luthier::vgpu {

namespace {

constexpr size_t kMaxListEntries = 100'000;

template <typename T> bool readMemory(const void *address, T &into) {
  return readOwnMemory(reinterpret_cast<uint64_t>(address), &into, sizeof(T));
}

// Up to a page at a time, so that a string at the end of a mapping is still read.
std::string readString(const char *address) {
  std::string text;
  for (uint64_t at = reinterpret_cast<uint64_t>(address); text.size() < 16384;) {
    char piece[256];
    const size_t size = std::min<uint64_t>(sizeof(piece), 4096 - at % 4096);
    if (!readOwnMemory(at, piece, size))
      break;
    const size_t length = strnlen(piece, size);
    text.append(piece, length);
    if (length < size)
      break;
    at += size;
  }
  return text;
}

std::vector<std::byte> readUri(std::string_view text) {
  const Result<CodeObjectUri> uri = CodeObjectUri::parse(text);
  return uri ? uri->read().value_or(std::vector<std::byte>()) : std::vector<std::byte>();
}

} // namespace

std::vector<std::pair<uint64_t, std::string>> kernelSymbols(std::span<const std::byte> elf) {
  std::vector<std::pair<uint64_t, std::string>> kernels;
  if (const auto object = object::CodeObject::parse(elf, "loaded code"))
    for (const object::Symbol &kernel : object->kernels())
      kernels.emplace_back(kernel.descriptor, kernel.name);
  return kernels;
}

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

std::string LoadedCode::look(uint64_t kernelObject) {
  r_debug list{};
  if (!list_ || !readMemory(list_, list))
    return fmt::format("kernel@{:#x}", kernelObject);
  // The newest object is last, and a freed entry may lead astray: look at all, then take the exact address.
  link_map entry{};
  size_t entries = 0;
  for (const link_map *at = list.r_map; at && entries < kMaxListEntries && readMemory(at, entry);
       at = entry.l_next, ++entries) {
    if (kernelObject < entry.l_addr)
      continue;
    for (auto &[address, name] : kernelSymbols(readUri(readString(entry.l_name)))) {
      if (entry.l_addr + address == kernelObject)
        return name;
    }
  }
  // ROCr's own copy and fill kernels are in no code object: a page with an amd_kernel_code_t at its beginning.
  return fmt::format("{}@{:#x}", kernelObject % 4096 == 0 ? "rocr_blit" : "kernel", kernelObject);
}

} // namespace luthier::vgpu
