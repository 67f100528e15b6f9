// The tools of this process: loads them, gives them their options, and calls them so that what they do wrong is theirs
// alone.
//
// Functions of tools are called under one lock, so that tools need none. One that throws is not called again. Knows no
// HSA.
#pragma once

#include "luthier/tool.h"
#include "report/report.h"
#include "runtime/defer_termination.h"
#include "runtime/run_account.h"
#include "runtime/running_call.h"
#include "runtime/tool_settings.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

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

  bool works() const { return tool && !broken; }
};

class LoadedTools {
public:
  explicit LoadedTools(RunAccount &account) : account_(account) {}

  /// Everything below, and the tables, need it. A thread may have several. While it is held or waited for, a signal
  /// does not end the process.
  class Lock {
  public:
    /// Gives up when the process ends from inside a tool.
    explicit Lock(LoadedTools &tools);
    /// For the application's threads, which may have locks that a tool needs in a function that calls HIP: gives up as
    /// soon as `released`, and, if tools may call HIP, when one does not return from a function for long: a failure.
    Lock(LoadedTools &tools, const std::atomic<bool> &released);
    Lock(LoadedTools &tools, std::chrono::milliseconds patience) : tools_(tools), lock_(tools.mutex_, patience) {}
    /// Whether it was to be had.
    explicit operator bool() const { return lock_.owns_lock(); }
    bool mayCall() const { return lock_.owns_lock() && !tools_.retired(); }

  private:
    LoadedTools &tools_;
    DeferTermination defer_; // goes after the lock has been given back
    std::unique_lock<std::recursive_timed_mutex> lock_;
  };

  /// Values of options, by "TOOL.NAME". Before tools are loaded.
  void setOptions(std::map<std::string, std::string> values) { values_ = std::move(values); }
  /// Loads the library, makes its tool and starts it. What fails is recorded.
  void load(const std::string &path);
  /// As `load`, for a tool that `create` makes.
  void add(const std::string &name, const std::function<Tool *()> &create);

  /// Calls a function of a tool, unless the tool threw before. `what` names the function, and lives for ever.
  void call(LoadedTool &tool, const char *what, const std::function<void()> &function);
  /// Calls a function of all tools, in the order of loading.
  void callEach(const char *what, const std::function<void(LoadedTool &)> &function);

  const std::vector<std::unique_ptr<LoadedTool>> &all() const { return tools_; }
  /// Whether a tool may call HIP or ROCr: then no tool may be called on a thread of the application's that is inside
  /// them, since their locks do not expect to be wanted twice.
  bool anyUsesGpuRuntime() const { return usesGpuRuntime_; }
  bool anyWorks() const;
  /// Whose tool this is; the last one while its constructor runs. Null when there are none.
  LoadedTool *find(const Tool *tool);

  /// An option's value, for the tool whose constructor runs.
  std::string option(const std::string &name, const ValueType &type, const std::string &byDefault,
                     const std::string &help);
  /// That were asked for so far.
  const std::vector<ToolOption> &options() const { return options_; }

  /// Tools are not called any more.
  void retire() { retired_ = true; }
  bool retired() const { return retired_; }
  /// Nobody waits for the lock any more.
  void close() { closed_ = true; }
  bool closed() const { return closed_; }

private:
  RunAccount &account_;
  /// Recursive: when a tool calls exit, destructors run that unload code.
  std::recursive_timed_mutex mutex_;
  std::vector<std::unique_ptr<LoadedTool>> tools_;
  std::map<std::string, std::string> values_;
  std::vector<ToolOption> options_;
  std::string creating_; ///< name of the tool whose constructor runs
  std::atomic<bool> retired_ = false, closed_ = false, usesGpuRuntime_ = false;
  std::atomic<uint64_t> reported_ = 0; ///< number of the call that the user was told of last
};

} // namespace luthier::runtime
