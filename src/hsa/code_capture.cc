#include "hsa/code_capture.h"

#include "hsa/callback_scope.h"
#include "support/log.h"

#include <algorithm>

namespace luthier::hsa {

const Result<object::CodeObject> &CapturedCode::object() const {
  std::call_once(parsed_, [this] {
    object_.emplace(object::CodeObject::parse(storage(), uri_));
    if (*object_)
      for (const object::Symbol &kernel : (*object_)->kernels())
        kernels_[kernel.descriptor] = &kernel;
  });
  return *object_;
}

const object::Symbol *CapturedCode::functionAt(uint64_t loaded) const {
  return contains(loaded) && object() ? object()->functionAt(fileAddress(loaded)) : nullptr;
}

const object::Symbol *CapturedCode::kernelOf(uint64_t kernelObject) const {
  if (!contains(kernelObject) || !object())
    return nullptr;
  auto found = kernels_.find(fileAddress(kernelObject));
  return found == kernels_.end() ? nullptr : found->second;
}

namespace {

template <class T> Result<T> loadedInfo(hsa_loaded_code_object_t object, unsigned attribute) {
  T value{};
  LUTHIER_TRY(call<ApiId::hsa_ven_amd_loader_loaded_code_object_get_info>(
      object, static_cast<hsa_ven_amd_loader_loaded_code_object_info_t>(attribute), static_cast<void *>(&value)));
  return value;
}

Result<std::string> uriOf(hsa_loaded_code_object_t object) {
  std::string uri(LUTHIER_TRY(loadedInfo<uint32_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI_LENGTH)), 0);
  LUTHIER_TRY(call<ApiId::hsa_ven_amd_loader_loaded_code_object_get_info>(
      object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI, static_cast<void *>(uri.data())));
  return uri;
}

Result<StoredBytes> storageOf(hsa_loaded_code_object_t object) {
  // ROCr 5.2 says "memory" for files as well: it has read them itself.
  const auto base = LUTHIER_TRY(
      loadedInfo<uint64_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE));
  const auto size = LUTHIER_TRY(
      loadedInfo<uint64_t>(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE));
  if (!base || !size)
    return makeError("ROCr does not say where the code object is stored");
  return StoredBytes::ofMemory({reinterpret_cast<const std::byte *>(base), size});
}

} // namespace

void CodeCapture::clear() {
  std::unique_lock lock(mutex_);
  byAddress_.clear();
  byHandle_.clear();
}

void CodeCapture::capture(hsa_executable_t executable, const OriginalOf &originalOf) {
  std::vector<hsa_loaded_code_object_t> handles;
  auto collect = [](hsa_executable_t, hsa_loaded_code_object_t handle, void *data) {
    static_cast<std::vector<hsa_loaded_code_object_t> *>(data)->push_back(handle);
    return HSA_STATUS_SUCCESS;
  };
  auto listed = call<ApiId::hsa_ven_amd_loader_executable_iterate_loaded_code_objects>(executable, +collect,
                                                                                       static_cast<void *>(&handles));
  if (!listed) {
    log::error("loaded code cannot be captured: {}", listed.error().message());
    return;
  }
  for (const hsa_loaded_code_object_t handle : handles) {
    if (find(handle))
      continue;
    auto code = capture(executable, handle, originalOf(handle));
    if (!code) {
      log::error("loaded code cannot be captured: {}", code.error().message());
      continue;
    }
    const CallbackScope scope;
    events_.codeLoaded.raise(*code);
  }
}

Result<CodeCapture::Shared> CodeCapture::capture(hsa_executable_t executable, hsa_loaded_code_object_t handle,
                                                 const StoredBytes *original) {
  std::shared_ptr<CapturedCode> code(new CapturedCode(original ? *original : LUTHIER_TRY(storageOf(handle))));
  code->executable_ = executable;
  code->handle_ = handle;
  code->agent_ = LUTHIER_TRY(loadedInfo<hsa_agent_t>(handle, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT));
  code->base_ = LUTHIER_TRY(loadedInfo<uint64_t>(handle, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE));
  code->size_ = LUTHIER_TRY(loadedInfo<uint64_t>(handle, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE));
  code->delta_ = LUTHIER_TRY(loadedInfo<uint64_t>(handle, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA));
  code->uri_ = LUTHIER_TRY(uriOf(handle));
  std::unique_lock lock(mutex_);
  code->number_ = ++captured_;
  byAddress_[code->base_] = code;
  byHandle_[handle.handle] = code;
  return Shared(code);
}

void CodeCapture::forget(hsa_executable_t executable) {
  const std::vector<Shared> gone = of(executable);
  {
    const CallbackScope scope;
    events_.executableDestroyed.raise(executable);
  }
  std::unique_lock lock(mutex_);
  for (const Shared &code : gone) {
    byAddress_.erase(code->base());
    byHandle_.erase(code->handle().handle);
  }
}

CodeCapture::Shared CodeCapture::find(uint64_t loadedAddress) const {
  std::shared_lock lock(mutex_);
  auto after = byAddress_.upper_bound(loadedAddress);
  if (after == byAddress_.begin())
    return nullptr;
  const Shared &code = std::prev(after)->second;
  return code->contains(loadedAddress) ? code : nullptr;
}

CodeCapture::Shared CodeCapture::find(hsa_loaded_code_object_t handle) const {
  std::shared_lock lock(mutex_);
  auto found = byHandle_.find(handle.handle);
  return found == byHandle_.end() ? nullptr : found->second;
}

std::vector<CodeCapture::Shared> CodeCapture::of(hsa_executable_t executable) const {
  std::vector<Shared> result = all();
  std::erase_if(result, [&](const Shared &code) { return code->executable().handle != executable.handle; });
  return result;
}

std::vector<CodeCapture::Shared> CodeCapture::all() const {
  std::vector<Shared> result;
  {
    std::shared_lock lock(mutex_);
    for (const auto &[address, code] : byAddress_)
      result.push_back(code);
  }
  std::ranges::sort(result, {}, &CapturedCode::number);
  return result;
}

} // namespace luthier::hsa
