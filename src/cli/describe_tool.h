// What tools say about themselves. They are loaded into this process for that: runtime/tool_description.h says how.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/tool_files.h"
#include "support/result.h"

namespace luthier::cli {

struct ToolDescription {
  struct Option {
    std::string name, byDefault, help;
  };
  std::string text; // one line; may be empty
  std::vector<Option> options;
};

/// The one line alone: nothing of the tool's is called but the constructors of its static objects.
Result<std::string> describeInOneLine(const std::filesystem::path &runtime, const ToolFile &tool);

/// Makes the tool, as in an application.
Result<ToolDescription> describeTool(const std::filesystem::path &runtime, const ToolFile &tool);

} // namespace luthier::cli
