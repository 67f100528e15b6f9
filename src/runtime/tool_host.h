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
#include "runtime/instrumented_kernel.h"
#include "runtime/kernel_view.h"
#include "runtime/tool_memory.h"
#include "runtime/tool_settings.h"

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace luthier::runtime {

struct LoadedTool {
  std::string name;
  std::unique_ptr<Tool> tool;
  bool broken = false; ///< it threw: it is not called any more
  report::Table table;
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
  /// The end: tools' last words, and the report. Once; later calls do nothing.
  void finish();
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

  void load(const std::string &path);
  void onPackets(hsa::PacketBatch &batch);
  void onDispatch(hsa::PacketBatch &batch, hsa::PacketBatch::Entry &entry);
  void onDestroyed(hsa_executable_t executable);
  std::shared_ptr<InstrumentedKernel> kernelOf(uint64_t kernelObject, hsa_agent_t agent);
  std::shared_ptr<InstrumentedKernel> instrument(uint64_t kernelObject);
  void onCompleted(const std::shared_ptr<Launch::Impl> &launch, const hsa::KernelCompletion &completion);
  bool wanted(const std::string &name, const std::string &symbol) const;
  /// Calls a tool; one that throws is not called again.
  void guarded(LoadedTool &tool, const char *what, const std::function<void()> &call);
  void fail(const std::string &message);
  void write(bool final);

  ToolSettings settings_;
  ToolMemory memory_;
  HookModules modules_;
  std::unique_ptr<hook::FragmentCompiler> compiler_;

  std::timed_mutex toolMutex_; ///< tools are called under it, and it guards what follows
  std::vector<std::unique_ptr<LoadedTool>> tools_;
  std::unordered_map<uint64_t, std::shared_ptr<ObjectView>> objects_; ///< by number of the captured code
  std::vector<std::shared_ptr<report::KernelAccount>> accounts_;
  std::vector<std::string> messages_;
  uint64_t lost_ = 0; ///< records, as tools say
  double seconds_ = 0;
  bool finished_ = false;
  std::atomic<bool> dirty_ = false;

  std::vector<ToolOption> options_;
  std::string creating_; ///< name of the tool whose constructor runs

  mutable std::shared_mutex kernelsMutex_;
  std::unordered_map<uint64_t, std::shared_ptr<InstrumentedKernel>> kernels_; ///< by kernel object
  std::atomic<uint64_t> launches_ = 0, inFlight_ = 0;
};

} // namespace luthier::runtime
