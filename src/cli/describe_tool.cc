#include "cli/describe_tool.h"

#include <exception>

#include <dlfcn.h>

#include "runtime/tool_abi.h"
#include "runtime/tool_description.h"

namespace luthier::cli {

namespace {

// The runtime first: the tool then finds it by its name, wherever the tool was built.
Result<void *> load(const std::filesystem::path &runtime, const ToolFile &tool) {
  if (!::dlopen(runtime.c_str(), RTLD_NOW | RTLD_LOCAL))
    return makeError("{} cannot be loaded: {}", runtime.string(), ::dlerror());
  void *library = ::dlopen(tool.file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return makeError("tool {} cannot be loaded: {}", tool.name, ::dlerror());
  LUTHIER_TRY(runtime::checkTool(library, tool.file.string()));
  return library;
}

std::string oneLine(void *library) {
  const char *text = static_cast<const char *>(::dlsym(library, "luthierToolDescription"));
  return text ? text : "";
}

} // namespace

Result<std::string> describeInOneLine(const std::filesystem::path &runtime, const ToolFile &tool) {
  return oneLine(LUTHIER_TRY(load(runtime, tool)));
}

Result<ToolDescription> describeTool(const std::filesystem::path &runtime, const ToolFile &tool) {
  void *library = LUTHIER_TRY(load(runtime, tool));
  void *runtimeLibrary = ::dlopen(runtime.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto options = reinterpret_cast<decltype(&luthierToolOptions)>(::dlsym(runtimeLibrary, "luthierToolOptions"));
  if (!options)
    return makeError("{} is of another version than this program", runtime.string());
  ToolDescription description;
  description.text = oneLine(library);
  // Options of tools that were described before come first.
  const auto append = [](void *user, const char *name, const char *byDefault, const char *help) {
    static_cast<ToolDescription *>(user)->options.push_back({name, byDefault, help});
  };
  ToolDescription before;
  options(append, &before);
  try {
    // It stays: in an application, tools are never destroyed before the process is.
    reinterpret_cast<void *(*)()>(::dlsym(library, "luthierCreateTool"))();
  } catch (const std::exception &exception) {
    return makeError("tool {} threw in its constructor: {}", tool.name, exception.what());
  } catch (...) {
    return makeError("tool {} threw in its constructor", tool.name);
  }
  options(append, &description);
  description.options.erase(description.options.begin(),
                            description.options.begin() + static_cast<ptrdiff_t>(before.options.size()));
  return description;
}

} // namespace luthier::cli
