#include "vgpu/driver/loaded_code.h"

#include "object/code_object.h"
#include "support/code_object_uri.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
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

/// ROCr's list, wherever its library is loaded; null when it is not.
const r_debug *runtimesList() {
  std::string path;
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *found) {
        const std::string_view name = info->dlpi_name ? info->dlpi_name : "";
        if (name.substr(name.rfind('/') + 1).starts_with("libhsa-runtime64.so"))
          *static_cast<std::string *>(found) = name;
        return 0;
      },
      &path);
  void *library = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_NOLOAD | RTLD_LAZY);
  if (!library)
    return nullptr;
  const void *list = dlsym(library, "_amdgpu_r_debug");
  dlclose(library);
  return static_cast<const r_debug *>(list);
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

/// Where among its arguments a kernel of `loaded` finds the hostcall buffer, if it has one.
std::optional<uint32_t> hostcallArgument(const std::optional<LoadedObject> &loaded, uint64_t kernelObject) {
  if (!loaded)
    return {};
  const auto object = object::CodeObject::parse(loaded->elf, "loaded code object");
  const auto metadata = object ? object->metadata() : Result<object::Metadata>(makeError("no code object"));
  if (!metadata)
    return {};
  for (const object::Symbol &kernel : object->kernels())
    for (const object::KernelMetadata &described : metadata->kernels)
      if (loaded->bias + kernel.descriptor == kernelObject && described.symbol == std::string(kernel.name) + ".kd")
        for (const object::KernelArgument &argument : described.arguments)
          if (argument.valueKind.kind == object::ValueKind::HiddenHostcallBuffer)
            return argument.offset;
  return {};
}

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
  xnack_.clear();
  hostcallArguments_.clear();
}

void LoadedCode::forget() {
  std::lock_guard lock(mutex_);
  known_.clear();
  xnack_.clear();
  hostcallArguments_.clear();
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

std::optional<std::vector<std::byte>>
LoadedCode::findObject(const std::function<bool(const object::CodeObject &)> &is) {
  std::lock_guard lock(mutex_);
  std::vector<std::vector<std::byte>> found;
  walk(UINT64_MAX, [&](uint64_t, std::vector<std::byte> elf) {
    if (const auto object = object::CodeObject::parse(elf, "loaded code object"); object && is(*object))
      found.push_back(std::move(elf));
    return found.size() > 1;
  });
  return found.size() == 1 ? std::optional(std::move(found.front())) : std::nullopt;
}

bool LoadedCode::madeForXnack(uint64_t kernelObject) {
  {
    std::lock_guard lock(mutex_);
    if (auto found = xnack_.find(kernelObject); found != xnack_.end())
      return found->second;
  }
  const std::optional<LoadedObject> loaded = objectAt(kernelObject);
  const auto object = loaded ? object::CodeObject::parse(loaded->elf, "loaded code object")
                             : Result<object::CodeObject>(makeError("no code object"));
  const bool made = object && object->parsedTargetId().xnack != isa::Feature::Off;
  std::lock_guard lock(mutex_);
  xnack_.emplace(kernelObject, made);
  return made;
}

std::optional<uint64_t> LoadedCode::hostcallBuffer(uint64_t kernelObject, uint64_t kernarg) {
  std::unique_lock lock(mutex_);
  auto known = hostcallArguments_.find(kernelObject);
  if (known == hostcallArguments_.end()) {
    lock.unlock();
    const std::optional<uint32_t> offset = hostcallArgument(objectAt(kernelObject), kernelObject);
    lock.lock();
    known = hostcallArguments_.emplace(kernelObject, offset).first;
  }
  uint64_t buffer = 0;
  if (!known->second || !readMemory(reinterpret_cast<const void *>(kernarg + *known->second), buffer) || !buffer)
    return {};
  return buffer;
}

void LoadedCode::walk(uint64_t address,
                      const std::function<bool(uint64_t bias, std::vector<std::byte> elf)> &visit) const {
  r_debug list{};
  const r_debug *const from = list_ ? list_ : runtimesList();
  if (!from || !readMemory(from, list))
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
  if (!list_ && !runtimesList())
    return fmt::format("kernel@{:#x}", kernelObject);
  // ROCr's own copy and fill kernels are in no code object: a page with an amd_kernel_code_t at its beginning.
  return fmt::format("{}@{:#x}", kernelObject % 4096 == 0 ? "rocr_blit" : "kernel", kernelObject);
}

} // namespace luthier::vgpu
