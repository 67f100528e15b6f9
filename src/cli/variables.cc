#include "cli/variables.h"

#include <algorithm>

#include "runtime/tool_settings.h"
#include "support/log.h"
#include "support/suggest.h"
#include "support/variables.h"
#include "vgpu/wave/trace.h"

namespace luthier::cli {

namespace {

constexpr const char *kGpus = "LUTHIER_VGPU_GPUS";
constexpr const char *kTraceWave = "LUTHIER_VGPU_TRACE_WAVE";
constexpr const char *kTraceKernel = "LUTHIER_VGPU_TRACE_KERNEL";
constexpr const char *kTrace = "LUTHIER_TRACE";

std::vector<std::string> knownNames() {
  std::vector<std::string> names = {kGpus,           kTraceWave,         kTraceKernel, kTrace, "LUTHIER_TOOL_PATH",
                                    "LUTHIER_CACHE", env::kCheckRecords, env::kChecks};
  for (const env::Variable *variable : env::kVariables)
    names.emplace_back(variable->name);
  for (const auto &[name, value] : runtime::ToolSettings().toEnvironment())
    names.push_back(name);
  return names;
}

template <class T> Result<void> named(const char *variable, const Result<T> &parsed) {
  return parsed ? Result<void>() : parsed.error().withContext(variable);
}

} // namespace

Result<void> checkVariables(const Environment &current) {
  const std::vector<std::string> known = knownNames();
  for (const auto &[name, value] : current)
    if (name.starts_with("LUTHIER_") && std::ranges::find(known, name) == known.end())
      if (const std::string meant = closestName(name, known); !meant.empty())
        log::warn("{} is not a variable of Luthier; did you mean {}?", name, meant);
  for (const env::Variable *variable : env::kVariables)
    LUTHIER_TRY(env::check(*variable));
  if (const auto text = env::text(kGpus))
    LUTHIER_TRY(named(kGpus, parseGpuList(*text)));
  if (const auto text = env::text(kTraceWave))
    LUTHIER_TRY(named(kTraceWave, vgpu::parseWaveRange(*text)));
  if (const auto text = env::text(kTraceKernel))
    LUTHIER_TRY(runtime::checkRegex(*text, kTraceKernel));
  if (const auto text = env::text(kTrace))
    LUTHIER_TRY(runtime::parseTraceParts(*text, kTrace));
  LUTHIER_TRY(runtime::ToolSettings::fromEnvironment());
  return {};
}

} // namespace luthier::cli
