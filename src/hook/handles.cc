#include "hook/handles.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace luthier::hook {

namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)::";

/// Namespaces and the name itself.
struct QualifiedName {
  std::string space; ///< "my::own", or empty
  std::string name;
};

Result<QualifiedName> split(std::string_view what, const std::string &fullName) {
  std::string name = fullName;
  for (size_t at; (at = name.find(kAnonymous)) != std::string::npos;)
    name.erase(at, kAnonymous.size());
  if (name.find('(') != std::string::npos)
    return makeError("{} {} is overloaded, so that there can be no handle of its name: give each its own", what,
                     fullName);
  const bool plain = std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '_' || c == ':'; });
  if (!plain)
    return makeError("{} {} has a name that no handle can have", what, fullName);
  const size_t colons = name.rfind("::");
  if (colons == std::string::npos)
    return QualifiedName{"", name};
  return QualifiedName{name.substr(0, colons), name.substr(colons + 2)};
}

std::string_view kindOf(Storage storage) {
  switch (storage) {
  case Storage::Device:
    return "Device";
  case Storage::PerLaunch:
    return "PerLaunch";
  case Storage::PerWave:
    return "PerWave";
  case Storage::PerLane:
    return "PerLane";
  case Storage::Lds:
    return "Lds";
  case Storage::PerWorkgroup:
    return "PerWorkgroup";
  case Storage::PerSite:
    return "PerSite";
  }
  return {};
}

} // namespace

Result<std::string> handlesHeader(const HookModule &module) {
  std::map<std::string, std::string> spaces;
  for (const Hook &hook : module.hooks()) {
    const QualifiedName name = LUTHIER_TRY(split("hook", hook.name));
    spaces[name.space] += fmt::format("/// Runs per {}.\nconstexpr luthier::Hook<{}> {}{{&hookFile_, \"{}\"}};\n",
                                      hook.kind == HookKind::Wave ? "wave" : "lane", fmt::join(hook.hostTypes, ", "),
                                      name.name, hook.name);
  }
  for (const Variable &variable : module.variables()) {
    // Constants of the compiler's (strings, tables of a switch) are not the tool's.
    const auto name = split("variable", variable.name);
    if (!name)
      continue;
    spaces[name->space] +=
        fmt::format("constexpr luthier::Variable<{}, luthier::VariableKind::{}> {}{{&hookFile_, \"{}\"}};\n",
                    variable.hostType, kindOf(variable.storage), name->name, variable.name);
  }
  std::string text =
      fmt::format("// Written by luthier-hook-handles from {}: the handles of its hooks and variables.\n"
                  "#pragma once\n\n#include <luthier/tool.h>\n\n#include <array>\n#include <cstddef>\n"
                  "#include <cstdint>\n\n"
                  "namespace hooks {{\n\n"
                  "extern const luthier::HookFile hookFile_ __attribute__((visibility(\"hidden\")));\n\n",
                  module.origin());
  for (const auto &[space, handles] : spaces)
    text += space.empty() ? handles + "\n" : fmt::format("namespace {} {{\n{}}}\n\n", space, handles);
  return text + "} // namespace hooks\n";
}

std::string handlesSource(const HookModule &module, std::span<const std::byte> bitcode, std::string_view header) {
  std::string text = fmt::format("// Written by luthier-hook-handles: the bitcode of {}.\n#include \"{}\"\n\n"
                                 "namespace hooks {{\n\nnamespace {{\nalignas(16) const unsigned char bitcode[] = {{",
                                 module.origin(), header);
  for (size_t n = 0; n < bitcode.size(); ++n)
    text += fmt::format("{}{},", n % 32 ? "" : "\n", static_cast<unsigned>(bitcode[n]));
  return text + fmt::format("\n}};\n}} // namespace\n\nconst luthier::HookFile hookFile_ = {{\"{}\", bitcode, sizeof "
                            "bitcode}};\n\n}} // namespace hooks\n",
                            module.origin());
}

} // namespace luthier::hook
