// `luthier isa`: what is known about instruction sets.
//
// `luthier isa coverage TARGET` measures the virtual GPU's instruction table against LLVM's.

#include <iostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/launch.h"
#include "cli/options.h"
#include "isa/target.h"
#include "support/log.h"
#include "vgpu/coverage.h"

namespace luthier::cli {

namespace {

struct CoverageOptions {
  std::string target;
  bool json = false;
};

/// Names in lines of at most 100 characters, indented.
std::string wrapped(const std::vector<std::string> &names) {
  std::string text, line;
  for (const std::string &name : names) {
    if (!line.empty() && line.size() + name.size() + 2 > 96) {
      text += "    " + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : "  ") + name;
  }
  return line.empty() ? text : text + "    " + line + "\n";
}

std::string asText(std::string_view target, const vgpu::Coverage &coverage) {
  const double percent = coverage.compute() ? 100.0 * static_cast<double>(coverage.implemented.size()) /
                                                  static_cast<double>(coverage.compute())
                                            : 0.0;
  std::string text = fmt::format("{}: {} of {} compute opcodes implemented ({:.1f}%)\n", target,
                                 coverage.implemented.size(), coverage.compute(), percent);
  text += fmt::format("LLVM has {} encodings of these and the graphics opcodes; found by probing {} bit patterns\n",
                      coverage.forms, coverage.probes);
  text += fmt::format("\nmissing: {}\n{}", coverage.missing.size(), wrapped(coverage.missing));
  text += "\ngraphics, not counted:\n";
  for (const auto &group : coverage.graphics)
    text +=
        fmt::format("  {} ({}): {}\n{}", group.name, group.mnemonics.size(), group.reason, wrapped(group.mnemonics));
  return text;
}

std::string asJson(std::string_view target, const vgpu::Coverage &coverage) {
  nlohmann::ordered_json json = {{"target", target},
                                 {"compute", coverage.compute()},
                                 {"implemented", coverage.implemented.size()},
                                 {"missing", coverage.missing},
                                 {"encodings", coverage.forms},
                                 {"probes", coverage.probes},
                                 {"graphics", nlohmann::ordered_json::array()}};
  for (const auto &group : coverage.graphics)
    json["graphics"].push_back({{"group", group.name}, {"reason", group.reason}, {"opcodes", group.mnemonics}});
  return json.dump(2) + "\n";
}

int printCoverage(const CoverageOptions &options) {
  const Result<const isa::Target *> found = isa::findVirtualTarget(options.target);
  if (!found) {
    log::error("{}", found.error().message());
    return exitUsage;
  }
  const isa::Target *target = *found;
  const Result<vgpu::Coverage> coverage = vgpu::coverage(*target);
  if (!coverage) {
    log::error("{}", coverage.error().message());
    return exitFailure;
  }
  std::cout << (options.json ? asJson(target->name, *coverage) : asText(target->name, *coverage));
  return coverage->complete() ? exitSuccess : exitFailure;
}

} // namespace

void addIsaCommand(CLI::App &root, Invocation &invocation) {
  CLI::App *command = root.add_subcommand("isa", "Show facts about instruction sets");
  command->require_subcommand(1);
  CLI::App *coverage =
      command->add_subcommand("coverage", "Show how much of a target's instruction set the virtual GPU implements");
  auto options = std::make_shared<CoverageOptions>();
  coverage->add_option("TARGET", options->target, fmt::format("One of: {}", fmt::join(isa::virtualTargets(), ", ")))
      ->required()
      ->type_name("");
  addFlag(*coverage, "--json", options->json, "Print JSON");
  coverage->footer(
      "The opcodes are those that LLVM encodes for TARGET. Exits with status 0 if all but the graphics opcodes "
      "are\nimplemented, with 1 if not, and with 2 for an unknown TARGET.");
  coverage->callback([options, &invocation] { invocation.exitStatus = printCoverage(*options); });
}

} // namespace luthier::cli
