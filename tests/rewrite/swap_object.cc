#include "swap_object.h"

#include "copy_variant.h"
#include "object/mapped_file.h"
#include "rewrite/emit.h"
#include "support/env.h"
#include "support/variables.h"

#include <array>
#include <chrono>
#include <map>

namespace luthier::rewrite::test {

namespace {

nlohmann::json jsonOf(const Resources &resources) {
  return {{"sgprs", resources.sgprs},
          {"vgprs", resources.vgprs},
          {"acc_vgprs", resources.accVgprs},
          {"scratch", resources.scratch},
          {"lds", resources.lds},
          {"kernarg", resources.kernarg},
          {"code_bytes", resources.codeBytes},
          {"waves_per_simd", resources.wavesPerSimd}};
}

/// FNV-1a, to tell whether code of two builds is the same.
class Hash {
public:
  template <class T> void add(const T &value) { bytes({reinterpret_cast<const uint8_t *>(&value), sizeof value}); }
  void bytes(std::span<const uint8_t> data) {
    for (const uint8_t byte : data)
      value_ = (value_ ^ byte) * 0x100000001b3;
  }
  std::string text() const { return fmt::format("{:016x}", value_); }

private:
  uint64_t value_ = 0xcbf29ce484222325;
};

std::string codeHash(const Variant &variant) {
  Hash hash;
  hash.bytes(variant.code);
  for (const CodeRelocation &relocation : variant.relocations) {
    hash.add(relocation.offset);
    hash.add(relocation.high);
    hash.add(relocation.base);
    hash.add(relocation.variable);
    hash.add(relocation.addend);
  }
  return hash.text();
}

std::string descriptorHash(const Variant &variant) {
  Hash hash;
  std::array<std::byte, object::KernelDescriptor::kBytes> bytes;
  variant.descriptor.write(bytes);
  hash.add(bytes);
  return hash.text();
}

/// Instructions that have nothing behind them: insertions there have no meaning.
bool hasAfter(const Instr &instr) { return instr.is(Property::Call) || !instr.is(Property::Terminator); }

} // namespace

Result<SwapOptions> SwapOptions::fromEnvironment() {
  SwapOptions options;
  options.mode = static_cast<SwapMode>(LUTHIER_TRY(env::choice(
      "LUTHIER_SWAP_MODE",
      {"end", "copy", "identity", "empty", "count", "hostile", "stateful", "frame", "everything", "sampled"}, 1)));
  options.wave = LUTHIER_TRY(env::choice("LUTHIER_SWAP_KIND", {"lane", "wave"}, 0)) == 1;
  options.after = LUTHIER_TRY(env::choice("LUTHIER_SWAP_POSITION", {"before", "after"}, 0)) == 1;
  options.every = LUTHIER_TRY(env::number("LUTHIER_SWAP_EVERY", 1, 1));
  options.phase = LUTHIER_TRY(env::number("LUTHIER_SWAP_PHASE", 0));
  options.first = LUTHIER_TRY(env::number("LUTHIER_SWAP_FIRST", 0));
  options.last = LUTHIER_TRY(env::number("LUTHIER_SWAP_LAST", UINT64_MAX));
  options.kernel = env::text("LUTHIER_SWAP_KERNEL").value_or("");
  options.hooks = env::text("LUTHIER_SWAP_HOOKS").value_or("");
  options.form = static_cast<HookForm>(LUTHIER_TRY(env::choice(env::kHookForm, 0)));
  if (options.usesHooks() && options.hooks.empty())
    return makeError("LUTHIER_SWAP_HOOKS names no bitcode");
  return options;
}

struct Swapper::Impl {
  hook::FragmentCompiler compiler;
  std::shared_ptr<const hook::HookModule> module;
  const hook::Hook *hook = nullptr;

  /// What it is given does not matter to the guest; so it is what costs most to get right.
  std::vector<Argument> arguments(uint64_t site) const {
    std::vector<Argument> list;
    for (const hook::HookParameter &parameter : hook->parameters)
      list.push_back(parameter.dwords == 2 ? Argument::exec() : Argument::constant(site));
    return list;
  }

  Result<std::vector<Insertion>> insertions(Rewriter &rewriter, const object::Symbol &kernel,
                                            const SwapOptions &options) const {
    std::vector<Insertion> list;
    if (!options.usesHooks() || kernel.name.find(options.kernel) == std::string_view::npos)
      return list;
    uint64_t place = 0;
    for (const object::Symbol *symbol : LUTHIER_TRY(rewriter.functionsOf(kernel))) {
      const analysis::Function *function = LUTHIER_TRY(rewriter.program().function(*symbol));
      for (const Instr &instr : function->instrs()) {
        if (options.after && !hasAfter(instr))
          continue;
        const uint64_t number = place++;
        if (number % options.every != options.phase % options.every || number < options.first || number > options.last)
          continue;
        Insertion &insertion = list.emplace_back();
        insertion.position = options.after ? Position::After : Position::Before;
        insertion.function = symbol;
        insertion.address = instr.address();
        insertion.module = module;
        insertion.hook = hook->name;
        insertion.arguments = arguments(number);
        if (options.mode == SwapMode::Sampled)
          insertion.sampling = {.every = 3, .counter = 0, .when = "luthierHarnessChosen"};
      }
    }
    if (options.mode == SwapMode::Sampled && !list.empty()) {
      Insertion &insertion = list.emplace_back();
      insertion.position = Position::KernelEntry;
      insertion.module = module;
      insertion.hook = "chooseWave";
    }
    return list;
  }
};

Swapper::Swapper(SwapOptions options) : options_(std::move(options)), impl_(std::make_unique<Impl>()) {}
Swapper::~Swapper() = default;

Result<std::unique_ptr<Swapper>> Swapper::create(SwapOptions options) {
  std::unique_ptr<Swapper> swapper(new Swapper(std::move(options)));
  const SwapOptions &o = swapper->options_;
  if (!o.usesHooks())
    return swapper;
  const object::MappedFile file = LUTHIER_TRY(object::MappedFile::open(o.hooks));
  Impl &impl = *swapper->impl_;
  impl.module = LUTHIER_TRY(hook::HookModule::load(file.bytes(), o.hooks));
  constexpr std::string_view kNames[] = {"empty", "count", "hostile", "stateful", "frame", "everything", "hostile"};
  const std::string_view name = kNames[static_cast<size_t>(o.mode) - static_cast<size_t>(SwapMode::Empty)];
  const std::string full = fmt::format("{}{}", name, o.wave ? "Wave" : "Lane");
  impl.hook = impl.module->findHook(full);
  if (!impl.hook)
    return makeError("{} has no hook '{}'", o.hooks, full);
  return swapper;
}

Result<Swapped> Swapper::swap(const object::CodeObject &object) {
  const auto begin = std::chrono::steady_clock::now();
  Swapped result;
  nlohmann::json kernels = nlohmann::json::array();
  std::vector<Variant> variants;
  const object::Metadata metadata = LUTHIER_TRY(object.metadata());
  std::unique_ptr<Rewriter> rewriter;
  const bool usesRewriter = options_.mode >= SwapMode::Identity;
  if (usesRewriter) {
    rewriter = LUTHIER_TRY(Rewriter::create(object, impl_->compiler, LaunchBlocks::Variables));
    rewriter->setForm(options_.form);
  }

  for (const object::Symbol &kernel : object.kernels()) {
    nlohmann::json account{{"name", kernel.name}};
    auto failed = [&](const Error &why) { account["error"] = why.message(); };
    if (!usesRewriter) {
      auto variant = options_.mode == SwapMode::End ? variantWithCode(object, kernel, {0x00, 0x00, 0x81, 0xbf})
                                                    : copyOf(object, kernel, metadata);
      if (variant)
        variants.push_back(*std::move(variant));
      else
        failed(variant.error());
    } else {
      auto insertions = impl_->insertions(*rewriter, kernel, options_);
      auto rewritten = insertions ? rewriter->rewrite(kernel, *insertions) : Result<Rewrite>(insertions.error());
      if (rewritten) {
        uint64_t placed = 0, saved = 0, waits = 0, calls = 0;
        std::map<std::string, uint64_t> rejected;
        for (const SiteAccount &site : rewritten->sites) {
          placed += site.placed;
          saved += site.saved;
          calls += site.calls;
          waits += site.waits;
          if (!site.placed)
            ++rejected[site.reason];
        }
        const Variant &variant = rewritten->variant;
        account.update({{"asked", insertions->size()},
                        {"placed", placed},
                        {"rejected", rejected},
                        {"saved", saved},
                        {"waits", waits},
                        {"calls", calls},
                        {"before", jsonOf(variant.before)},
                        {"after", jsonOf(variant.after)},
                        {"instructions", rewritten->originalInstructions},
                        {"inserted", rewritten->insertedInstructions},
                        {"code_hash", codeHash(variant)},
                        {"descriptor_hash", descriptorHash(variant)},
                        {"open_calls", rewritten->openCalls}});
        if (variant.after.scratch > variant.before.scratch || variant.after.lds > variant.before.lds)
          result.more.emplace_back(kernel.descriptor, MoreMemory{variant.after.scratch - variant.before.scratch,
                                                                 variant.after.lds - variant.before.lds});
        variants.push_back(std::move(rewritten->variant));
      } else {
        failed(rewritten.error());
      }
    }
    kernels.push_back(std::move(account));
  }
  result.file = LUTHIER_TRY(emitMerged(object, variants));
  result.account = {{"object", object.origin()},
                    {"kernels", kernels},
                    {"bytes", object.elf().size()},
                    {"new_bytes", result.file.size()},
                    {"seconds", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()}};
  return result;
}

} // namespace luthier::rewrite::test
