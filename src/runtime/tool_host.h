// Tools inside an application: wires the parts together, from the settings in the environment to the report at the end.
//
// LoadedTools calls the tools, KernelInstrumenter asks them about kernels, KernelRegistry keeps the result, Launcher
// runs rewritten kernels in place of the original and hands results over, RunAccount records what happened,
// ReportWriter writes it. What is left here is the beginning and the end.
//
// Whatever fails, the application's kernel runs unmodified, and the report says why.
#pragma once

#include "hsa/interceptor.h"
#include "runtime/hook_calls.h"
#include "runtime/kernel_identity.h"
#include "runtime/kernel_instrumenter.h"
#include "runtime/kernel_registry.h"
#include "runtime/launcher.h"
#include "runtime/loaded_tools.h"
#include "runtime/progress.h"
#include "runtime/report_writer.h"
#include "runtime/run_account.h"
#include "runtime/run_details.h"
#include "runtime/site_values.h"
#include "runtime/tool_memory.h"
#include "runtime/tool_settings.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <string_view>
#include <vector>

namespace luthier::runtime {

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
  /// The end: tools' exit functions, and the report. Once; later calls do nothing, and so do forked children.
  void finish(Ending ending);
  /// Whether, after that, the process should exit with status 1: --strict, and there is no report, or nothing in it.
  bool mustFail() const { return settings_.strict && incomplete_; }
  /// See ReportWriter; for a signal handler.
  std::string_view fallbackReport() const { return writer_.fallback(); }
  /// After that, when HSA goes, or the process by itself: hooks are not answered any more. A process that exits while
  /// kernels run leaves it to them.
  void stopCalls(bool hsaGoes);
  /// At the very end: tells the user of launches by the application's own exit handlers, which no report has. Under
  /// --strict they are a failure.
  void noteLateLaunches();
  /// Called about once a second.
  void showProgress() { progress_.tick(launcher_.seen(), launcher_.inFlight()); }
  /// Writes what there is, for when the end may come without notice.
  void writeSnapshot();

  // What the public interface is made of (tool_api.cc).
  LoadedTools &tools() { return tools_; }
  RunAccount &account() { return account_; }
  const KernelIdentities &identities() const { return identities_; }
  ToolMemory &memory() { return memory_; }
  HookModules &modules() { return modules_; }
  SiteValues &siteValues() { return siteValues_; }

private:
  ToolHost() = default;

  void onCodeLoaded(const hsa::SharedCode &code);
  void onPackets(hsa::PacketBatch &batch);
  void onCopied(const hsa::CopyRecord &copy);
  /// Tells the tools of code that they have not been told of. Under their lock.
  void tellLoaded();
  /// A tool waits for the GPU in a function that something waits for; told once, on the thread that waits.
  void onWaitInTool();
  /// Forgets kernels of an executable that goes, or, given none, those whose code was not known.
  void forget(hsa_executable_t executable);
  /// Under the lock of tools.
  Results results() const;
  /// Under --strict, after a failure.
  [[noreturn]] void endProcess();

  ToolSettings settings_;
  pid_t process_ = 0; ///< that the tools were loaded in
  RunAccount account_;
  RunDetails details_;
  LoadedTools tools_{account_};
  ToolMemory memory_;
  HookCalls calls_{memory_};
  HookModules modules_;
  SiteValues siteValues_{memory_};
  KernelRegistry kernels_;
  KernelIdentities identities_;
  Progress progress_;
  KernelInstrumenter instrumenter_{tools_, account_, details_, identities_, memory_, siteValues_, modules_, progress_};
  Launcher launcher_{tools_, account_, instrumenter_, kernels_, memory_, calls_, details_};
  ReportWriter writer_;
  std::mutex laterMutex_; ///< guards what follows: what is done when the lock of tools is to be had
  std::vector<hsa::SharedCode> loaded_;
  std::vector<hsa_executable_t> forgotten_;
  std::atomic<bool> incomplete_ = false;
  bool snapshotFailed_ = false; ///< the user has been told; for the thread that writes them
};

} // namespace luthier::runtime
