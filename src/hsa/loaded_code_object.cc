#include "hsa/loaded_code_object.h"

#include "hsa/executable.h"
#include "support/code_object_uri.h"

#include <cstring>

namespace luthier::hsa {

namespace {

constexpr ApiId kCodeObjectInfo = ApiId::hsa_ven_amd_loader_loaded_code_object_get_info;

bool isElf(std::span<const std::byte> bytes) {
  return bytes.size() >= 4 && std::memcmp(bytes.data(),
                                          "\x7f"
                                          "ELF",
                                          4) == 0;
}

} // namespace

Result<LoadedCodeObject> LoadedCodeObject::containing(uint64_t address) {
  const Executable executable = LUTHIER_TRY(Executable::containing(address));
  for (const LoadedCodeObject object : LUTHIER_TRY(executable.loadedCodeObjects())) {
    const uint64_t base = LUTHIER_TRY(object.loadBase());
    if (address >= base && address - base < LUTHIER_TRY(object.loadSize()))
      return object;
  }
  return makeError("no loaded code object has {:#x}", address);
}

Result<Executable> LoadedCodeObject::executable() const {
  return Executable(
      LUTHIER_TRY((info<kCodeObjectInfo, hsa_executable_t>(HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_EXECUTABLE))));
}

Result<hsa_ven_amd_loader_loaded_code_object_kind_t> LoadedCodeObject::kind() const {
  return static_cast<hsa_ven_amd_loader_loaded_code_object_kind_t>(
      LUTHIER_TRY((info<kCodeObjectInfo, uint32_t>(HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_KIND))));
}

Result<Agent> LoadedCodeObject::agent() const {
  return Agent(LUTHIER_TRY((info<kCodeObjectInfo, hsa_agent_t>(HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT))));
}

Result<uint64_t> LoadedCodeObject::loadBase() const {
  return info<kCodeObjectInfo, uint64_t>(HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE);
}

Result<uint64_t> LoadedCodeObject::loadSize() const {
  return info<kCodeObjectInfo, uint64_t>(HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE);
}

Result<std::vector<std::byte>> LoadedCodeObject::readLoaded(uint64_t offset, size_t size) const {
  const uint64_t base = LUTHIER_TRY(loadBase()), available = LUTHIER_TRY(loadSize());
  if (offset > available || size > available - offset)
    return makeError("{} bytes at {:#x} are not all in the {} bytes that were loaded", size, offset, available);
  std::vector<std::byte> bytes(size);
  if (size)
    LUTHIER_TRY(copyMemory(bytes.data(), reinterpret_cast<const void *>(base + offset), size));
  return bytes;
}

Result<std::string> LoadedCodeObject::uri() const {
  return infoText<kCodeObjectInfo>(HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI_LENGTH,
                                   HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI);
}

Result<hsa_ven_amd_loader_code_object_storage_type_t> LoadedCodeObject::storageType() const {
  return static_cast<hsa_ven_amd_loader_code_object_storage_type_t>(LUTHIER_TRY(
      (info<kCodeObjectInfo, uint32_t>(HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_TYPE))));
}

Result<std::span<const std::byte>> LoadedCodeObject::storageMemory() const {
  const auto base = LUTHIER_TRY(
      (info<kCodeObjectInfo, uint64_t>(HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE)));
  const auto size = LUTHIER_TRY(
      (info<kCodeObjectInfo, uint64_t>(HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE)));
  return std::span(reinterpret_cast<const std::byte *>(base), size);
}

Result<std::vector<std::byte>> LoadedCodeObject::storageElf() const {
  if (LUTHIER_TRY(storageType()) == HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY) {
    const auto memory = LUTHIER_TRY(storageMemory());
    std::vector<std::byte> elf(memory.size());
    if (readOwnMemory(reinterpret_cast<uint64_t>(memory.data()), elf.data(), elf.size()) && isElf(elf))
      return elf;
  }
  const std::string text = LUTHIER_TRY(uri());
  auto elf = LUTHIER_TRY(CodeObjectUri::parse(text)).read();
  if (!elf)
    return elf.error().withContext("the ELF of a loaded code object has gone");
  if (!isElf(*elf))
    return makeError("the ELF of a loaded code object has gone from {}", text);
  return elf;
}

} // namespace luthier::hsa
