// What the user asked of tools, handed from `luthier run` to the library inside the application through the
// environment.
#pragma once

#include "support/result.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace luthier::runtime {

enum class OutputFormat : uint8_t { Text, Csv, Json };

struct ToolSettings {
  std::vector<std::string> tools; ///< LUTHIER_TOOLS: paths of shared libraries, separated by ':'
  /// LUTHIER_TOOL_OPTIONS: "NAME.option=value", one per line; NAME is the library's without "lib" and ".so".
  std::map<std::string, std::string> options;
  std::string output;                       ///< LUTHIER_TOOL_OUTPUT: a file, absolute; empty: stderr
  OutputFormat format = OutputFormat::Text; ///< LUTHIER_TOOL_FORMAT: text, csv, json
  std::string kernelInclude, kernelExclude; ///< LUTHIER_KERNEL_INCLUDE, LUTHIER_KERNEL_EXCLUDE: extended regexes
  uint64_t firstIteration = 1;              ///< LUTHIER_KERNEL_ITERATIONS: "A-B", launches of each kernel, from 1
  uint64_t lastIteration = UINT64_MAX;
  bool strict = false; ///< LUTHIER_STRICT: what cannot be instrumented ends the application with an error

  static Result<ToolSettings> fromEnvironment();
  /// The variables that say this.
  std::map<std::string, std::string> toEnvironment() const;
};

} // namespace luthier::runtime
