// `luthier instrument FILE`: hooks put into kernels of a file, without running it; the result is a file that takes the
// original's place: a program or library with its bundles replaced, a bundle, or a code object.

#include <filesystem>
#include <iostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/code_file.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/site_spec.h"
#include "object/mapped_file.h"
#include "object/replace_images.h"
#include "rewrite/emit.h"
#include "support/demangle.h"
#include "support/file.h"
#include "support/log.h"

namespace luthier::cli {

namespace {

struct InstrumentOptions {
  CodeFile file;
  std::string kernel{"all"}, hooks, output, hookForm;
  std::vector<std::string> at;
  bool keepGoing = false, verbose = false;
  bool codeObject = false;
};

/// What --kernel says for all of them.
constexpr std::string_view kAll = "all";

/// Reasons and places are listed up to here; the numbers count all.
constexpr size_t kMostListed = 10;

class Instrumenting {
public:
  explicit Instrumenting(const InstrumentOptions &options) : options_(options) {}

  Result<void> work() {
    for (const std::string &text : options_.at) {
      specs_.push_back(LUTHIER_TRY(parseSiteSpec(text)));
      if (auto &counter = specs_.back().sampling.counter)
        counter = static_cast<uint32_t>(specs_.size());
    }
    LUTHIER_TRY(loadHooks());
    matched_.resize(specs_.size());
    if (options_.kernel != kAll) {
      const SelectedFunction selected =
          LUTHIER_TRY(selectFunction(options_.file, options_.kernel, FunctionKind::Kernel));
      named_ = demangle(selected.symbol->name);
      LUTHIER_TRY(rewrite(*selected.object, selected.number, {selected.symbol}));
    } else {
      if (options_.codeObject)
        LUTHIER_TRY(checkOneObject());
      LUTHIER_TRY(forEachObject(options_.file, [&](const object::CodeObject &object, uint64_t number) -> Result<void> {
        std::vector<const object::Symbol *> kernels;
        for (const object::Symbol &kernel : object.kernels())
          kernels.push_back(&kernel);
        return rewrite(object, number, kernels);
      }));
    }
    if (!kernels_)
      return makeError("{}: there is no kernel in it", options_.file.path);
    for (size_t n = 0; n < specs_.size(); ++n)
      if (!matched_[n])
        LUTHIER_TRY(fail(
            fmt::format("nothing in {} matches --at '{}'", named_.empty() ? "any kernel" : named_, specs_[n].text)));
    if (rejected_)
      LUTHIER_TRY(fail(fmt::format("{} of {} sites cannot be instrumented", rejected_, asked_)));
    if (images_.empty())
      return makeError("{}: no kernel could be rewritten; {} is not written", options_.file.path, options_.output);
    return write();
  }

private:
  /// Rewrites these kernels of a code object.
  Result<void> rewrite(const object::CodeObject &object, uint64_t number,
                       const std::vector<const object::Symbol *> &kernels) {
    kernels_ += object.kernels().size();
    if (kernels.empty())
      return {};
    // Nobody who launches kernels of a file knows of launches that are instrumented: one copy of everything.
    const auto rewriter = LUTHIER_TRY(rewrite::Rewriter::create(object, compiler_, rewrite::LaunchBlocks::Variables));
    rewriter->setForm(LUTHIER_TRY(chooseHookForm(options_.hookForm)));
    std::vector<rewrite::Variant> variants;
    for (const object::Symbol *kernel : kernels) {
      auto variant = instrument(*rewriter, *kernel);
      if (variant) {
        variants.push_back(*std::move(variant));
        continue;
      }
      ++failures_;
      if (!options_.keepGoing)
        return variant.error();
      log::error("{}", variant.error().message());
    }
    if (variants.empty())
      return {};
    rewritten_ += variants.size();
    images_[number] = LUTHIER_TRY(rewrite::emitMerged(object, variants));
    return {};
  }

  Result<void> write() {
    std::vector<std::byte> bytes;
    if (options_.codeObject) {
      bytes = std::move(images_.begin()->second);
    } else {
      const auto original = LUTHIER_TRY(object::MappedFile::open(options_.file.path));
      bytes = LUTHIER_TRY(object::replaceImages(original.bytes(), options_.file.path, images_));
    }
    LUTHIER_TRY(replaceFile(options_.output, bytes));
    std::error_code failed; // programs stay programs
    if (const auto status = std::filesystem::status(options_.file.path, failed); !options_.codeObject && !failed)
      std::filesystem::permissions(options_.output, status.permissions(), failed);
    std::cout << fmt::format("{}: {} of {} kernels rewritten, {} bytes\n", options_.output, rewritten_, kernels_,
                             bytes.size());
    return {};
  }

  /// What goes wrong ends it, unless the user wants what is left.
  Result<void> fail(const std::string &message) const {
    if (!options_.keepGoing)
      return makeError("{}; {} is not written (--keep-going writes what is left)", message, options_.output);
    log::warn("{}", message);
    return {};
  }

  Result<void> loadHooks() {
    const bool needed = std::ranges::any_of(specs_, [](const SiteSpec &spec) { return !spec.hook.empty(); });
    if (options_.hooks.empty()) {
      if (needed)
        return makeError("--hooks is missing: which file are the hooks in?");
      return {};
    }
    const std::string bitcode = LUTHIER_TRY(readFile(options_.hooks));
    hooks_ = LUTHIER_TRY(hook::HookModule::load(std::as_bytes(std::span(bitcode)), options_.hooks));
    for (const SiteSpec &spec : specs_) {
      if (spec.hook.empty())
        continue;
      LUTHIER_TRY(checkCall(spec, spec.hook, spec.hookColumn, spec.arguments.size()));
      if (!spec.predicate.empty())
        LUTHIER_TRY(checkCall(spec, spec.predicate, spec.predicateColumn, spec.predicateArguments.size()));
    }
    return {};
  }

  Result<void> checkCall(const SiteSpec &spec, const std::string &name, size_t column, size_t arguments) const {
    const hook::Hook *hook = hooks_->findHook(name);
    if (!hook) {
      std::vector<std::string> names;
      for (const hook::Hook &there : hooks_->hooks())
        names.push_back(there.name);
      return errorAt(spec.text, column,
                     fmt::format("{} has no hook '{}'; it has {}", options_.hooks, name, fmt::join(names, ", ")));
    }
    if (hook->parameters.size() != arguments)
      return errorAt(
          spec.text, column,
          fmt::format("{} takes {} arguments, {} are given", hook->name, hook->parameters.size(), arguments));
    return {};
  }

  /// Of several code objects, one must be chosen to be the result.
  Result<void> checkOneObject() const {
    std::vector<std::string> choices;
    LUTHIER_TRY(forEachObject(options_.file, [&](const object::CodeObject &object, uint64_t number) -> Result<void> {
      if (!object.kernels().empty())
        choices.push_back(objectChoice(object, number));
      return {};
    }));
    if (choices.size() > 1)
      return makeError("{}: {} code objects have kernels, and the result is one code object; choose one with --target "
                       "or --object:\n  {}",
                       options_.file.path, choices.size(), fmt::join(choices, "\n  "));
    return {};
  }

  Result<rewrite::Variant> instrument(rewrite::Rewriter &rewriter, const object::Symbol &kernel) {
    std::vector<rewrite::Insertion> insertions;
    struct Row {
      size_t asked = 0, places = 0;
      std::vector<std::string> rejected;
      size_t begin = 0; ///< in `insertions`
    };
    std::vector<Row> rows;
    const auto where = [&](const rewrite::Insertion &insertion) {
      std::string text = fmt::format("{:#x}", insertion.address);
      if (insertion.function && insertion.function != &kernel)
        text += " in " + demangle(insertion.function->name);
      return text;
    };
    for (size_t n = 0; n < specs_.size(); ++n) {
      Row &row = rows.emplace_back();
      row.begin = insertions.size();
      for (FoundSite &site : LUTHIER_TRY(sitesOf(specs_[n], rewriter, kernel, hooks_))) {
        ++row.asked;
        if (site.rejected.empty())
          insertions.push_back(std::move(site.insertion));
        else
          row.rejected.push_back(where(site.insertion) + ": " + site.rejected);
      }
      matched_[n] = matched_[n] || row.asked;
    }
    rewrite::Rewrite result = LUTHIER_TRY(rewriter.rewrite(kernel, insertions));
    std::string text = fmt::format("kernel {} ({})\n", demangle(kernel.name), rewriter.program().object().targetId());
    for (size_t n = 0; n < rows.size(); ++n) {
      Row &row = rows[n];
      const size_t end = n + 1 < rows.size() ? rows[n + 1].begin : insertions.size();
      for (size_t site = row.begin; site < end; ++site) {
        row.places += result.sites[site].places;
        if (!result.sites[site].placed)
          row.rejected.push_back(where(insertions[site]) + ": " + result.sites[site].reason);
      }
      asked_ += row.asked;
      rejected_ += row.rejected.size();
      text += fmt::format("  {}\n    {} asked, {} placed, {} rejected\n", specs_[n].text, row.asked,
                          row.asked - row.rejected.size(), row.rejected.size());
      for (size_t r = 0; r < std::min(row.rejected.size(), options_.verbose ? SIZE_MAX : kMostListed); ++r)
        text += fmt::format("      {}\n", row.rejected[r]);
      if (row.rejected.size() > kMostListed && !options_.verbose)
        text += fmt::format("      and {} more (--verbose)\n", row.rejected.size() - kMostListed);
    }
    uint64_t saved = 0, waits = 0;
    for (const rewrite::SiteAccount &site : result.sites) {
      saved += site.saved;
      waits += site.waits;
    }
    const rewrite::Resources &before = result.variant.before, &after = result.variant.after;
    text += fmt::format(
        "  SGPRs {} -> {}, VGPRs {} -> {}, scratch {} -> {} bytes per lane, occupancy {} -> {} waves per SIMD\n",
        before.sgprs, after.sgprs, before.vgprs, after.vgprs, before.scratch, after.scratch, before.wavesPerSimd,
        after.wavesPerSimd);
    text += fmt::format(
        "  {} instructions and {} inserted, {} -> {} bytes; live registers saved {}, places with a wait {}\n",
        result.originalInstructions, result.insertedInstructions, before.codeBytes, after.codeBytes, saved, waits);
    if (result.sharedHooks) {
      uint64_t calls = 0;
      for (const rewrite::SiteAccount &site : result.sites)
        calls += site.calls;
      text += fmt::format("  {} places call {} shared hook{}\n", calls, result.sharedHooks,
                          result.sharedHooks == 1 ? "" : "s");
    }
    if (result.openCalls)
      text +=
          fmt::format("  {} calls or jumps through pointers: code that they reach outside of the file's functions runs "
                      "unmodified\n",
                      result.openCalls);
    std::cout << text;
    return std::move(result.variant);
  }

  const InstrumentOptions &options_;
  hook::FragmentCompiler compiler_;
  std::shared_ptr<const hook::HookModule> hooks_;
  std::vector<SiteSpec> specs_;
  std::vector<bool> matched_;
  std::string named_;        ///< the one kernel that is meant
  object::NewImages images_; ///< rewritten code objects
  uint64_t kernels_ = 0, rewritten_ = 0;
  uint64_t asked_ = 0, rejected_ = 0, failures_ = 0;
};

} // namespace

void addInstrumentCommand(CLI::App &root, Invocation &invocation) {
  CLI::App *command =
      root.add_subcommand("instrument", "Insert hooks into kernels of a file and write a file that runs");
  auto options = std::make_shared<InstrumentOptions>();
  addCodeFile(*command, options->file);
  command
      ->add_option("--kernel", options->kernel,
                   "The kernel: its name, or a part of it that no other has (default: all kernels)")
      ->type_name("NAME")
      ->check(notEmpty);
  command->add_option("--hooks", options->hooks, "The hooks, compiled to bitcode (docs/hooks.md)")->type_name("FILE");
  command->add_option("--at", options->at, "Where a hook goes; can be repeated, hooks at one place run in this order")
      ->type_name("SPEC")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->expected(1);
  command->add_option("-o", options->output, "The file to write: FILE with the new code in it")
      ->required()
      ->type_name("FILE")
      ->check(notEmpty);
  addHookForm(*command, options->hookForm);
  addFlag(*command, "--code-object", options->codeObject, "Write the code object alone, without the file around it");
  addFlag(*command, "--keep-going", options->keepGoing, "Write the rest if sites or kernels are refused");
  addFlag(*command, "--verbose", options->verbose, "List all refused sites");
  command->footer(
      std::string(kSiteSpecHelp) +
      "\n\nWithout --at, kernels are rewritten without hooks. Variables of the hooks' file become symbols of "
      "the code object; all\nlaunches share those that are declared per launch.");
  command->callback([options, &invocation] {
    const Result<void> done = Instrumenting(*options).work();
    if (!done)
      log::error("{}", done.error().message());
    invocation.exitStatus = done ? exitSuccess : exitFailure;
  });
}

} // namespace luthier::cli
