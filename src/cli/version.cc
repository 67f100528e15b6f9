// `luthier version`

#include <iostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.h"
#include "cli/launch.h"
#include "isa/target.h"

namespace luthier::cli {

void addVersionCommand(CLI::App &root, Invocation &invocation) {
  CLI::App *command = root.add_subcommand("version", "Print the version and the supported virtual GPUs");
  command->callback([] {
    std::cout << fmt::format("luthier {}\nvirtual GPUs: {}\n", LUTHIER_VERSION, fmt::join(isa::virtualTargets(), ", "));
  });
}

} // namespace luthier::cli
