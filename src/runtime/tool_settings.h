// What the user asked of tools, handed from `luthier run` to the library inside the application through the
// environment.
#pragma once

#include "report/format.h"
#include "rewrite/hook_form.h"
#include "support/result.h"
#include "support/value_type.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace luthier::runtime {

using report::Format;

/// A report: in this format, to this file; empty: stderr.
struct Output {
  Format format = Format::Text;
  std::string file;
  bool operator==(const Output &) const = default;
};

struct ToolSettings {
  std::vector<std::string> tools; ///< LUTHIER_TOOLS: paths of shared libraries, absolute, separated by ':'
  /// LUTHIER_TOOL_OPTIONS: "NAME.option=value", one per line; NAME is the library's without "lib" and ".so". Keys are
  /// "NAME.option".
  std::map<std::string, std::string> options;
  /// LUTHIER_TOOL_OUTPUT: a file, absolute; empty: stderr. The variable may hold the keys of support/expand_keys.h,
  /// which each process replaces for itself: fromEnvironment gives the name of this process's file.
  std::string output;
  /// LUTHIER_TOOL_OUTPUT_BASE, in place of LUTHIER_TOOL_OUTPUT: the same without the extension, which each format adds.
  /// Folders that are missing are made.
  std::string outputBase;
  std::vector<Format> formats = {Format::Text}; ///< LUTHIER_TOOL_FORMAT: names, separated by commas
  std::string kernelInclude, kernelExclude;     ///< LUTHIER_KERNEL_INCLUDE, LUTHIER_KERNEL_EXCLUDE: extended regexes
  bool runtimeKernels = false;                  ///< LUTHIER_RUNTIME_KERNELS: kernels of HIP's own are instrumented too
  uint64_t firstIteration = 1;                  ///< LUTHIER_KERNEL_ITERATIONS: "A-B", launches of each kernel, from 1
  uint64_t lastIteration = UINT64_MAX;
  std::string hookOutput;       ///< LUTHIER_HOOK_OUTPUT: a file for what hooks print, as `output`; empty: stdout
  uint32_t hostcallPackets = 0; ///< LUTHIER_HOSTCALL_PACKETS: per queue, for hooks that call the host; 0: as needed
  rewrite::HookForm hookForm = rewrite::HookForm::Auto; ///< LUTHIER_HOOK_FORM: auto, inline, shared
  bool strict = false; ///< LUTHIER_STRICT: what cannot be instrumented ends the application with an error

  static Result<ToolSettings> fromEnvironment();
  /// The variables that say this. All of them, empty where there is nothing to say: an application may start another
  /// `luthier run`, whose tools must not inherit.
  std::map<std::string, std::string> toEnvironment() const;

  /// Whether it can be said in the environment and makes sense: tools have absolute paths and names of their own,
  /// options belong to them, regexes compile, iterations are a range.
  Result<void> validate() const;

  /// The reports that are wanted: one for each format.
  std::vector<Output> outputs() const;
};

/// "text,html": formats of reports, each once.
Result<std::vector<Format>> parseFormats(std::string_view text, std::string_view what);

/// An option that a tool has declared.
struct ToolOption {
  std::string tool, name;
  ValueType type;
  std::string byDefault, help;
};

/// What a tool gets for an option: the user's value, or the default if there is none or it is of another type.
std::string valueOf(const ToolOption &option, const std::map<std::string, std::string> &options);

/// Whether the tool has all options that are given for it ("NAME.option"), and their values are of the declared types.
/// `declared` may have options of other tools.
Result<void> checkToolOptions(const std::string &tool, const std::vector<ToolOption> &declared,
                              const std::map<std::string, std::string> &options);

/// What `luthier run --trace` and LUTHIER_TRACE ask for.
struct TraceParts {
  bool api = false, code = false, queues = false, packets = false;
  bool any() const { return api || code || queues || packets; }
};
/// A list of: hsa, or its parts api, code, queues, packets. `what` names it in the error.
Result<TraceParts> parseTraceParts(std::string_view text, std::string_view what);

/// "instr_count" for ".../libinstr_count.so".
std::string toolName(std::string_view path);

/// "3", "3-7" or "3-" (to the last).
Result<std::pair<uint64_t, uint64_t>> parseIterations(std::string_view text);

/// An extended regular expression as regcomp(3) takes it; `what` names it in the error.
Result<void> checkRegex(const std::string &text, std::string_view what);

} // namespace luthier::runtime
