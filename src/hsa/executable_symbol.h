// Symbols of an executable: kernels, variables, and device functions.
//
// The standard has "indirect functions" among the kinds of symbols, and ROCr leaves them out. Luthier fills the gap
// (hsa/device_functions.h): it replaces the functions that list, find and describe symbols. Those are what this class
// and Executable call for symbols, so that device functions are symbols like all others, here as for the application.
#pragma once

#include "hsa/agent.h"
#include "object/code_object.h"
#include "object/kernel_descriptor.h"

namespace luthier::hsa {

class Executable;
class LoadedCodeObject;

class ExecutableSymbol : public Handle<ExecutableSymbol, hsa_executable_symbol_t> {
public:
  static constexpr std::string_view kWhat = "executable symbol";
  using Handle::Handle;
  using Kind = object::SymbolKind;

  Result<Kind> kind() const;
  Result<std::string> name() const; ///< as HSA has it: a kernel's ends in ".kd"
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
  Result<uint32_t> groupSegmentSize() const;
  Result<uint32_t> privateSegmentSize() const;
  /// From the memory of the agent, with all that ROCr does not tell, such as a dynamic stack; there once the executable
  /// is frozen.
  Result<object::KernelDescriptor> kernelDescriptor() const;
  /// The device functions that it can call, directly or not.
  Result<std::vector<ExecutableSymbol>> callees() const;

private:
  /// ROCr answers some questions that make no sense for a symbol, with garbage.
  Result<void> checkKind(Kind wanted, std::string_view question) const;
  template <class T> Result<T> ask(unsigned attribute) const;
  template <class T> Result<T> askKernel(unsigned attribute, std::string_view question) const;
};

std::string_view toString(ExecutableSymbol::Kind kind);

} // namespace luthier::hsa
