// Options from a file (`-i FILE`): JSON with the names of the command line.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace luthier::cli {

/// Sets those options of `command` that the file has and the command line does not. Keys are long names without the
/// dashes ("output-directory", or "output_directory"), values text, numbers, true, or a list of them; "NAME.option" is
/// an option of a tool. Throws CLI11's errors, and checks what options need of each other.
void applyInputFile(CLI::App &command, const std::string &path,
                    std::map<std::string, std::optional<std::string>> &toolOptions);

} // namespace luthier::cli
