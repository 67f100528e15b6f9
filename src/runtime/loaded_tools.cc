#include "runtime/loaded_tools.h"

#include "runtime/tool_abi.h"

#include <algorithm>
#include <exception>

#include <dlfcn.h>
#include <fmt/format.h>

namespace luthier {

Tool::~Tool() = default;

} // namespace luthier

namespace luthier::runtime {

namespace {

constexpr std::chrono::milliseconds kPollForTheEnd(100), kPollForRelease(10);
constexpr std::chrono::seconds kLongCall(10);

} // namespace

LoadedTools::Lock::Lock(LoadedTools &tools) : tools_(tools), lock_(tools.mutex_, std::defer_lock) {
  while (!lock_.try_lock_for(kPollForTheEnd))
    if (tools.closed())
      return;
}

LoadedTools::Lock::Lock(LoadedTools &tools, const std::atomic<bool> &released)
    : tools_(tools), lock_(tools.mutex_, std::defer_lock) {
  uint64_t call = 0;
  auto since = std::chrono::steady_clock::now();
  while (!released && !lock_.try_lock_for(kPollForRelease)) {
    if (tools.closed())
      return;
    const auto now = std::chrono::steady_clock::now();
    const RunningCall::Place running = RunningCall::now();
    if (const uint64_t number = RunningCall::number(); !running || number != call) {
      call = number;
      since = now;
    } else if (tools.usesGpuRuntime_ && now - since > kLongCall) {
      if (tools.reported_.exchange(call) != call)
        tools.account_.fail(fmt::format("tool {} has been in {} for {} seconds, while the application wants to go on: "
                                        "until it returns, kernels run unmodified",
                                        running.tool, running.function, kLongCall.count()));
      return;
    }
  }
}

void LoadedTools::load(const std::string &path) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const std::string why = dlerror();
    const bool otherVersion =
        why.find("undefined symbol") != std::string::npos && why.find("luthier") != std::string::npos;
    return account_.fail(fmt::format("tool {} is not loaded: {}{}", path, why,
                                     otherVersion ? "; it was built with another version of Luthier: rebuild it" : ""));
  }
  if (const auto good = checkTool(library, path); !good)
    return account_.fail(good.error().message());
  usesGpuRuntime_ = usesGpuRuntime_ || usesGpuRuntime(library);
  add(toolName(path), reinterpret_cast<Tool *(*)()>(dlsym(library, "luthierCreateTool")));
}

void LoadedTools::add(const std::string &name, const std::function<Tool *()> &create) {
  LoadedTool &tool = *tools_.emplace_back(std::make_unique<LoadedTool>());
  tool.name = tool.table.tool = creating_ = name;
  tool.number = tools_.size() - 1;
  call(tool, "its constructor", [&] { tool.tool.reset(create()); });
  creating_.clear();
  if (const auto good = checkToolOptions(name, options_, values_); tool.tool && !good) {
    tool.broken = true;
    account_.fail(fmt::format("tool {} is not used: {}", name, good.error().message()));
  }
  if (tool.tool)
    call(tool, "start", [&] { tool.tool->start(); });
}

void LoadedTools::call(LoadedTool &tool, const char *what, const std::function<void()> &function) {
  if (tool.broken)
    return;
  const RunningCall running(tool.name.c_str(), what);
  std::string why;
  try {
    function();
    return;
  } catch (const std::exception &exception) {
    why = exception.what();
  } catch (...) {
    why = "something that is not a std::exception";
  }
  tool.broken = true;
  account_.fail(fmt::format("tool {} threw in {}: {}; it is not called any more", tool.name, what, why));
}

void LoadedTools::callEach(const char *what, const std::function<void(LoadedTool &)> &function) {
  for (const auto &tool : tools_)
    if (tool->tool)
      call(*tool, what, [&] { function(*tool); });
}

bool LoadedTools::anyWorks() const {
  return std::ranges::any_of(tools_, [](const auto &tool) { return tool->works(); });
}

LoadedTool *LoadedTools::find(const Tool *tool) {
  for (const auto &loaded : tools_)
    if (loaded->tool.get() == tool)
      return loaded.get();
  return tools_.empty() ? nullptr : tools_.back().get();
}

std::string LoadedTools::option(const std::string &name, const ValueType &type, const std::string &byDefault,
                                const std::string &help) {
  options_.push_back({creating_, name, type, byDefault, help});
  return valueOf(options_.back(), values_);
}

} // namespace luthier::runtime
