// Executables: sets of code objects that ROCr has loaded for its agents, linked and frozen.
#pragma once

#include "hsa/agent.h"
#include "hsa/code_object_reader.h"
#include "hsa/executable_symbol.h"
#include "hsa/loaded_code_object.h"

namespace luthier::hsa {

class Executable;
using OwnedExecutable = Owned<Executable>;

class Executable : public Handle<Executable, hsa_executable_t> {
public:
  static constexpr std::string_view kWhat = "executable";
  using Handle::Handle;

  static Result<OwnedExecutable>
  create(hsa_profile_t profile = HSA_PROFILE_FULL,
         hsa_default_float_rounding_mode_t rounding = HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT);
  /// With all that was loaded into it.
  Result<void> destroy() const;

  /// Every executable of the process that is not destroyed.
  static Result<std::vector<Executable>> all();
  /// The one that loaded what is at this address of an agent's memory.
  static Result<Executable> containing(uint64_t address);

  Result<LoadedCodeObject> load(Agent agent, CodeObjectReader reader) const;
  /// Definitions that code objects to be loaded refer to.
  Result<void> defineGlobal(const std::string &name, uint64_t address) const; ///< for all agents
  Result<void> defineGlobal(Agent agent, const std::string &name, uint64_t address) const;
  Result<void> freeze() const;
  Result<bool> validate() const;

  Result<hsa_profile_t> profile() const;

  Result<std::vector<LoadedCodeObject>> loadedCodeObjects() const;
  /// Kernels and variables of an agent, and the device functions of code that the application has loaded
  /// (hsa/device_functions.h).
  Result<std::vector<ExecutableSymbol>> symbols(Agent agent) const;
  Result<std::vector<ExecutableSymbol>> programSymbols() const;
  /// A kernel's name ends in ".kd".
  Result<ExecutableSymbol> symbol(const std::string &name, Agent agent) const;

  /// Tells the record of destroyed objects (hsa/handle.h) that this and all in it goes.
  void noteDestruction() const;
};

} // namespace luthier::hsa
