// `luthier inspect FILE`: the GPU code in a file, and what its kernels need.
//
// Objects are read, printed and forgotten one by one, so that a library of a gigabyte needs no more memory than its
// largest code object.

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <unordered_map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/code_file.h"
#include "cli/command.h"
#include "cli/options.h"
#include "isa/occupancy.h"
#include "object/container.h"
#include "object/kernel_resources.h"
#include "support/demangle.h"
#include "support/file.h"
#include "support/log.h"

namespace luthier::cli {

namespace {

using nlohmann::ordered_json;
using object::CodeObject;
using object::KernelResources;
using object::Symbol;
using object::SymbolKind;

struct InspectOptions {
  CodeFile file;
  bool kernels = false, functions = false, variables = false;
  bool json = false;
  bool demangle = true;
  std::string extract; ///< a folder
};

struct Totals {
  size_t objects = 0, kernels = 0, functions = 0, variables = 0;
};

struct KernelRow {
  const Symbol *symbol;
  std::optional<KernelResources> resources; ///< none when its descriptor is broken
};

std::string plural(size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

constexpr const char *kRow = "  {:>5} {:>5} {:>5} {:>7} {:>7} {:>7} {:>4} {:>6}  {}\n";

/// Waves that fit on a SIMD of those that it can hold: "4/8".
std::string occupancyOf(const CodeObject &object, const KernelResources &resources) {
  if (!object.hasTarget())
    return "?";
  const isa::Occupancy occupancy = isa::occupancy(object.target(), resources.use());
  return fmt::format("{}/{}", occupancy.wavesPerSimd, occupancy.maximum);
}

class Inspector {
public:
  explicit Inspector(const InspectOptions &options) : options_(options) {
    all_ = !options.kernels && !options.functions && !options.variables;
  }

  int run() {
    auto container = object::Container::open(options_.file.path);
    if (!container)
      return fail(container.error());
    std::optional<isa::TargetId> wanted;
    if (!options_.file.target.empty()) {
      auto target = isa::TargetId::parse(options_.file.target);
      if (!target) {
        log::error("{}", target.error().message());
        return exitUsage;
      }
      wanted = *std::move(target);
    }
    begin();
    for (const object::ImageGroup &group : container->groups()) {
      const auto images = container->images(group);
      if (!images) {
        fail(images.error());
        continue;
      }
      for (const object::Image &image : *images) {
        ++images_;
        seen_[image.target.text()] = {};
        if ((wanted && !isa::compatible(image.target, *wanted)) ||
            (options_.file.object && *options_.file.object != images_))
          continue;
        if (!options_.extract.empty())
          if (const auto written = extract(image); !written)
            fail(written.error());
        const auto object = image.codeObject();
        if (object)
          print(image, *object);
        else
          fail(object.error());
      }
      container->forget(group);
    }
    end();
    if (totals_.empty() && status_ == exitSuccess) {
      std::vector<std::string> there;
      for (const auto &[text, unused] : seen_)
        there.push_back(text);
      if (there.empty())
        log::error("{}: no code for AMD GPUs in it", options_.file.path);
      else if (options_.file.object && *options_.file.object > images_)
        log::error("{}: there is no code object {}; it has {}", options_.file.path, *options_.file.object, images_);
      else if (options_.file.object)
        log::error("{}: code object {} is not for {}", options_.file.path, *options_.file.object, options_.file.target);
      else
        log::error("{}: no code for {} in it; there is code for {}", options_.file.path, options_.file.target,
                   fmt::join(there, ", "));
      return exitFailure;
    }
    return status_;
  }

private:
  int fail(const Error &error) {
    log::error("{}", error.message());
    return status_ = exitFailure;
  }

  /// Its bytes in a file of their own, named after the file, the object's number and its target.
  Result<void> extract(const object::Image &image) const {
    std::error_code failed;
    const std::filesystem::path folder = options_.extract;
    if (std::filesystem::create_directories(folder, failed); failed)
      return makeErrorCode(failed.value(), "cannot make the folder {}: {}", folder.string(), failed.message());
    std::string target = image.target.text();
    std::ranges::replace(target, ':', '_');
    const auto file = folder / fmt::format("{}.{}.{}.co", std::filesystem::path(options_.file.path).filename().string(),
                                           images_, target);
    return replaceFile(file, image.bytes);
  }

  std::string nameOf(const Symbol &symbol) const {
    return options_.demangle ? demangle(symbol.name) : std::string(symbol.name);
  }

  void begin() {
    if (options_.json)
      std::cout << fmt::format("{{\"file\": {}, \"objects\": [", ordered_json(options_.file.path).dump());
  }

  void end() {
    if (options_.json) {
      std::cout << (totals_.empty() ? "]}\n" : "\n]}\n");
      return;
    }
    if (images_ <= 1)
      return;
    size_t objects = 0;
    for (const auto &[target, totals] : totals_)
      objects += totals.objects;
    std::cout << fmt::format("{}: {}\n", options_.file.path, plural(objects, "code object"));
    for (const auto &[target, t] : totals_)
      std::cout << fmt::format("  {:<24} {}, {}, {}, {}\n", target, plural(t.objects, "code object"),
                               plural(t.kernels, "kernel"), plural(t.functions, "device function"),
                               plural(t.variables, "variable"));
  }

  void print(const object::Image &image, const CodeObject &object) {
    Totals &totals = totals_[object.targetId()];
    const bool first = totals_.size() == 1 && totals.objects == 0;
    ++totals.objects;
    totals.kernels += object.kernels().size();
    totals.functions += object.symbols(SymbolKind::DeviceFunction).size();
    totals.variables += object.symbols(SymbolKind::Variable).size();
    const std::vector<KernelRow> kernels = kernelsOf(object);
    if (options_.json)
      std::cout << (first ? "\n" : ",\n") << asJson(image, object, kernels).dump(1, ' ', false, kReplace);
    else
      std::cout << asText(image, object, kernels);
  }

  std::vector<KernelRow> kernelsOf(const CodeObject &object) {
    std::vector<KernelRow> rows;
    if (!all_ && !options_.kernels)
      return rows;
    auto metadata = object.metadata(object::MetadataParts::WithoutArguments);
    if (!metadata)
      fail(metadata.error()); // the descriptors still say most of it
    std::unordered_map<std::string_view, const object::KernelMetadata *> described;
    if (metadata)
      for (const object::KernelMetadata &kernel : metadata->kernels) {
        const std::string_view symbol = kernel.symbol;
        described.emplace(symbol.ends_with(".kd") ? symbol.substr(0, symbol.size() - 3) : symbol, &kernel);
      }
    for (const Symbol &symbol : object.kernels()) {
      const auto it = described.find(symbol.name);
      auto resources = object::resourcesOf(object, symbol, it == described.end() ? nullptr : it->second);
      if (!resources)
        fail(resources.error());
      rows.push_back({&symbol, resources ? std::optional(*resources) : std::nullopt});
    }
    return rows;
  }

  std::string asText(const object::Image &image, const CodeObject &object, const std::vector<KernelRow> &kernels) {
    const auto functions = object.symbols(SymbolKind::DeviceFunction);
    const auto variables = object.symbols(SymbolKind::Variable);
    std::string text = fmt::format("{}: code object v{}, {}, {}, {}", object.targetId(), object.version(),
                                   plural(object.kernels().size(), "kernel"),
                                   plural(functions.size(), "device function"), plural(variables.size(), "variable"));
    if (!image.entry.empty())
      text += fmt::format(" (object {}, {}{} at {:#x})", images_, image.entry, image.memory ? ", unpacked" : "",
                          image.offset);
    text += "\n";
    if (!object.hasTarget())
      text += fmt::format("  note: {} is not a target that luthier knows; registers are as the metadata says\n",
                          object.targetId());
    if (!kernels.empty())
      text += fmt::format(fmt::runtime(kRow), "VGPR", "AGPR", "SGPR", "LDS", "scratch", "kernarg", "wave", "occup.",
                          "kernel");
    for (const KernelRow &row : kernels) {
      if (row.resources) {
        const KernelResources &r = *row.resources;
        text += fmt::format(fmt::runtime(kRow), r.vgprs, r.agprs, r.sgprs, r.lds,
                            fmt::format("{}{}", r.scratch, r.dynamicStack ? "+" : ""), r.kernarg, r.waveSize,
                            occupancyOf(object, r), nameOf(*row.symbol));
      } else {
        text += fmt::format(fmt::runtime(kRow), "?", "?", "?", "?", "?", "?", "?", "?", nameOf(*row.symbol));
      }
    }
    if ((all_ || options_.functions) && !functions.empty())
      text += symbolTable(functions, "device function");
    if ((all_ || options_.variables) && !variables.empty())
      text += symbolTable(variables, "variable");
    return text + "\n";
  }

  std::string symbolTable(std::span<const Symbol> symbols, std::string_view what) const {
    std::string text = fmt::format("  {:>10} {:>8}  {}\n", "address", "bytes", what);
    for (const Symbol &symbol : symbols) {
      const std::string address = symbol.defined ? fmt::format("{:#x}", symbol.address) : "undefined";
      text +=
          fmt::format("  {:>10} {:>8}  {}\n", address,
                      symbol.defined ? fmt::format("{}{}", symbol.size, symbol.sized ? "" : "?") : "", nameOf(symbol));
    }
    return text;
  }

  ordered_json symbolJson(const Symbol &symbol) const {
    ordered_json json = {{"name", symbol.name}};
    if (options_.demangle)
      json["demangled"] = demangle(symbol.name);
    json["defined"] = symbol.defined;
    if (symbol.defined) {
      json["address"] = symbol.address;
      json["size"] = symbol.size;
    }
    return json;
  }

  ordered_json asJson(const object::Image &image, const CodeObject &object,
                      const std::vector<KernelRow> &kernels) const {
    ordered_json json = {{"object", images_},
                         {"target", object.targetId()},
                         {"version", object.version()},
                         {"entry", image.entry},
                         {"offset", image.offset},
                         {"bytes", image.bytes.size()},
                         {"known_target", object.hasTarget()}};
    if (all_ || options_.kernels) {
      json["kernels"] = ordered_json::array();
      for (const KernelRow &row : kernels) {
        ordered_json kernel = symbolJson(*row.symbol);
        kernel["descriptor"] = row.symbol->descriptor;
        if (row.resources && object.hasTarget()) {
          const isa::Occupancy occupancy = isa::occupancy(object.target(), row.resources->use());
          kernel["waves_per_simd"] = occupancy.wavesPerSimd;
          kernel["max_waves_per_simd"] = occupancy.maximum;
        }
        if (row.resources)
          kernel.update({{"vgprs", row.resources->vgprs},
                         {"agprs", row.resources->agprs},
                         {"sgprs", row.resources->sgprs},
                         {"allocated_vgprs", row.resources->allocatedVgprs},
                         {"allocated_sgprs", row.resources->allocatedSgprs},
                         {"lds", row.resources->lds},
                         {"scratch", row.resources->scratch},
                         {"dynamic_stack", row.resources->dynamicStack},
                         {"kernarg", row.resources->kernarg},
                         {"wave_size", row.resources->waveSize},
                         {"max_workgroup_size", row.resources->maxWorkgroupSize}});
        json["kernels"].push_back(std::move(kernel));
      }
    }
    auto list = [&](const char *name, SymbolKind kind) {
      json[name] = ordered_json::array();
      for (const Symbol &symbol : object.symbols(kind))
        json[name].push_back(symbolJson(symbol));
    };
    if (all_ || options_.functions)
      list("device_functions", SymbolKind::DeviceFunction);
    if (all_ || options_.variables)
      list("variables", SymbolKind::Variable);
    return json;
  }

  // Names come from the file and need not be UTF-8.
  static constexpr auto kReplace = ordered_json::error_handler_t::replace;

  const InspectOptions &options_;
  bool all_ = true;
  int status_ = exitSuccess;
  uint64_t images_ = 0;                  ///< so far: the number of the one at hand
  std::map<std::string, Totals> totals_; ///< of what was printed, by target
  std::map<std::string, bool> seen_;     ///< targets in the file
};

} // namespace

void addInspectCommand(CLI::App &root, Invocation &invocation) {
  CLI::App *command =
      root.add_subcommand("inspect", "List the GPU code in a file and the resources that its kernels need");
  auto options = std::make_shared<InspectOptions>();
  addCodeFile(*command, options->file);
  addFlag(*command, "--kernels", options->kernels, "List kernels");
  addFlag(*command, "--functions", options->functions, "List device functions");
  addFlag(*command, "--variables", options->variables, "List variables");
  command
      ->add_option("--extract", options->extract,
                   "Write each code object that is listed to DIR, as FILE.NUMBER.TARGET.co")
      ->type_name("DIR")
      ->check(notEmpty);
  addFlag(*command, "--json", options->json, "Print JSON");
  addFlag(*command, "--demangle,!--no-demangle", options->demangle, "Print C++ names as in the source (default)");
  command->footer(
      "Without --kernels, --functions or --variables, all three are listed. LDS, scratch and kernarg are in "
      "bytes; scratch is per\nwork-item, with a + if the stack may grow at run time. occup. is the number of waves "
      "that fit on a SIMD at once, out of\nthe most that it can hold. Exits with status 1 if the file has no GPU code "
      "or "
      "a part of it is broken.");
  command->callback([options, &invocation] { invocation.exitStatus = Inspector(*options).run(); });
}

} // namespace luthier::cli
