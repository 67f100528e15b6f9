// `luthier isa`: what is known about instruction sets.
//
// `luthier isa coverage TARGET` measures the virtual GPU's instruction table against LLVM's; `luthier isa fidelity
// TARGET` says of each instruction how surely it does what the hardware does.

#include <algorithm>
#include <iostream>
#include <map>

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
#include "vgpu/fidelity.h"

namespace luthier::cli {

namespace {

struct IsaOptions {
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

constexpr vgpu::Fidelity kFidelities[] = {vgpu::Fidelity::Exact, vgpu::Fidelity::Documented, vgpu::Fidelity::Chosen,
                                          vgpu::Fidelity::Refused};

size_t countOf(const std::vector<vgpu::OpcodeFidelity> &opcodes, vgpu::Fidelity fidelity) {
  return static_cast<size_t>(std::ranges::count(opcodes, fidelity, &vgpu::OpcodeFidelity::fidelity));
}

std::string_view meaningOf(vgpu::Fidelity fidelity) {
  switch (fidelity) {
  case vgpu::Fidelity::Exact:
    return "the manual or IEEE 754 defines every bit, payloads of NaNs excepted, and tests check it";
  case vgpu::Fidelity::Documented:
    return "follows a rule or a tolerance that is written down; the hardware may differ in the last bits or in details";
  case vgpu::Fidelity::Chosen:
    return "the manual is silent or contradicts itself; this is our choice";
  case vgpu::Fidelity::Refused:
    return "stops the dispatch";
  }
  return "";
}

std::string asText(std::string_view target, const std::vector<vgpu::OpcodeFidelity> &opcodes) {
  std::string text = fmt::format("{}: {} opcodes:", target, opcodes.size());
  for (const vgpu::Fidelity fidelity : kFidelities)
    text += fmt::format(" {} {}{}", countOf(opcodes, fidelity), vgpu::nameOf(fidelity),
                        fidelity == vgpu::Fidelity::Refused ? "\n" : ",");
  for (const vgpu::Fidelity fidelity : kFidelities) {
    text += fmt::format("\n{} ({}): {}\n", vgpu::nameOf(fidelity), countOf(opcodes, fidelity), meaningOf(fidelity));
    std::map<std::string_view, std::vector<std::string>> byReason;
    for (const vgpu::OpcodeFidelity &opcode : opcodes)
      if (opcode.fidelity == fidelity)
        byReason[opcode.reason].push_back(opcode.mnemonic);
    for (const auto &[reason, names] : byReason)
      text += (reason.empty() ? "" : fmt::format("  {}:\n", reason)) + wrapped(names);
  }
  return text;
}

std::string asJson(std::string_view target, const std::vector<vgpu::OpcodeFidelity> &opcodes) {
  nlohmann::ordered_json json = {{"target", target}};
  for (const vgpu::Fidelity fidelity : kFidelities)
    json[std::string(vgpu::nameOf(fidelity))] = countOf(opcodes, fidelity);
  json["opcodes"] = nlohmann::ordered_json::object();
  for (const vgpu::OpcodeFidelity &opcode : opcodes) {
    auto &entry = json["opcodes"][opcode.mnemonic] = {{"fidelity", vgpu::nameOf(opcode.fidelity)}};
    if (!opcode.reason.empty())
      entry["reason"] = opcode.reason;
  }
  return json.dump(2) + "\n";
}

/// Prints what `measure` says of the target; `status` makes the exit status of it.
template <class Measure, class Status> int print(const IsaOptions &options, Measure measure, Status status) {
  const Result<const isa::Target *> target = isa::findVirtualTarget(options.target);
  if (!target) {
    log::error("{}", target.error().message());
    return exitUsage;
  }
  const auto measured = measure(**target);
  if (!measured) {
    log::error("{}", measured.error().message());
    return exitFailure;
  }
  std::cout << (options.json ? asJson((*target)->name, *measured) : asText((*target)->name, *measured));
  return status(*measured);
}

int printCoverage(const IsaOptions &options) {
  return print(options, vgpu::coverage,
               [](const vgpu::Coverage &coverage) { return coverage.complete() ? exitSuccess : exitFailure; });
}

int printFidelity(const IsaOptions &options) {
  return print(options, vgpu::fidelity, [](const std::vector<vgpu::OpcodeFidelity> &) { return exitSuccess; });
}

/// A subcommand about a target of the virtual GPU.
CLI::App *addTargetCommand(CLI::App &command, Invocation &invocation, std::string name, std::string description,
                           int (*run)(const IsaOptions &)) {
  CLI::App *added = command.add_subcommand(std::move(name), std::move(description));
  auto options = std::make_shared<IsaOptions>();
  added->add_option("TARGET", options->target, fmt::format("One of: {}", fmt::join(isa::virtualTargets(), ", ")))
      ->required()
      ->type_name("");
  addFlag(*added, "--json", options->json, "Print JSON");
  added->callback([options, run, &invocation] { invocation.exitStatus = run(*options); });
  return added;
}

} // namespace

void addIsaCommand(CLI::App &root, Invocation &invocation) {
  CLI::App *command = root.add_subcommand("isa", "Show facts about instruction sets");
  command->require_subcommand(1);
  addTargetCommand(*command, invocation, "coverage",
                   "Show how much of a target's instruction set the virtual GPU implements", printCoverage)
      ->footer(
          "The opcodes are those that LLVM encodes for TARGET. Exits with status 0 if all but the graphics opcodes "
          "are\nimplemented, with 1 if not, and with 2 for an unknown TARGET.");
  addTargetCommand(*command, invocation, "fidelity",
                   "Show how faithfully the virtual GPU reproduces each instruction of a target", printFidelity)
      ->footer(
          "Each opcode that LLVM encodes for TARGET is exact, documented, chosen or refused; all but the first with "
          "the\nreason. `luthier run --stats` says which of the executed instructions are not exact.");
}

} // namespace luthier::cli
