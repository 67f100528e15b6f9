// The environment variables of Luthier whose values can be checked one by one, declared once: where they are read and
// where `luthier run` checks them before it starts an application is the same declaration.
//
// Variables that hold more than one value (lists, regular expressions, options of tools) are checked by the code that
// parses them; runtime/tool_settings.h has most of these.
#pragma once

#include "support/env.h"
#include "support/value_type.h"

#include <span>

namespace luthier::env {

struct Variable {
  const char *name;
  ValueType::Kind kind;
  uint64_t least = 0, most = std::numeric_limits<uint64_t>::max(); ///< of a Number
  std::span<const std::string_view> choices = {};                  ///< of a Choice
};

inline constexpr std::string_view kLogLevels[] = {"error", "warn", "info", "debug"}; // as in log::Level
inline constexpr std::string_view kCpuLevels[] = {"base", "avx2", "avx512"};
inline constexpr std::string_view kHookForms[] = {"auto", "inline", "shared"}; // as in rewrite::HookForm
inline constexpr std::string_view kTranslatePolicies[] = {"0", "1", "always"};

inline constexpr Variable kLog{"LUTHIER_LOG", ValueType::Kind::Choice, 0, 0, kLogLevels};
inline constexpr Variable kCpu{"LUTHIER_VGPU_CPU", ValueType::Kind::Choice, 0, 0, kCpuLevels};
inline constexpr Variable kTranslate{"LUTHIER_VGPU_TRANSLATE", ValueType::Kind::Choice, 0, 0, kTranslatePolicies};
inline constexpr Variable kThreads{"LUTHIER_VGPU_THREADS", ValueType::Kind::Number, 0, 1024};
inline constexpr Variable kStrictWaits{"LUTHIER_VGPU_STRICT_WAITS", ValueType::Kind::Flag};
inline constexpr Variable kPoisonDead{"LUTHIER_VGPU_POISON_DEAD", ValueType::Kind::Number};
inline constexpr Variable kStrictResources{"LUTHIER_VGPU_STRICT_RESOURCES", ValueType::Kind::Number};
inline constexpr Variable kStrictL1{"LUTHIER_VGPU_STRICT_L1", ValueType::Kind::Flag};
inline constexpr Variable kHangReport{"LUTHIER_VGPU_HANG_REPORT", ValueType::Kind::Number, 0, 1'000'000};
inline constexpr Variable kTraceSums{"LUTHIER_VGPU_TRACE_SUMS", ValueType::Kind::Flag};
inline constexpr Variable kStats{"LUTHIER_VGPU_STATS", ValueType::Kind::OutputFile};
inline constexpr Variable kVgpuTrace{"LUTHIER_VGPU_TRACE", ValueType::Kind::OutputFile};
inline constexpr Variable kCheckLeaks{"LUTHIER_CHECK_LEAKS", ValueType::Kind::Flag};
inline constexpr Variable kCheckInitStores{"LUTHIER_CHECK_INIT_STORES", ValueType::Kind::Flag};
inline constexpr Variable kCheckQuarantine{"LUTHIER_CHECK_QUARANTINE", ValueType::Kind::Number, 0, 1u << 20};
inline constexpr Variable kProgress{"LUTHIER_PROGRESS", ValueType::Kind::Flag};
inline constexpr Variable kChildren{"LUTHIER_CHILDREN", ValueType::Kind::Flag};
inline constexpr Variable kHookForm{"LUTHIER_HOOK_FORM", ValueType::Kind::Choice, 0, 0, kHookForms};
inline constexpr Variable kTraceFile{"LUTHIER_TRACE_FILE", ValueType::Kind::OutputFile};

inline constexpr const Variable *kVariables[] = {
    &kLog,      &kCpu,       &kTranslate,  &kThreads,         &kStrictWaits,    &kPoisonDead, &kStrictResources,
    &kStrictL1, &kTraceSums, &kStats,      &kHangReport,      &kVgpuTrace,      &kTraceFile,  &kProgress,
    &kChildren, &kHookForm,  &kCheckLeaks, &kCheckQuarantine, &kCheckInitStores};

/// Set by `luthier check`: the folder that findings are recorded in (check/records.h).
inline constexpr const char *kCheckRecords = "LUTHIER_CHECK_RECORDS";
/// Also set by it: what to check, names separated by commas (check/checks.h).
inline constexpr const char *kChecks = "LUTHIER_CHECKS";

// Of the kinds that the names say.
Result<uint64_t> number(const Variable &variable, uint64_t fallback);
Result<bool> flag(const Variable &variable, bool fallback);
Result<size_t> choice(const Variable &variable, size_t fallback);
/// The name with its keys replaced; nothing if the variable is unset.
Result<std::optional<std::string>> outputFile(const Variable &variable);

/// Whether its value, if it has one, is of its kind.
Result<void> check(const Variable &variable);

} // namespace luthier::env
