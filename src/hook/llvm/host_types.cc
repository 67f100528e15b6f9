#include "hook/llvm/host_types.h"

#include "hook/llvm/llvm_support.h"
#include "hook/llvm/structures.h"

#include <fmt/format.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/DerivedTypes.h>

#include <cstdlib>
#include <string_view>

namespace luthier::hook {

namespace {

/// As the demangler spells the types that the host has too. `long` has 64 bits on both sides.
struct Spelling {
  std::string_view demangled, host;
};
constexpr Spelling kSpellings[] = {
    {"bool", "bool"},          {"char", "char"},
    {"signed char", "int8_t"}, {"unsigned char", "uint8_t"},
    {"short", "int16_t"},      {"unsigned short", "uint16_t"},
    {"int", "int32_t"},        {"unsigned int", "uint32_t"},
    {"long", "int64_t"},       {"unsigned long", "uint64_t"},
    {"long long", "int64_t"},  {"unsigned long long", "uint64_t"},
    {"float", "float"},        {"double", "double"},
    {"_Float16", "_Float16"},
};

std::string unsignedOf(uint64_t bytes) {
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 ? fmt::format("uint{}_t", 8 * bytes)
                                                              : fmt::format("std::array<std::byte, {}>", bytes);
}

/// A number or a pointer, by what bitcode knows of it.
std::string hostTypeOfScalar(const llvm::Type &type, const llvm::DataLayout &layout, std::string_view pointer) {
  if (type.isPointerTy())
    return std::string(pointer);
  if (type.isFloatTy())
    return "float";
  if (type.isDoubleTy())
    return "double";
  if (type.isHalfTy())
    return "_Float16";
  return unsignedOf(layout.getTypeAllocSize(const_cast<llvm::Type *>(&type)));
}

/// "(unsigned int, void (*)(int))" in parts; empty when the symbol is no mangled function.
std::vector<std::string> demangledParameters(const llvm::Function &function) {
  llvm::ItaniumPartialDemangler demangler;
  const std::string symbol = function.getName().str();
  if (!isMangled(symbol) || demangler.partialDemangle(symbol.c_str()) || !demangler.isFunction())
    return {};
  char *text = demangler.getFunctionParameters(nullptr, nullptr);
  if (!text)
    return {};
  const std::string list = text;
  std::free(text);
  std::vector<std::string> parts;
  if (list.size() < 2 || list == "()")
    return parts;
  int depth = 0;
  std::string part;
  for (const char c : std::string_view(list).substr(1, list.size() - 2)) {
    depth += (c == '(' || c == '<' || c == '[') - (c == ')' || c == '>' || c == ']');
    if (c == ',' && depth == 0) {
      parts.push_back(part);
      part.clear();
    } else if (c != ' ' || !part.empty()) {
      part += c;
    }
  }
  parts.push_back(part);
  return parts;
}

} // namespace

std::vector<std::string> hostTypesOfParameters(const llvm::Function &function) {
  const llvm::DataLayout &layout = function.getDataLayout();
  std::vector<std::string> spelled = demangledParameters(function);
  if (spelled.size() != function.arg_size())
    spelled.assign(function.arg_size(), std::string());
  std::vector<std::string> result;
  for (const llvm::Argument &argument : function.args()) {
    const llvm::Type &type = *argument.getType();
    if (argument.getParent()->getAttributes().hasParamAttr(argument.getArgNo(), kBytesAttribute)) {
      const llvm::Attribute bytes =
          argument.getParent()->getAttributes().getParamAttr(argument.getArgNo(), kBytesAttribute);
      result.push_back(fmt::format("std::array<std::byte, {}>", view(bytes.getValueAsString())));
      continue;
    }
    if (type.isVectorTy()) {
      const uint64_t bits = layout.getTypeSizeInBits(argument.getType()).getFixedValue();
      result.push_back(fmt::format("std::array<uint32_t, {}>", (bits + 31) / 32));
      continue;
    }
    std::string host = hostTypeOfScalar(type, layout, "const void *");
    for (const Spelling &spelling : kSpellings)
      if (spelling.demangled == spelled[argument.getArgNo()])
        host = spelling.host;
    result.push_back(std::move(host));
  }
  return result;
}

std::string hostTypeOfVariable(const llvm::Type &type, const llvm::DataLayout &layout) {
  const llvm::Type *element = &type;
  while (element->isArrayTy())
    element = element->getArrayElementType();
  const bool vector = llvm::isa<llvm::FixedVectorType>(element);
  if (vector)
    element = element->getScalarType();
  const uint64_t size = layout.getTypeAllocSize(const_cast<llvm::Type *>(&type));
  const uint64_t elementSize = layout.getTypeAllocSize(const_cast<llvm::Type *>(element));
  std::string name = element->isStructTy() ? fmt::format("std::array<std::byte, {}>", elementSize)
                                           : hostTypeOfScalar(*element, layout, "void *");
  if (!type.isArrayTy() && !vector)
    return name;
  if (elementSize == 0 || size == 0 || size % elementSize)
    return fmt::format("std::array<std::byte, {}>", size);
  return fmt::format("{}[{}]", name, size / elementSize);
}

} // namespace luthier::hook
