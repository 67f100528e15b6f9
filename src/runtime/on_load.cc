// The library that ROCr loads into the application (HSA_TOOLS_LIB): its way in and out.
#include "hsa/handle.h"
#include "hsa/interceptor.h"
#include "runtime/exit_flush.h"
#include "runtime/hsa_trace.h"
#include "runtime/tool_host.h"
#include "support/log.h"
#include "support/variables.h"

#include <cstdlib>

#include <dlfcn.h>
#include <unistd.h>

using namespace luthier;

namespace {

/// LUTHIER_CHILDREN=0 asks for the process that `luthier run` became alone; LUTHIER_RUN, "PID.TIME", names it.
bool isWanted() {
  const auto children = env::flag(env::kChildren, true);
  if (!children)
    log::error("{}", children.error().message());
  const auto run = env::text("LUTHIER_RUN");
  return !children || *children || !run || atol(run->c_str()) == getpid();
}

} // namespace

extern "C" {

[[gnu::visibility("default")]] bool OnLoad(HsaApiTable *table, uint64_t, uint64_t, const char *const *) {
  // ROCr unloads its tools at hsa_shut_down, while threads may still be on their way through a wrapper.
  Dl_info self;
  if (dladdr(reinterpret_cast<void *>(&OnLoad), &self))
    dlopen(self.dli_fname, RTLD_NOW | RTLD_NODELETE);
  if (!isWanted())
    return true; // ROCr's table stays as it is
  if (auto traced = runtime::startHsaTrace(); !traced)
    log::error("{}", traced.error().message());
  hsa::Interceptor &interceptor = hsa::Interceptor::instance();
  if (auto installed = interceptor.install(table); !installed) {
    log::error("the application runs without Luthier: {}", installed.error().message());
    return true; // a tool that says no is closed; the table is as it was
  }
  if (runtime::ToolHost &host = runtime::ToolHost::instance(); host.start()) {
    host.listen(interceptor);
    runtime::installExitHandlers();
  }
  hsa::lifetime::watchApplication();
  return true;
}

[[gnu::visibility("default")]] void OnUnload() {
  runtime::ToolHost::instance().finish({});
  runtime::ToolHost::instance().stopCalls(true);
  runtime::finishHsaTrace();
  hsa::Interceptor::instance().uninstall();
  hsa::lifetime::noteAllDestroyed();
}

} // extern "C"
