// `luthier cfg FILE --kernel NAME`: the basic blocks of a function and the ways between them, as text, JSON or a
// drawing.

#include <iostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/program.h"
#include "cli/code_file.h"
#include "cli/command.h"
#include "cli/graphviz.h"
#include "cli/listing.h"
#include "cli/options.h"
#include "support/demangle.h"
#include "support/log.h"

namespace luthier::cli {

namespace {

using analysis::Block;
using analysis::Cfg;
using analysis::Edge;
using analysis::EdgeKind;
using nlohmann::ordered_json;

struct CfgOptions {
  CodeFile file;
  std::string kernel, function, output;
  bool json = false;
};

std::string_view nameOf(EdgeKind kind) {
  switch (kind) {
  case EdgeKind::Fallthrough:
    return "fallthrough";
  case EdgeKind::Taken:
    return "taken";
  case EdgeKind::Both:
    return "both";
  case EdgeKind::Indirect:
    return "indirect";
  }
  return "taken";
}

std::string asText(const analysis::Function &function, const Listing &listing, const std::string &target) {
  const Cfg &cfg = function.cfg();
  std::string text = fmt::format("{} ({}): {} instructions, {} blocks, {} edges\n", demangle(function.symbol().name),
                                 target, cfg.instrs().size(), cfg.blocks().size(), cfg.edges().size());
  for (uint32_t n = 0; n < cfg.blocks().size(); ++n) {
    const Block &block = cfg.blocks()[n];
    text += fmt::format("  {:<6} {:>8x}  {:>5} instructions", Listing::label(n), cfg.start(block), block.count);
    for (const Edge &edge : cfg.successors(block))
      text += fmt::format("  -> {} ({})", Listing::label(edge.to), nameOf(edge.kind));
    const std::string remark = listing.remark(block);
    if (block.exit == analysis::Exit::End)
      text += "  ends the program";
    else if (!remark.empty())
      text += "  " + remark;
    if (!block.reachable)
      text += "  (unreachable)";
    text += "\n";
  }
  return text;
}

std::string asDot(const analysis::Function &function, const Listing &listing) {
  const Cfg &cfg = function.cfg();
  std::string dot = fmt::format("digraph {{\n  label={};\n  labelloc=t;\n  fontname=\"monospace\";\n"
                                "  node [shape=box, fontname=\"monospace\", fontsize=10];\n"
                                "  edge [fontname=\"monospace\", fontsize=9];\n",
                                dotQuoted(demangle(function.symbol().name)));
  for (uint32_t n = 0; n < cfg.blocks().size(); ++n) {
    const Block &block = cfg.blocks()[n];
    std::string label = fmt::format("{}  {:#x}\n", Listing::label(n), cfg.start(block));
    for (const Instr &instr : cfg.instrs(block))
      label += listing.text(instr) + "\n";
    if (const std::string remark = listing.remark(block); !remark.empty())
      label += "; " + remark + "\n";
    dot += fmt::format("  {} [label={}{}{}];\n", Listing::label(n), dotQuoted(label), n == 0 ? ", penwidth=2" : "",
                       block.reachable ? "" : ", style=dashed");
  }
  for (const Edge &edge : cfg.edges()) {
    std::string_view style;
    switch (edge.kind) {
    case EdgeKind::Fallthrough:
      break;
    case EdgeKind::Taken:
      style = " [color=blue]";
      break;
    case EdgeKind::Both:
      style = " [color=blue, label=both]";
      break;
    case EdgeKind::Indirect:
      style = " [style=dashed]";
      break;
    }
    dot += fmt::format("  {} -> {}{};\n", Listing::label(edge.from), Listing::label(edge.to), style);
  }
  return dot + "}\n";
}

std::string asJson(const analysis::Function &function, const Listing &listing, const SelectedFunction &selected) {
  const Cfg &cfg = function.cfg();
  ordered_json json = {{"name", function.symbol().name},        {"demangled", demangle(function.symbol().name)},
                       {"target", selected.object->targetId()}, {"object", selected.number},
                       {"instructions", cfg.instrs().size()},   {"blocks", ordered_json::array()},
                       {"edges", ordered_json::array()}};
  for (uint32_t n = 0; n < cfg.blocks().size(); ++n) {
    const Block &block = cfg.blocks()[n];
    ordered_json row = {{"label", Listing::label(n)},
                        {"address", cfg.start(block)},
                        {"instructions", block.count},
                        {"reachable", block.reachable},
                        {"exit", analysis::toString(block.exit)}};
    if (const std::string remark = listing.remark(block); !remark.empty())
      row["remark"] = remark;
    json["blocks"].push_back(std::move(row));
  }
  for (const Edge &edge : cfg.edges())
    json["edges"].push_back(
        {{"from", Listing::label(edge.from)}, {"to", Listing::label(edge.to)}, {"kind", nameOf(edge.kind)}});
  return json.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Result<void> printCfg(const CfgOptions &options) {
  const bool kernel = !options.kernel.empty();
  const SelectedFunction selected =
      LUTHIER_TRY(selectFunction(options.file, kernel ? options.kernel : options.function,
                                 kernel ? FunctionKind::Kernel : FunctionKind::DeviceFunction));
  const auto program = LUTHIER_TRY(analysis::Program::create(*selected.object));
  const analysis::Function &function = *LUTHIER_TRY(program->function(*selected.symbol));
  const Listing listing(*program, function, *LUTHIER_TRY(program->decoder(*selected.symbol)));
  if (!options.output.empty())
    LUTHIER_TRY(writeGraph(asDot(function, listing), options.output));
  if (options.json)
    std::cout << asJson(function, listing, selected);
  else if (options.output.empty())
    std::cout << asText(function, listing, selected.object->targetId());
  return {};
}

} // namespace

void addCfgCommand(CLI::App &root, Invocation &invocation) {
  CLI::App *command = root.add_subcommand("cfg", "Show the control flow of a kernel or device function");
  auto options = std::make_shared<CfgOptions>();
  addCodeFile(*command, options->file);
  CLI::Option_group *which = command->add_option_group("function");
  which->add_option("--kernel", options->kernel, "The kernel: its name, or a part of it")
      ->type_name("NAME")
      ->check(notEmpty);
  which->add_option("--function", options->function, "The device function")->type_name("NAME")->check(notEmpty);
  which->require_option(1);
  command->add_option("-o", options->output, "Write a graph: .dot, or drawn by Graphviz as .svg, .png, .pdf")
      ->type_name("FILE")
      ->check(notEmpty);
  addFlag(*command, "--json", options->json, "Print JSON");
  command->callback([options, &invocation] {
    const Result<void> done = printCfg(*options);
    if (!done)
      log::error("{}", done.error().message());
    invocation.exitStatus = done ? exitSuccess : exitFailure;
  });
}

} // namespace luthier::cli
