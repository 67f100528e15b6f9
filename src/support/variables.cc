#include "support/variables.h"

#include "support/expand_keys.h"

namespace luthier::env {

Result<uint64_t> number(const Variable &variable, uint64_t fallback) {
  return number(variable.name, fallback, variable.least, variable.most);
}

Result<bool> flag(const Variable &variable, bool fallback) { return flag(variable.name, fallback); }

Result<size_t> choice(const Variable &variable, size_t fallback) {
  return choice(variable.name, {variable.choices.begin(), variable.choices.end()}, fallback);
}

Result<std::optional<std::string>> outputFile(const Variable &variable) {
  const std::optional<std::string> pattern = text(variable.name);
  if (!pattern)
    return std::optional<std::string>();
  auto name = expandKeys(*pattern);
  if (!name)
    return name.error().withContext(variable.name);
  return std::optional(*std::move(name));
}

Result<void> check(const Variable &variable) {
  switch (variable.kind) {
  case ValueType::Kind::Text:
    return {};
  case ValueType::Kind::Flag:
    LUTHIER_TRY(flag(variable, false));
    return {};
  case ValueType::Kind::Number:
    LUTHIER_TRY(number(variable, 0));
    return {};
  case ValueType::Kind::Choice:
    LUTHIER_TRY(choice(variable, 0));
    return {};
  case ValueType::Kind::Addresses:
    LUTHIER_TRY(parseAddresses(variable.name, text(variable.name).value_or("")));
    return {};
  case ValueType::Kind::OutputFile:
    LUTHIER_TRY(outputFile(variable));
    return {};
  }
  return {};
}

} // namespace luthier::env
