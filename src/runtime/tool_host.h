// Tools inside an application: loads them, asks them about kernels, runs rewritten kernels in place of the original,
// hands results over, writes the report.
//
// A kernel is looked at when it is launched first. Its packet, and every later one, is then pointed at the rewritten
// kernel, which is loaded beside the original; only kernel object, scratch size and, where per-launch variables are
// used, the arguments' address change. Functions of tools are called under one lock, so that tools need none; the
// application's threads take it only for launches of kernels that a tool is interested in.
//
// Whatever fails, the application's kernel runs as it was, and the report says why.
#pragma once

#include "hsa/interceptor.h"
#include "report/report.h"
#include "runtime/hook_calls.h"
#include "runtime/instrumented_kernel.h"
#include "runtime/kernel_view.h"
#include "runtime/last_words.h"
#include "runtime/tool_memory.h"
#include "runtime/tool_settings.h"
#include "support/log.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace luthier::runtime {

struct LoadedTool;

/// The report of a tool is its table.
struct ToolReport : Report {
  explicit ToolReport(LoadedTool *owner) : tool(owner) {}
  LoadedTool *tool;
};

struct LoadedTool {
  std::string name;
  size_t number = 0; ///< in the order of loading
  std::unique_ptr<Tool> tool;
  bool broken = false; ///< it threw: it is not called any more
  report::Table table;
  ToolReport report{this};
};

struct ToolOption {
  std::string tool, name, byDefault, help;
};

class ToolHost {
public:
  /// The one of this process; never destroyed, since threads of others may outlive everything.
  static ToolHost &instance();

  /// Loads the tools that the environment names. False when there are none.
  bool start();
  void listen(hsa::Interceptor &interceptor);
  struct Ending {
    std::chrono::milliseconds launches{5000}; ///< to wait for those in flight
    bool lockHeld = false; ///< by a thread that ends inside a tool: tools cannot be called, results can be written
  };
  /// The end: tools' last words, and the report. Once; later calls do nothing, and so do forked children.
  void finish(Ending ending);
  /// After that, when HSA goes, or the process by itself: hooks are not answered any more. A process that exits while
  /// kernels run leaves it to them.
  void stopCalls(bool hsaGoes);
  /// Writes what there is, for when the end may come without notice.
  void writeSnapshot();

  // What the public interface is made of (tool_api.cc).
  LoadedTool *find(const Tool *tool);
  std::string option(const std::string &name, const std::string &byDefault, const std::string &help);
  const std::vector<ToolOption> &options() const { return options_; }
  void warn(const std::string &message);
  void addLost(uint64_t records) { lost_ += records; }
  ToolMemory &memory() { return memory_; }
  HookModules &modules() { return modules_; }

private:
  ToolHost() = default;

  /// Tools are called under it. A thread may have several. False when it was not to be had: in time, or because a
  /// thread ends the process from inside a tool.
  class Lock {
  public:
    explicit Lock(ToolHost &host);
    Lock(ToolHost &host, std::chrono::milliseconds patience) : lock_(host.toolMutex_, patience) {}
    explicit operator bool() const { return lock_.owns_lock(); }

  private:
    EndWaits endWaits_; // goes after the lock has been given back
    std::unique_lock<std::recursive_timed_mutex> lock_;
  };

  void load(const std::string &path);
  void onCodeLoaded(const hsa::SharedCode &code);
  bool wanted(const std::string &name, const std::string &symbol) const;
  /// Null at the very end.
  std::shared_ptr<InstrumentedKernel> kernelOf(uint64_t kernelObject);
  std::shared_ptr<InstrumentedKernel> instrument(uint64_t kernelObject, const InstrumentedKernel::Choice &choice = {});

  // Launches (tool_launches.cc).
  void onPackets(hsa::PacketBatch &batch);
  void onDispatch(hsa::PacketBatch &batch, hsa::PacketBatch::Entry &entry);
  /// The kernel in the variant that the tools choose for a launch of it. Null at the very end.
  std::shared_ptr<InstrumentedKernel> chosen(const std::shared_ptr<InstrumentedKernel> &kernel, uint64_t kernelObject,
                                             const std::shared_ptr<Launch::Impl> &launch);
  /// Hooks take registers, so that a workgroup may not fit any more; the user is told once for a kernel.
  bool hasRoomFor(const Launch::Impl &launch);
  bool wantedByTools(Launch::Impl &launch);
  /// The kernel's arguments with those of the hooks behind them.
  Result<void> makeArguments(Launch::Impl &launch, const void *original, const hsa::QueueInfo &queue);
  void onCompleted(const std::shared_ptr<Launch::Impl> &launch, const hsa::KernelCompletion &completion);

  /// Calls a tool; one that throws is not called again.
  void guarded(LoadedTool &tool, const char *what, const std::function<void()> &call);
  /// For the user now, and for the report.
  void say(log::Level level, const std::string &message);
  /// What could not be done. Under `strict`, the end.
  void fail(const std::string &message);
  struct Results {
    std::vector<report::Table> tables;
    report::Account account;
  };
  Results results();
  void write(const Results &results, bool final);
  /// Forgets kernels of an executable that goes, or, given none, those whose code was not known.
  void forget(hsa_executable_t executable);

  ToolSettings settings_;
  pid_t process_ = 0; ///< that the tools were loaded in
  ToolMemory memory_;
  HookCalls calls_{memory_};
  HookModules modules_;
  std::unique_ptr<hook::FragmentCompiler> compiler_;

  /// Guards what follows. Recursive: when a tool calls exit, destructors run that unload code.
  std::recursive_timed_mutex toolMutex_;
  std::vector<std::unique_ptr<LoadedTool>> tools_;
  std::unordered_map<uint64_t, std::shared_ptr<ObjectView>> objects_; ///< by number of the captured code
  std::vector<std::shared_ptr<KernelAccount>> accounts_;
  uint64_t lost_ = 0; ///< records, as tools say
  double seconds_ = 0;
  std::atomic<bool> finished_ = false; ///< tools are not called any more
  std::atomic<bool> ended_ = false;    ///< the report is written
  std::atomic<bool> dirty_ = false;    ///< there is something new to write

  std::mutex writeMutex_;    ///< for one file at a time
  std::mutex messagesMutex_; ///< tools may warn from threads of their own
  std::vector<std::string> messages_;

  std::vector<ToolOption> options_;
  std::string creating_; ///< name of the tool whose constructor runs

  mutable std::shared_mutex kernelsMutex_;
  std::unordered_map<uint64_t, std::shared_ptr<InstrumentedKernel>> kernels_; ///< by kernel object
  std::atomic<uint64_t> launches_ = 0, inFlight_ = 0;
};

} // namespace luthier::runtime
