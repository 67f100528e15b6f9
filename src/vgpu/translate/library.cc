#include "vgpu/translate/library.h"

#include "support/log.h"
#include "vgpu/exec/level.h"
#include "vgpu/translate/thread.h"

#include <dlfcn.h>

#include <filesystem>

namespace luthier::vgpu {

namespace {

constexpr const char *kLibrary = "libluthier-translate.so";

/// Where it may be, seen from the file that this code is in: beside the driver, or in the folder of that
/// from the folder of a program, in a build and in an installation.
std::filesystem::path findLibrary() {
  Dl_info here;
  if (!dladdr(reinterpret_cast<const void *>(&translator), &here) || !here.dli_fname)
    return {};
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::canonical(here.dli_fname, error).parent_path();
  for (const char *place : {".", "../lib/vgpu", "../lib/luthier/vgpu"})
    if (auto path = folder / place / kLibrary; std::filesystem::exists(path, error))
      return path;
  return {};
}

Translator *load() {
  const std::filesystem::path path = findLibrary();
  if (path.empty()) {
    log::warn("{} was not found: kernels are interpreted only", kLibrary);
    return nullptr;
  }
  // Nothing of it is visible to others, and it stays: translated code may be running when the process ends.
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) {
    log::warn("{}: kernels are interpreted only", dlerror());
    return nullptr;
  }
  const auto make = reinterpret_cast<MakeTranslator>(dlsym(library, kMakeTranslator));
  return make ? make(execLevel().name, TranslationThread::stopHere) : nullptr;
}

} // namespace

Translator *translator() {
  static Translator *const loaded = load();
  return loaded;
}

} // namespace luthier::vgpu
