#include "hsa/executable.h"

#include "hsa/calls.h"

namespace luthier::hsa {

namespace {
constexpr ApiId kExecutableInfo = ApiId::hsa_executable_get_info;

void *pointer(uint64_t address) { return reinterpret_cast<void *>(address); }
} // namespace

Result<OwnedExecutable> Executable::create(hsa_profile_t profile, hsa_default_float_rounding_mode_t rounding) {
  hsa_executable_t executable = {};
  LUTHIER_TRY(call<ApiId::hsa_executable_create_alt>(profile, rounding, nullptr, &executable));
  return OwnedExecutable(Executable(executable));
}

Result<void> Executable::destroy() const {
  LUTHIER_TRY(check("destroying"));
  noteDestruction();
  return call<ApiId::hsa_executable_destroy>(raw_);
}

void Executable::noteDestruction() const {
  if constexpr (lifetime::kChecked) {
    if (!alive())
      return;
    for (const LoadedCodeObject &object : loadedCodeObjects().value_or(std::vector<LoadedCodeObject>()))
      lifetime::noteDestruction(object.value());
    auto noteAll = [](const Result<std::vector<ExecutableSymbol>> &symbols) {
      if (symbols)
        for (const ExecutableSymbol &symbol : *symbols)
          lifetime::noteDestruction(symbol.value());
    };
    for (const Agent agent : Agent::all().value_or(std::vector<Agent>()))
      noteAll(symbols(agent));
    noteAll(programSymbols());
    lifetime::noteDestruction(value());
  }
}

Result<std::vector<Executable>> Executable::all() {
  return collect<Executable, ApiId::hsa_ven_amd_loader_iterate_executables>();
}

Result<Executable> Executable::containing(uint64_t address) {
  hsa_executable_t executable = {};
  if (auto found =
          call<ApiId::hsa_ven_amd_loader_query_executable>(static_cast<const void *>(pointer(address)), &executable);
      !found)
    return found.error().withContext(fmt::format("no executable has {:#x}", address));
  return Executable(executable);
}

Result<LoadedCodeObject> Executable::load(Agent agent, CodeObjectReader reader) const {
  if (!reader.alive())
    return makeError("loading from a destroyed code object reader ({:#x}) is refused", reader.value());
  hsa_loaded_code_object_t object = {};
  LUTHIER_TRY(invoke<ApiId::hsa_executable_load_agent_code_object>(agent.raw(), reader.raw(), nullptr, &object));
  return LoadedCodeObject(object);
}

Result<void> Executable::defineGlobal(const std::string &name, uint64_t address) const {
  if (auto defined = invoke<ApiId::hsa_executable_global_variable_define>(name.c_str(), pointer(address)); !defined)
    return defined.error().withContext(name);
  return {};
}

Result<void> Executable::defineGlobal(Agent agent, const std::string &name, uint64_t address) const {
  if (auto defined =
          invoke<ApiId::hsa_executable_agent_global_variable_define>(agent.raw(), name.c_str(), pointer(address));
      !defined)
    return defined.error().withContext(name);
  return {};
}

Result<void> Executable::freeze() const { return invoke<ApiId::hsa_executable_freeze>(nullptr); }

Result<bool> Executable::validate() const {
  uint32_t problem = 0;
  LUTHIER_TRY(invoke<ApiId::hsa_executable_validate_alt>(nullptr, &problem));
  return problem == 0;
}

Result<hsa_profile_t> Executable::profile() const {
  return info<kExecutableInfo, hsa_profile_t>(HSA_EXECUTABLE_INFO_PROFILE);
}

Result<std::vector<LoadedCodeObject>> Executable::loadedCodeObjects() const {
  return each<LoadedCodeObject, ApiId::hsa_ven_amd_loader_executable_iterate_loaded_code_objects>();
}

Result<std::vector<ExecutableSymbol>> Executable::symbols(Agent agent) const {
  LUTHIER_TRY(check("listing symbols"));
  return collectBy<ExecutableSymbol>([&](auto visit, void *data) {
    return callReplaced<ApiId::hsa_executable_iterate_agent_symbols>(raw_, agent.raw(), visit, data);
  });
}

Result<std::vector<ExecutableSymbol>> Executable::programSymbols() const {
  return each<ExecutableSymbol, ApiId::hsa_executable_iterate_program_symbols>();
}

Result<ExecutableSymbol> Executable::symbol(const std::string &name, Agent agent) const {
  LUTHIER_TRY(check("finding a symbol"));
  const hsa_agent_t raw = agent.raw();
  hsa_executable_symbol_t symbol = {};
  if (auto found = callReplaced<ApiId::hsa_executable_get_symbol_by_name>(raw_, name.c_str(), &raw, &symbol); !found)
    return found.error().withContext(name);
  return ExecutableSymbol(symbol);
}

} // namespace luthier::hsa
