// Options that several commands have, declared once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/code_file.h"
#include "rewrite/hook_form.h"

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace luthier::cli {

/// A number in [least, most], of which CLI11 would take -1 for the largest and 010 for 8.
CLI::Option *addNumber(CLI::App &command, const std::string &name, std::optional<uint64_t> &number, uint64_t least,
                       uint64_t most, const std::string &help);

/// One that may be given as --name, or with a value: --name=0.
CLI::Option *addFlag(CLI::App &command, const std::string &name, bool &flag, const std::string &help);

// As CLI11 wants checks: what is wrong with the value, or nothing.
std::string notEmpty(const std::string &text);
std::function<std::string(const std::string &)> oneOf(std::vector<std::string_view> names);

/// --hook-form, and what it says: empty is what LUTHIER_HOOK_FORM says, else auto.
CLI::Option *addHookForm(CLI::App &command, std::string &form);
Result<rewrite::HookForm> chooseHookForm(const std::string &form);

/// FILE, --target and --object.
void addCodeFile(CLI::App &command, CodeFile &file);

} // namespace luthier::cli
