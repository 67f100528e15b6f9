#include "hsa/executable_symbol.h"

#include "hsa/calls.h"
#include "hsa/executable.h"
#include "luthier/hsa_ext.h"

namespace luthier::hsa {

namespace {

constexpr ApiId kSymbolInfo = ApiId::hsa_executable_symbol_get_info;
constexpr std::string_view kDescriptorSuffix = ".kd";

} // namespace

std::string_view toString(ExecutableSymbol::Kind kind) {
  switch (kind) {
  case ExecutableSymbol::Kind::Kernel:
    return "kernel";
  case ExecutableSymbol::Kind::Variable:
    return "variable";
  case ExecutableSymbol::Kind::DeviceFunction:
    return "device function";
  }
  return "unknown";
}

template <class T> Result<T> ExecutableSymbol::ask(unsigned attribute) const {
  LUTHIER_TRY(check("asking"));
  T value{};
  LUTHIER_TRY(callReplaced<kSymbolInfo>(raw_, static_cast<hsa_executable_symbol_info_t>(attribute),
                                        static_cast<void *>(&value)));
  return value;
}

template <class T> Result<T> ExecutableSymbol::askKernel(unsigned attribute, std::string_view question) const {
  LUTHIER_TRY(checkKind(Kind::Kernel, question));
  return ask<T>(attribute);
}

Result<void> ExecutableSymbol::checkKind(Kind wanted, std::string_view question) const {
  const Kind is = LUTHIER_TRY(kind());
  if (is != wanted)
    return makeErrorCode(HSA_STATUS_ERROR_INVALID_ARGUMENT, "{} is a {} and has no {}", LUTHIER_TRY(name()),
                         toString(is), question);
  return {};
}

Result<ExecutableSymbol::Kind> ExecutableSymbol::kind() const {
  switch (const auto raw = LUTHIER_TRY(ask<hsa_symbol_kind_t>(HSA_EXECUTABLE_SYMBOL_INFO_TYPE))) {
  case HSA_SYMBOL_KIND_KERNEL:
    return Kind::Kernel;
  case HSA_SYMBOL_KIND_VARIABLE:
    return Kind::Variable;
  case HSA_SYMBOL_KIND_INDIRECT_FUNCTION:
    return Kind::DeviceFunction;
  default:
    return makeError("a symbol of the unknown kind {}", static_cast<int>(raw));
  }
}

Result<std::string> ExecutableSymbol::name() const {
  const auto length = LUTHIER_TRY(ask<uint32_t>(HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH));
  std::string text(length, '\0');
  LUTHIER_TRY(callReplaced<kSymbolInfo>(raw_, HSA_EXECUTABLE_SYMBOL_INFO_NAME, static_cast<void *>(text.data())));
  return text;
}

Result<Agent> ExecutableSymbol::agent() const {
  return Agent(LUTHIER_TRY(ask<hsa_agent_t>(HSA_EXECUTABLE_SYMBOL_INFO_AGENT)));
}

Result<uint64_t> ExecutableSymbol::address() const {
  switch (LUTHIER_TRY(kind())) {
  case Kind::Kernel:
    return ask<uint64_t>(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
  case Kind::Variable:
    return ask<uint64_t>(HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS);
  case Kind::DeviceFunction:
    break;
  }
  return ask<uint64_t>(HSA_EXECUTABLE_SYMBOL_INFO_INDIRECT_FUNCTION_OBJECT);
}

Result<uint64_t> ExecutableSymbol::size() const {
  switch (LUTHIER_TRY(kind())) {
  case Kind::Kernel:
    return object::KernelDescriptor::kBytes;
  case Kind::Variable:
    return uint64_t{LUTHIER_TRY(ask<uint32_t>(HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE))};
  case Kind::DeviceFunction:
    break;
  }
  return ask<uint64_t>(LUTHIER_EXECUTABLE_SYMBOL_INFO_FUNCTION_SIZE);
}

Result<LoadedCodeObject> ExecutableSymbol::loadedCodeObject() const {
  return LoadedCodeObject::containing(LUTHIER_TRY(address()));
}

Result<Executable> ExecutableSymbol::executable() const { return Executable::containing(LUTHIER_TRY(address())); }

Result<std::string> ExecutableSymbol::kernelName() const {
  LUTHIER_TRY(checkKind(Kind::Kernel, "kernel name"));
  std::string text = LUTHIER_TRY(name());
  if (text.ends_with(kDescriptorSuffix))
    text.resize(text.size() - kDescriptorSuffix.size());
  return text;
}

Result<uint64_t> ExecutableSymbol::kernelObject() const {
  return askKernel<uint64_t>(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, "kernel object");
}

Result<uint32_t> ExecutableSymbol::kernargSize() const {
  return askKernel<uint32_t>(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, "kernel arguments");
}

Result<uint32_t> ExecutableSymbol::groupSegmentSize() const {
  return askKernel<uint32_t>(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, "group segment");
}

Result<uint32_t> ExecutableSymbol::privateSegmentSize() const {
  return askKernel<uint32_t>(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, "private segment");
}

Result<object::KernelDescriptor> ExecutableSymbol::kernelDescriptor() const {
  std::array<std::byte, object::KernelDescriptor::kBytes> bytes;
  const uint64_t object = LUTHIER_TRY(kernelObject());
  LUTHIER_TRY(copyMemory(bytes.data(), reinterpret_cast<const void *>(object), bytes.size()));
  return object::KernelDescriptor::read(bytes);
}

Result<std::vector<ExecutableSymbol>> ExecutableSymbol::callees() const {
  const auto count = LUTHIER_TRY(askKernel<uint32_t>(LUTHIER_EXECUTABLE_SYMBOL_INFO_KERNEL_CALLEE_COUNT, "callees"));
  std::vector<hsa_executable_symbol_t> handles(count);
  if (count == 0)
    return std::vector<ExecutableSymbol>();
  LUTHIER_TRY(callReplaced<kSymbolInfo>(
      raw_, static_cast<hsa_executable_symbol_info_t>(LUTHIER_EXECUTABLE_SYMBOL_INFO_KERNEL_CALLEES),
      static_cast<void *>(handles.data())));
  return std::vector<ExecutableSymbol>(handles.begin(), handles.end());
}

} // namespace luthier::hsa
