// `luthier callgraph FILE`: which functions of a file call which, and what they may touch.

#include <iostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/callgraph.h"
#include "cli/code_file.h"
#include "cli/command.h"
#include "cli/graphviz.h"
#include "cli/options.h"
#include "support/demangle.h"
#include "support/log.h"

namespace luthier::cli {

namespace {

using analysis::CallEdge;
using analysis::CallGraph;
using analysis::CallNode;
using analysis::CallSite;
using nlohmann::ordered_json;

struct CallGraphOptions {
  CodeFile file;
  std::string output;
  bool json = false, all = false;
};

bool isKernel(const CallNode &node) { return node.symbol->kind == object::SymbolKind::Kernel; }

/// Kernels that call nothing are most of most files, and say nothing.
bool isInteresting(const CallNode &node) { return !isKernel(node) || !node.calls.empty(); }

std::string flags(const CallNode &node) {
  std::string text;
  const auto add = [&](bool set, std::string_view what) {
    if (set)
      text += (text.empty() ? "" : ", ") + std::string(what);
  };
  add(node.addressTaken, "address taken");
  add(node.recursive, "recursive");
  add(node.reachesIndirect, "reaches indirect calls");
  add(node.usesScratch, "scratch");
  add(node.usesLds, "LDS");
  return text;
}

/// Lines of what a node calls, each callee once with the number of places.
std::vector<std::string> calleesOf(const CallGraph &graph, const CallNode &node) {
  std::map<std::string, unsigned> places;
  for (uint32_t number : node.calls) {
    const CallSite &site = graph.sites()[number];
    std::string text;
    if (site.kind == CallEdge::Indirect)
      text = graph.addressTaken().empty()
                 ? "through a pointer"
                 : fmt::format("through a pointer, to one of {} functions or elsewhere", graph.addressTaken().size());
    else if (site.callee == CallGraph::kNone)
      text = fmt::format("{:#x}, where no function starts", site.target);
    else
      text = demangle(graph.nodes()[site.callee].symbol->name);
    if (site.kind == CallEdge::Tail)
      text += " (goes on there)";
    ++places[text];
  }
  std::vector<std::string> lines;
  for (const auto &[text, count] : places)
    lines.push_back(count > 1 ? fmt::format("{} ({} places)", text, count) : text);
  return lines;
}

std::string asText(const object::CodeObject &object, uint64_t number, const CallGraph &graph, bool all) {
  size_t kernels = 0, quiet = 0;
  for (const CallNode &node : graph.nodes()) {
    kernels += isKernel(node);
    quiet += !isInteresting(node);
  }
  std::string text =
      fmt::format("object {}: {} ({}): {} kernels, {} device functions, {} calls\n", number, object.targetId(),
                  object.origin(), kernels, graph.nodes().size() - kernels, graph.sites().size());
  for (const CallNode &node : graph.nodes()) {
    if (!all && !isInteresting(node))
      continue;
    const std::string notes = flags(node);
    text += fmt::format("  {} {}{}{}\n", isKernel(node) ? "kernel" : "function", demangle(node.symbol->name),
                        notes.empty() ? "" : ": ", notes);
    for (const std::string &line : calleesOf(graph, node))
      text += "    -> " + line + "\n";
  }
  if (!all && quiet)
    text += fmt::format("  {} kernels call nothing\n", quiet);
  return text;
}

ordered_json asJson(const object::CodeObject &object, uint64_t number, const CallGraph &graph) {
  ordered_json json = {{"target", object.targetId()},
                       {"object", object.origin()},
                       {"number", number},
                       {"functions", ordered_json::array()},
                       {"calls", ordered_json::array()}};
  for (const CallNode &node : graph.nodes())
    json["functions"].push_back({{"name", node.symbol->name},
                                 {"demangled", demangle(node.symbol->name)},
                                 {"kind", isKernel(node) ? "kernel" : "device_function"},
                                 {"address", node.symbol->address},
                                 {"address_taken", node.addressTaken},
                                 {"recursive", node.recursive},
                                 {"reaches_indirect_calls", node.reachesIndirect},
                                 {"uses_scratch", node.usesScratch},
                                 {"uses_lds", node.usesLds}});
  for (const CallSite &site : graph.sites()) {
    ordered_json row = {{"caller", graph.nodes()[site.caller].symbol->name},
                        {"kind", analysis::toString(site.kind)},
                        {"address", site.address}};
    if (site.kind != CallEdge::Indirect)
      row["target"] = site.target;
    if (site.callee != CallGraph::kNone)
      row["callee"] = graph.nodes()[site.callee].symbol->name;
    json["calls"].push_back(std::move(row));
  }
  return json;
}

/// A cluster of the drawing per object; names of nodes carry its number.
std::string asDot(const object::CodeObject &object, const CallGraph &graph, uint64_t number, bool all) {
  std::string dot = fmt::format("  subgraph cluster_{} {{\n    label={};\n", number, dotQuoted(object.targetId()));
  bool pointer = false;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
    const CallNode &node = graph.nodes()[n];
    if (all || isInteresting(node))
      dot += fmt::format("    o{}n{} [label={}{}{}];\n", number, n, dotQuoted(demangle(node.symbol->name)),
                         isKernel(node) ? ", shape=box" : "", node.addressTaken ? ", style=dashed" : "");
  }
  std::map<std::pair<uint32_t, uint32_t>, bool> drawn;
  for (const CallSite &site : graph.sites()) {
    if (site.kind != CallEdge::Indirect && site.callee == CallGraph::kNone)
      continue;
    if (!drawn.try_emplace({site.caller, site.callee}, true).second)
      continue;
    if (site.kind == CallEdge::Indirect) {
      pointer = true;
      dot += fmt::format("    o{}n{} -> o{}pointer [style=dashed];\n", number, site.caller, number);
    } else
      dot += fmt::format("    o{}n{} -> o{}n{}{};\n", number, site.caller, number, site.callee,
                         site.kind == CallEdge::Tail ? " [color=blue]" : "");
  }
  if (pointer) {
    dot += fmt::format("    o{}pointer [label=\"pointer\", shape=diamond];\n", number);
    for (uint32_t n : graph.addressTaken())
      dot += fmt::format("    o{}pointer -> o{}n{} [style=dashed];\n", number, number, n);
  }
  return dot + "  }\n";
}

Result<void> printCallGraph(const CallGraphOptions &options) {
  ordered_json objects = ordered_json::array();
  std::string dot = "digraph {\n  rankdir=LR;\n  node [fontname=\"monospace\", fontsize=10];\n";
  LUTHIER_TRY(forEachObject(options.file, [&](const object::CodeObject &object, uint64_t number) -> Result<void> {
    const auto program = LUTHIER_TRY(analysis::Program::create(object));
    const CallGraph graph = LUTHIER_TRY(CallGraph::build(*program));
    if (options.json)
      objects.push_back(asJson(object, number, graph));
    else if (options.output.empty())
      std::cout << asText(object, number, graph, options.all);
    if (!options.output.empty())
      dot += asDot(object, graph, number, options.all);
    return {};
  }));
  if (!options.output.empty())
    LUTHIER_TRY(writeGraph(dot + "}\n", options.output));
  if (options.json)
    std::cout << ordered_json({{"file", options.file.path}, {"objects", objects}})
                     .dump(1, ' ', false, ordered_json::error_handler_t::replace)
              << "\n";
  return {};
}

} // namespace

void addCallgraphCommand(CLI::App &root, Invocation &invocation) {
  CLI::App *command = root.add_subcommand("callgraph", "Show which functions call which");
  auto options = std::make_shared<CallGraphOptions>();
  addCodeFile(*command, options->file);
  command->add_option("-o", options->output, "Write a graph: .dot, or drawn by Graphviz as .svg, .png, .pdf")
      ->type_name("FILE")
      ->check(notEmpty);
  addFlag(*command, "--all", options->all, "Include kernels that call nothing");
  addFlag(*command, "--json", options->json, "Print JSON");
  command->callback([options, &invocation] {
    const Result<void> done = printCallGraph(*options);
    if (!done)
      log::error("{}", done.error().message());
    invocation.exitStatus = done ? exitSuccess : exitFailure;
  });
}

} // namespace luthier::cli
