// Device functions as symbols of an executable, beside the kernels and variables that ROCr knows
// (include/luthier/hsa_ext.h says what applications see).
//
// ROCr does not enter functions into its tables, so their symbols are Luthier's own: a handle is the address of a
// DeviceFunction, made when somebody first asks for an executable's symbols and gone with the executable.
#pragma once

#include "hsa/calls.h"
#include "hsa/code_capture.h"
#include "hsa/events.h"
#include "hsa/linker.h"

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace luthier::hsa {

struct DeviceFunction {
  SharedCode code;
  const object::Symbol *symbol = nullptr;

  uint64_t address() const { return code->loadedAddress(symbol->address); }
  hsa_executable_symbol_t handle() const { return {reinterpret_cast<uint64_t>(this)}; }
};

class DeviceFunctions {
public:
  DeviceFunctions(Events &events, const CodeCapture &code, const Linker &linker);
  void start();
  void stop();

  using Shared = std::shared_ptr<const DeviceFunction>;
  /// Those of an executable on an agent, in the order of loading, then of addresses.
  std::vector<Shared> of(hsa_executable_t executable, hsa_agent_t agent);
  /// Null when the handle is not one of ours.
  Shared find(hsa_executable_symbol_t handle) const;
  /// The functions that a kernel can call, directly or not, in its own code object and in those it is linked with.
  Result<std::vector<Shared>> calledBy(uint64_t kernelObject);

private:
  struct State {
    std::vector<Shared> functions;
    uint64_t objects = 0; ///< how many code objects have been looked at
  };
  State &update(hsa_executable_t executable);
  hsa_status_t info(const DeviceFunction &function, uint32_t attribute, void *value) const;
  hsa_status_t kernelInfo(hsa_executable_symbol_t kernel, uint32_t attribute, void *value);
  void forget(hsa_executable_t executable);

  Events &events_;
  const CodeCapture &code_;
  const Linker &linker_;
  std::vector<Subscription> replacements_;
  Subscription destroyed_;
  mutable std::mutex mutex_; ///< guards what follows
  std::unordered_map<uint64_t, State> executables_;
  std::unordered_map<uint64_t, Shared> byHandle_;
};

} // namespace luthier::hsa
