// What happens around the loading of code: what is loaded is linked and captured, and told of.
#pragma once

#include "hsa/calls.h"
#include "hsa/code_capture.h"
#include "hsa/events.h"
#include "hsa/linker.h"

#include <vector>

namespace luthier::hsa {

class CodeLoading {
public:
  /// Replaces the functions that load into, freeze and destroy executables.
  CodeLoading(Events &events, CodeCapture &code, Linker &linker);

private:
  void capture(hsa_executable_t executable);
  hsa_status_t freeze(hsa_executable_t executable, const char *options);

  Events &events_;
  CodeCapture &code_;
  Linker &linker_;
  std::vector<Subscription> replacements_;
};

} // namespace luthier::hsa
