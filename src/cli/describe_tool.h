// What tools say about themselves. runtime/tool_description.h says how they are asked.
//
// It happens in a child process: a file that crashes, exits or prints when it is loaded does so there, and `luthier`
// can say what is wrong with it before it starts an application.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/tool_files.h"
#include "runtime/tool_settings.h"
#include "support/result.h"

namespace luthier::cli {

struct ToolDescription {
  std::string text; // one line; may be empty
  std::vector<runtime::ToolOption> options;
  std::string threw; // by its constructor: the options are not known
};

/// The one line alone: nothing of the tool's is called but the constructors of its static objects.
Result<std::string> describeInOneLine(const std::filesystem::path &runtime, const ToolFile &tool);

/// Makes the tool, as in an application. An error if the file is not a tool that can be loaded.
Result<ToolDescription> describeTool(const std::filesystem::path &runtime, const ToolFile &tool);

} // namespace luthier::cli
