#include "runtime/tool_host.h"

#include "hsa/signal.h"
#include "support/log.h"
#include "support/variables.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace luthier::runtime {

namespace {

constexpr std::chrono::milliseconds kWaitForTools(2000);
const std::atomic<bool> kNotReleased = false;

/// Not in the middle of a trace.
bool wantsProgress() {
  const Result<bool> wanted = env::flag(env::kProgress, true);
  return wanted && *wanted && (!env::text("LUTHIER_TRACE") || env::text(env::kTraceFile.name));
}

} // namespace

ToolHost &ToolHost::instance() {
  static auto *host = new ToolHost;
  return *host;
}

bool ToolHost::start() {
  if (process_) {
    // Their memory on the GPUs went when HSA was shut down.
    if (!tools_.all().empty())
      log::warn("HSA is started again: tools have seen the application until HSA was shut down");
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
  KernelFilter filter;
  if (const auto valid = filter.configure(settings_.kernelInclude, settings_.kernelExclude); !valid) {
    log::error("no tool is loaded: {}", valid.error().message());
    return false;
  }
  if (settings_.strict)
    account_.endOnFailure([this] { endProcess(); });
  writer_.configure(settings_.outputs(), !settings_.outputBase.empty());
  if (writer_.wantsDetails())
    details_.collect();
  instrumenter_.configure({.filter = std::move(filter),
                           .runtimeKernels = settings_.runtimeKernels,
                           .hookForm = settings_.hookForm,
                           .strict = settings_.strict});
  launcher_.configure({.firstIteration = settings_.firstIteration, .lastIteration = settings_.lastIteration});
  calls_.configure({.packets = settings_.hostcallPackets,
                    .output = settings_.hookOutput,
                    .log = [this](const std::string &message) { account_.logAndRecord(log::Level::error, message); }});
  const LoadedTools::Lock lock(tools_);
  tools_.setOptions(settings_.options);
  for (const std::string &path : settings_.tools)
    tools_.load(path);
  if (tools_.anyWorks() && wantsProgress())
    progress_.start();
  if (!tools_.anyWorks())
    account_.logAndRecord(log::Level::error, "no tool works: the application runs unmodified");
  // A report that cannot be written is better known now than at the end.
  if (const auto written = writer_.snapshot(results()); !written) {
    snapshotFailed_ = true;
    account_.fail(written.error().message());
  }
  return true;
}

void ToolHost::listen(hsa::Interceptor &interceptor) {
  interceptor.packets().subscribe([this](hsa::PacketBatch &batch) { onPackets(batch); }).keep();
  interceptor.packetsReleased()
      .subscribe([this](const hsa::PacketBatch &batch) { launcher_.onReleased(batch); })
      .keep();
  interceptor.heldWorks().onFirstRelease([this] { onWaitInTool(); });
  if (tools_.anyUsesGpuRuntime())
    interceptor.heldWorks().noteBlockingCallbacks(true);
  if (details_.wanted())
    interceptor.events().copied.subscribe([this](const hsa::CopyRecord &copy) { onCopied(copy); }).keep();
  interceptor.events().codeLoaded.subscribe([this](const hsa::SharedCode &code) { onCodeLoaded(code); }).keep();
  // Other code may be loaded at the same address next; and what was not known may be known now.
  interceptor.events()
      .executableDestroyed.subscribe([this](hsa_executable_t executable) { forget(executable); })
      .keep();
  interceptor.events().executableFrozen.subscribe([this](hsa_executable_t) { forget({}); }).keep();
  interceptor.events()
      .queueDestroyed.subscribe([this](const hsa::QueueInfo &queue) { calls_.queueDestroyed(queue.id); })
      .keep();
}

void ToolHost::onCodeLoaded(const hsa::SharedCode &code) {
  {
    std::lock_guard later(laterMutex_);
    loaded_.push_back(code);
  }
  if (tools_.anyUsesGpuRuntime())
    return; // this thread may be inside HIP; tools are told before the next launch
  if (const LoadedTools::Lock lock(tools_, kNotReleased); lock.mayCall())
    tellLoaded();
}

void ToolHost::tellLoaded() {
  for (;;) {
    std::vector<hsa::SharedCode> loaded;
    {
      std::lock_guard later(laterMutex_);
      loaded.swap(loaded_);
    }
    if (loaded.empty())
      return;
    for (const hsa::SharedCode &code : loaded) {
      const CodeObject::Impl impl{code};
      tools_.callEach("loaded", [&](LoadedTool &tool) { tool.tool->loaded(CodeObject(impl)); });
    }
  }
}

void ToolHost::onPackets(hsa::PacketBatch &batch) {
  bool news = false;
  if (tools_.anyUsesGpuRuntime()) {
    std::lock_guard later(laterMutex_);
    news = !loaded_.empty();
  }
  if (news)
    if (const LoadedTools::Lock lock(tools_, batch.released); lock.mayCall())
      tellLoaded();
  launcher_.onPackets(batch);
}

void ToolHost::onCopied(const hsa::CopyRecord &copy) {
  constexpr uint64_t kBillion = 1'000'000'000;
  const auto now = hsa::timestamp(), frequency = hsa::timestampFrequency();
  const uint64_t time = now && frequency && *frequency
                            ? static_cast<uint64_t>(static_cast<__uint128_t>(*now) * kBillion / *frequency)
                            : 0;
  details_.add(report::CopyRecord{std::string(hsa::apiName(copy.call)), copy.bytes, time});
}

void ToolHost::forget(hsa_executable_t executable) {
  kernels_.forget(executable.handle);
  if (!executable.handle) // rarely anything
    return;
  std::vector<hsa_executable_t> forgotten;
  {
    std::lock_guard later(laterMutex_);
    forgotten_.push_back(executable);
  }
  // Not worth waiting for a tool, which may wait for a lock that this thread has.
  const LoadedTools::Lock lock(tools_, std::chrono::milliseconds(0));
  if (!lock)
    return;
  {
    std::lock_guard later(laterMutex_);
    forgotten.swap(forgotten_);
  }
  for (const hsa_executable_t each : forgotten)
    instrumenter_.forget(each);
}

void ToolHost::onWaitInTool() {
  if (const RunningCall::Place call = RunningCall::here() ? RunningCall::here() : RunningCall::now())
    account_.logAndRecord(log::Level::warn,
                          fmt::format("tool {} waits for the GPU in {}: until it returns, kernels that "
                                      "the application launches run unmodified",
                                      call.tool, call.function));
}

Results ToolHost::results() const {
  Results results{.tables = {}, .account = account_.now(), .details = details_.now()};
  for (const auto &tool : tools_.all())
    results.tables.push_back(tool->table);
  return results;
}

void ToolHost::writeSnapshot() {
  if (!writer_.writesSnapshots() || !account_.takeChange())
    return;
  Results now;
  {
    const LoadedTools::Lock lock(tools_, kWaitForTools);
    if (!lock.mayCall())
      return account_.noteChange();
    now = results();
  }
  // Without the lock: tools need not wait for the disk.
  if (const auto written = writer_.snapshot(now); !written && !std::exchange(snapshotFailed_, true))
    log::error("{}", written.error().message());
}

void ToolHost::stopCalls(bool hsaGoes) {
  if (getpid() == process_ && (hsaGoes || launcher_.inFlight() == 0))
    calls_.stop();
}

void ToolHost::noteLateLaunches() {
  const uint64_t late = launcher_.late();
  if (late == 0 || getpid() != process_)
    return;
  incomplete_ = true;
  log::warn("{} launches ran unmodified: the application made them while it was exiting, after the report", late);
}

void ToolHost::endProcess() {
  log::error("ending the application because of --strict");
  progress_.stop();
  tools_.retire();
  writer_.finish(results());
  tools_.close();
  for (;;)
    syscall(SYS_exit_group, 1);
}

void ToolHost::finish(Ending ending) {
  if (getpid() != process_ || tools_.closed() || settings_.tools.empty())
    return;
  ending.lockHeld |= DeferTermination::here(); // a tool has called exit
  const auto end = std::chrono::steady_clock::now() + ending.launches;
  while (!ending.lockHeld && launcher_.inFlight() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::optional<LoadedTools::Lock> lock;
  if (!ending.lockHeld)
    if (lock.emplace(tools_, kWaitForTools); !*lock)
      return;
  if (tools_.retired())
    return;
  if (lock) {
    // A tool that calls exit here, where the process exits already, does not come back: what is left runs instead.
    std::atexit([] { instance().finish({}); });
    writer_.prepare(results());
    tellLoaded();
    tools_.callEach("exit", [](LoadedTool &tool) { tool.tool->exit(); });
  }
  tools_.retire();
  progress_.stop();
  if (account_.now().kernels.empty()) {
    incomplete_ = true;
    account_.logAndRecord(settings_.strict ? log::Level::error : log::Level::warn,
                          "no kernel was launched: there is nothing to report");
  }
  Results last = results();
  if (const uint64_t released = launcher_.released()) {
    incomplete_ = true;
    last.account.messages.push_back(
        fmt::format("{} launches ran unmodified because a tool waited for the GPU", released));
  }
  if (const uint64_t left = launcher_.inFlight())
    last.account.messages.push_back(fmt::format("{} launches had not completed at the end", left));
  if (last.details.launchesDropped)
    last.account.messages.push_back(fmt::format("{} launches are counted but not listed: the report lists the first {}",
                                                last.details.launchesDropped, RunDetails::kMostLaunches));
  if (!writer_.finish(last))
    incomplete_ = true;
  tools_.close();
}

} // namespace luthier::runtime
