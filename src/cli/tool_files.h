// Tools as the command sees them: where they are, and what a command line asks of them.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tool_settings.h"
#include "support/result.h"

namespace luthier::cli {

/// Folders in which tools are looked for by name: those of LUTHIER_TOOL_PATH (separated by ':'), then the
/// installation's and the build tree's. `programFolder` is where luthier itself is.
std::vector<std::filesystem::path> toolFolders(const std::filesystem::path &programFolder);

struct ToolFile {
  std::string name;
  std::filesystem::path file; // absolute
};

/// All tools of these folders, by name; where two have one name, the one that is found first.
std::vector<ToolFile> listTools(const std::vector<std::filesystem::path> &folders);

/// `tool` is a name, or the path of a shared library: whatever has a '/', or ends in .so and exists.
Result<ToolFile> findTool(const std::string &tool, const std::vector<std::filesystem::path> &folders);

/// Takes "--NAME.option=value", and "--NAME.flag" without a value, out of `arguments` (what the parser did not know).
std::map<std::string, std::optional<std::string>> takeToolOptions(std::vector<std::string> &arguments);

/// The values of a tool's options for the runtime, checked: flags without a value are on, and output files are absolute
/// and can be written, those that the user did not name included. `given` may have options of other tools.
Result<std::map<std::string, std::string>>
resolveToolOptions(const std::string &tool, const std::vector<runtime::ToolOption> &declared,
                   const std::map<std::string, std::optional<std::string>> &given);

/// The absolute path of a file of results, its keys (%pid%, ...) still in it. Whether it can be written is found out
/// now and not after a long run. What an earlier run left there is removed, so that it is not taken for a new result.
Result<std::string> prepareOutput(const std::string &file);

} // namespace luthier::cli
