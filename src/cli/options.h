// Options that several commands have, declared once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/code_file.h"

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace luthier::cli {

/// A number in [least, most], of which CLI11 would take -1 for the largest and 010 for 8.
CLI::Option *addNumber(CLI::App &command, const std::string &name, std::optional<uint64_t> &number, uint64_t least,
                       uint64_t most, const std::string &help);

/// FILE, --target and --object.
void addCodeFile(CLI::App &command, CodeFile &file);

} // namespace luthier::cli
