#include "runtime/tool_host.h"

#include "support/demangle.h"
#include "support/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <dlfcn.h>
#include <regex.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace luthier::runtime {

namespace {

constexpr std::chrono::milliseconds kWaitForTools(2000), kPollForTheEnd(100);

bool matches(const std::string &pattern, const std::string &text) {
  regex_t compiled;
  if (regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB) != 0)
    return false;
  const bool found = regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0;
  regfree(&compiled);
  return found;
}

} // namespace

ToolHost &ToolHost::instance() {
  static auto *host = new ToolHost;
  return *host;
}

ToolHost::Lock::Lock(ToolHost &host) : lock_(host.toolMutex_, std::defer_lock) {
  while (!lock_.try_lock_for(kPollForTheEnd))
    if (host.ended_)
      return;
}

void ToolHost::say(log::Level level, const std::string &message) {
  {
    std::lock_guard lock(messagesMutex_);
    messages_.push_back(message);
  }
  dirty_ = true;
  if (log::enabled(level))
    log::write(level, message);
}

void ToolHost::fail(const std::string &message) {
  say(log::Level::error, message);
  if (!settings_.strict)
    return;
  log::error("ending the application, as --strict asks");
  finished_ = true;
  write(results(), true);
  ended_ = true;
  syscall(SYS_exit_group, 1);
}

void ToolHost::warn(const std::string &message) { say(log::Level::warn, message); }

bool ToolHost::start() {
  if (process_) {
    // Their memory on the GPUs went when HSA was shut down.
    if (!tools_.empty())
      log::warn("HSA is started once more: tools have seen the application up to when it was shut down");
    return false;
  }
  process_ = getpid();
  auto settings = ToolSettings::fromEnvironment();
  if (!settings) {
    log::error("no tool is loaded: {}", settings.error().message());
    return false;
  }
  settings_ = *std::move(settings);
  if (settings_.tools.empty())
    return false;
  compiler_ = std::make_unique<hook::FragmentCompiler>();
  calls_.configure({.packets = settings_.hostcallPackets,
                    .output = settings_.hookOutput,
                    .say = [this](const std::string &message) { say(log::Level::error, message); }});
  const Lock lock(*this);
  for (const std::string &path : settings_.tools)
    load(path);
  return true;
}

void ToolHost::load(const std::string &path) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fail(fmt::format("tool {} is not loaded: {}", path, dlerror()));
    return;
  }
  const auto create = reinterpret_cast<Tool *(*)()>(dlsym(library, "luthierCreateTool"));
  if (!create) {
    fail(fmt::format("{} is no tool of Luthier's: it has no LUTHIER_TOOL", path));
    return;
  }
  auto tool = std::make_unique<LoadedTool>();
  tool->name = creating_ = toolName(path);
  tool->table.tool = tool->name;
  LoadedTool &loaded = *tool;
  tool->number = tools_.size();
  tools_.push_back(std::move(tool));
  guarded(loaded, "its constructor", [&] { loaded.tool.reset(create()); });
  creating_.clear();
  if (loaded.tool)
    guarded(loaded, "start", [&] { loaded.tool->start(); });
}

void ToolHost::guarded(LoadedTool &tool, const char *what, const std::function<void()> &call) {
  if (tool.broken)
    return;
  std::string why;
  try {
    call();
    return;
  } catch (const std::exception &exception) {
    why = exception.what();
  } catch (...) {
    why = "something that is no std::exception";
  }
  tool.broken = true;
  fail(fmt::format("tool {} threw in {}: {}; it is not called any more", tool.name, what, why));
}

LoadedTool *ToolHost::find(const Tool *tool) {
  for (const auto &loaded : tools_)
    if (loaded->tool.get() == tool)
      return loaded.get();
  return tools_.empty() ? nullptr : tools_.back().get(); // its constructor runs
}

std::string ToolHost::option(const std::string &name, const std::string &byDefault, const std::string &help) {
  options_.push_back({creating_, name, byDefault, help});
  const auto found = settings_.options.find(creating_ + "." + name);
  return found == settings_.options.end() ? byDefault : found->second;
}

void ToolHost::listen(hsa::Interceptor &interceptor) {
  interceptor.packets().subscribe([this](hsa::PacketBatch &batch) { onPackets(batch); }).keep();
  interceptor.codeLoaded().subscribe([this](const hsa::SharedCode &code) { onCodeLoaded(code); }).keep();
  // Other code may be loaded at the same address next; and what was not known may be known now.
  interceptor.executableDestroyed().subscribe([this](hsa_executable_t executable) { forget(executable); }).keep();
  interceptor.executableFrozen().subscribe([this](hsa_executable_t) { forget({}); }).keep();
  interceptor.queueDestroyed()
      .subscribe([this](const hsa::QueueInfo &queue) { calls_.queueDestroyed(queue.id); })
      .keep();
}

bool ToolHost::wanted(const std::string &name, const std::string &symbol) const {
  if (!settings_.kernelInclude.empty() && !matches(settings_.kernelInclude, name) &&
      !matches(settings_.kernelInclude, symbol))
    return false;
  return settings_.kernelExclude.empty() ||
         (!matches(settings_.kernelExclude, name) && !matches(settings_.kernelExclude, symbol));
}

std::shared_ptr<InstrumentedKernel> ToolHost::kernelOf(uint64_t kernelObject) {
  {
    std::shared_lock lock(kernelsMutex_);
    if (const auto found = kernels_.find(kernelObject); found != kernels_.end())
      return found->second;
  }
  const Lock tools(*this);
  if (!tools)
    return nullptr;
  {
    std::shared_lock lock(kernelsMutex_);
    if (const auto found = kernels_.find(kernelObject); found != kernels_.end())
      return found->second;
  }
  std::shared_ptr<InstrumentedKernel> kernel = instrument(kernelObject);
  std::unique_lock lock(kernelsMutex_);
  kernels_[kernelObject] = kernel;
  return kernel;
}

void ToolHost::onCodeLoaded(const hsa::SharedCode &code) {
  const Lock lock(*this);
  if (!lock || finished_)
    return;
  const CodeObject::Impl impl{code};
  for (const auto &tool : tools_)
    if (tool->tool)
      guarded(*tool, "loaded", [&] { tool->tool->loaded(CodeObject(impl)); });
}

/// Never null; what cannot be instrumented has no variant, and an account that says why.
std::shared_ptr<InstrumentedKernel> ToolHost::instrument(uint64_t kernelObject,
                                                         const InstrumentedKernel::Choice &choice) {
  const auto begin = std::chrono::steady_clock::now();
  auto result = std::make_shared<InstrumentedKernel>();
  result->choice = choice;
  result->account = std::make_shared<KernelAccount>();
  KernelAccount &account = *result->account;
  accounts_.push_back(result->account);
  dirty_ = true;
  const auto skip = [&](std::string why) {
    account.skipped = std::move(why);
    return result;
  };
  const hsa::SharedCode code = hsa::Interceptor::instance().code().find(kernelObject);
  const object::Symbol *symbol = code ? code->kernelOf(kernelObject) : nullptr;
  if (!symbol) {
    account.name = fmt::format("{:#x}", kernelObject);
    return skip("its code object is not known");
  }
  account.symbol = symbol->name;
  account.name = demangle(symbol->name);
  if (!choice.empty())
    account.name += fmt::format(" [variant {}]", fmt::join(choice, ", "));
  account.object = code->uri();
  result->executable = code->executable();
  result->agent = code->agent();
  if (!wanted(demangle(symbol->name), account.symbol))
    return skip(report::kLeftOut);

  std::shared_ptr<ObjectView> &object = objects_[code->number()];
  if (!object) {
    auto view = ObjectView::create(code, *compiler_);
    if (!view) {
      objects_.erase(code->number());
      fail(view.error().message());
      return skip(view.error().message());
    }
    object = *std::move(view);
  }
  auto kernel = Kernel::Impl::create(object, *symbol, modules_);
  if (!kernel) {
    fail(kernel.error().message());
    return skip(kernel.error().message());
  }
  result->kernel = *std::move(kernel);
  const auto works = [](const auto &tool) { return tool->tool && !tool->broken; };
  std::string why =
      std::ranges::any_of(tools_, works) ? "no tool asked for anything in it" : "there is no tool that works";
  for (const auto &tool : tools_) {
    if (!works(tool))
      continue;
    // What one tool gets wrong is not the others' loss.
    const size_t asked = result->kernel->insertions.size();
    result->turnOf(tool->number);
    Kernel view(*result->kernel);
    guarded(*tool, "instrument", [&] { tool->tool->instrument(view, Site(*result->kernel)); });
    if (tool->broken)
      why = fmt::format("tool {} threw", tool->name);
    else if (const std::string error = std::exchange(result->kernel->error, {}); !error.empty())
      fail(why = fmt::format("tool {}: {}", tool->name, error));
    else
      continue;
    result->kernel->insertions.resize(asked);
  }
  if (result->kernel->insertions.empty())
    return skip(why);
  if (const auto built = result->build(memory_); !built) {
    account.sitesAsked = result->kernel->insertions.size();
    account.sitesPlaced = 0;
    account.rejected = {{built.error().message(), account.sitesAsked}};
    fail(fmt::format("{} runs as it was: {}", account.name, built.error().message()));
    return skip(built.error().message());
  }
  for (const auto &[reason, count] : account.rejected)
    if (settings_.strict)
      fail(fmt::format("{}: {} places were refused: {}", account.name, count, reason));
  account.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  seconds_ += account.seconds;
  return result;
}

void ToolHost::forget(hsa_executable_t executable) {
  const auto goes = [&](const auto &entry) { return entry.second->executable.handle == executable.handle; };
  if (!executable.handle) { // rarely anything, and then freezing need not wait for tools
    std::unique_lock lock(kernelsMutex_);
    std::erase_if(kernels_, goes);
    return;
  }
  const Lock tools(*this);
  if (!tools)
    return;
  std::unique_lock lock(kernelsMutex_);
  std::erase_if(kernels_, goes);
  std::erase_if(objects_,
                [&](const auto &entry) { return entry.second->code->executable().handle == executable.handle; });
}

ToolHost::Results ToolHost::results() {
  Results results;
  for (const auto &tool : tools_)
    results.tables.push_back(tool->table);
  for (const auto &kernel : accounts_)
    results.account.kernels.push_back(kernel->now());
  results.account.seconds = seconds_;
  results.account.recordsLost = lost_;
  std::lock_guard lock(messagesMutex_);
  results.account.messages = messages_;
  return results;
}

void ToolHost::write(const Results &results, bool final) {
  std::lock_guard lock(writeMutex_);
  if (finished_ && !final)
    return;
  const auto &[tables, account] = results;
  const std::string text = settings_.format == OutputFormat::Csv    ? report::toCsv(tables)
                           : settings_.format == OutputFormat::Json ? report::toJson(tables, account)
                                                                    : report::toText(tables, account);
  if (!settings_.output.empty()) {
    if (const auto written = report::writeFile(settings_.output, text); !written)
      log::error("{}", written.error().message());
  } else if (final)
    fwrite(text.data(), 1, text.size(), stderr);
  if (final && settings_.format == OutputFormat::Csv) { // which has no place for the account
    const std::string rest = report::toText({}, account);
    fwrite(rest.data(), 1, rest.size(), stderr);
  }
}

void ToolHost::writeSnapshot() {
  if (settings_.output.empty() || !dirty_.exchange(false))
    return;
  Results now;
  {
    const Lock lock(*this, kWaitForTools);
    if (!lock || finished_) {
      dirty_ = true;
      return;
    }
    now = results();
  }
  write(now, false); // without the lock: tools need not wait for the disk
}

void ToolHost::stopCalls(bool hsaGoes) {
  if (getpid() == process_ && (hsaGoes || inFlight_ == 0))
    calls_.stop();
}

void ToolHost::finish(Ending ending) {
  if (getpid() != process_ || ended_ || settings_.tools.empty())
    return;
  ending.lockHeld |= EndWaits::here(); // a tool has called exit
  const auto end = std::chrono::steady_clock::now() + ending.launches;
  while (!ending.lockHeld && inFlight_ && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::optional<Lock> lock;
  if (!ending.lockHeld)
    if (lock.emplace(*this, kWaitForTools); !*lock)
      return;
  if (finished_)
    return;
  if (lock) {
    // A tool that calls exit here, where the process exits already, does not come back: what is left runs instead.
    std::atexit([] { instance().finish({}); });
    for (const auto &tool : tools_)
      if (tool->tool)
        guarded(*tool, "exit", [&] { tool->tool->exit(); });
  }
  finished_ = true;
  Results last = results();
  if (const uint64_t left = inFlight_)
    last.account.messages.push_back(fmt::format("{} launches had not completed at the end", left));
  write(last, true);
  ended_ = true;
}

} // namespace luthier::runtime
