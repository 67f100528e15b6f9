// Symbols of an executable: kernels, variables, and device functions.
//
// The standard has "indirect functions" among the kinds of symbols, and ROCr leaves them out. Luthier fills the gap: a
// part of it that knows the code objects provides the device functions (DeviceFunctions), each with a symbol handle of
// its own making. All operations here, and Executable's, ask it before they ask ROCr.
#pragma once

#include "hsa/agent.h"
#include "object/code_object.h"
#include "object/kernel_descriptor.h"

#include <optional>

namespace luthier::hsa {

class Executable;
class LoadedCodeObject;

/// What is known of a device function.
struct DeviceFunctionInfo {
  std::string name;
  hsa_symbol_linkage_t linkage = HSA_SYMBOL_LINKAGE_MODULE;
  hsa_agent_t agent = {};
  hsa_executable_t executable = {};
  hsa_loaded_code_object_t loadedCodeObject = {};
  uint64_t address = 0; ///< of its code, loaded
  uint64_t size = 0;
};

/// The provider of device functions. Called from any thread.
class DeviceFunctions {
public:
  virtual ~DeviceFunctions() = default;
  /// Whether the handle is one of its own; cheap, and false for whatever ROCr makes. It stays true for a function that
  /// was unloaded, so that such a handle never gets to ROCr.
  virtual bool owns(hsa_executable_symbol_t symbol) const = 0;
  virtual Result<DeviceFunctionInfo> info(hsa_executable_symbol_t symbol) const = 0;
  virtual std::vector<hsa_executable_symbol_t> list(hsa_executable_t executable, hsa_agent_t agent) const = 0;
  virtual std::optional<hsa_executable_symbol_t> find(hsa_executable_t executable, hsa_agent_t agent,
                                                      std::string_view name) const = 0;
};

/// Null: there are none. The provider must outlive all use of symbols.
void setDeviceFunctions(const DeviceFunctions *provider);
const DeviceFunctions *deviceFunctions();

class ExecutableSymbol : public Handle<ExecutableSymbol, hsa_executable_symbol_t> {
public:
  static constexpr std::string_view kWhat = "executable symbol";
  using Handle::Handle;
  using Kind = object::SymbolKind;

  Result<Kind> kind() const;
  Result<std::string> name() const; ///< as HSA has it: a kernel's ends in ".kd"
  Result<hsa_symbol_linkage_t> linkage() const;
  Result<bool> isDefinition() const;
  Result<Agent> agent() const;
  /// Of a variable, of a function's code, of a kernel's descriptor.
  Result<uint64_t> address() const;
  /// Of a variable, of a function's code. A kernel's descriptor has object::KernelDescriptor::kBytes; for its code,
  /// see the code object.
  Result<uint64_t> size() const;
  Result<LoadedCodeObject> loadedCodeObject() const; ///< of the executable that is loaded at its address
  Result<Executable> executable() const;

  // Kernels.
  Result<std::string> kernelName() const; ///< without ".kd"
  Result<uint64_t> kernelObject() const;  ///< what a dispatch packet has
  Result<uint32_t> kernargSize() const;   ///< bytes; 0 may also mean that the compiler did not say
  Result<uint32_t> kernargAlignment() const;
  Result<uint32_t> groupSegmentSize() const;
  Result<uint32_t> privateSegmentSize() const;
  /// From the memory of the agent, with all that ROCr does not tell, such as a dynamic stack; there once the executable
  /// is frozen.
  Result<object::KernelDescriptor> kernelDescriptor() const;
  /// Of the first instruction.
  Result<uint64_t> kernelEntry() const;

  /// Of a variable. ROCr 5.2.3's other answers about variables are wrong (it calls all writable ones constant, and
  /// allocated for the program), so there are no questions for them.
  Result<hsa_variable_segment_t> variableSegment() const;

  /// Device functions.
  Result<DeviceFunctionInfo> deviceFunction() const;

private:
  bool isDeviceFunction() const;
  /// ROCr answers some questions that make no sense for a symbol, with garbage.
  Result<void> checkKind(Kind wanted, std::string_view question) const;
  template <class T> Result<T> ask(hsa_executable_symbol_info_t attribute) const;
  template <class T> Result<T> askKernel(hsa_executable_symbol_info_t attribute, std::string_view question) const;
};

std::string_view toString(ExecutableSymbol::Kind kind);

} // namespace luthier::hsa
