// rewrite_hashes FILE TARGET HOOKS [EVERY]: rewrites all kernels of FILE for a target (gfx90a:xnack-) with the hooks of
// the harness (harness_hooks.bc) and prints a line per kernel and way: resources, inserted instructions, hashes of code
// and descriptor.
//
// LUTHIER_HOOK_FORM says whether hooks are copied or called. The output of two builds of the rewriter says which
// kernels a change touches. Hooks are at every EVERY-th place (7); rejected sites are listed with their reasons.
#include "object/container.h"
#include "support/variables.h"
#include "swap_object.h"

#include <fmt/core.h>

#include <charconv>
#include <cstring>

using namespace luthier;
using rewrite::test::SwapMode;
using rewrite::test::Swapper;

namespace {

struct Way {
  const char *name;
  SwapMode mode;
  bool wave, after;
};
constexpr Way kWays[] = {
    {"identity", SwapMode::Identity, false, false},          {"count.lane.before", SwapMode::Count, false, false},
    {"count.wave.before", SwapMode::Count, true, false},     {"hostile.lane.before", SwapMode::Hostile, false, false},
    {"hostile.wave.before", SwapMode::Hostile, true, false}, {"hostile.lane.after", SwapMode::Hostile, false, true},
    {"hostile.wave.after", SwapMode::Hostile, true, true},
};

Result<void> run(const char *path, std::string_view target, const char *hooks, uint64_t every) {
  const object::Container container = LUTHIER_TRY(object::Container::open(path));
  const auto form = static_cast<rewrite::HookForm>(LUTHIER_TRY(env::choice(env::kHookForm, 0)));
  unsigned objects = 0;
  for (const object::Image &image : LUTHIER_TRY(container.images())) {
    const auto object = image.codeObject();
    if (!object || object->targetId() != target)
      continue;
    ++objects;
    for (const Way &way : kWays) {
      const auto swapper = LUTHIER_TRY(Swapper::create({.mode = way.mode,
                                                        .wave = way.wave,
                                                        .after = way.after,
                                                        .every = every,
                                                        .kernel = {},
                                                        .hooks = hooks,
                                                        .form = form}));
      const auto swapped = LUTHIER_TRY(swapper->swap(*object));
      for (const nlohmann::json &kernel : swapped.account["kernels"]) {
        if (kernel.contains("error")) {
          fmt::print("{} {} error {}\n", way.name, kernel["name"].get<std::string>(),
                     kernel["error"].get<std::string>());
          continue;
        }
        const nlohmann::json &after = kernel["after"];
        fmt::print("{} {} placed {}/{} sgprs {} vgprs {} scratch {} waves {} inserted {} code {} descriptor {}\n",
                   way.name, kernel["name"].get<std::string>(), kernel["placed"].get<uint64_t>(),
                   kernel["asked"].get<uint64_t>(), after["sgprs"].get<unsigned>(), after["vgprs"].get<unsigned>(),
                   after["scratch"].get<unsigned>(), after["waves_per_simd"].get<unsigned>(),
                   kernel["inserted"].get<uint64_t>(), kernel["code_hash"].get<std::string>(),
                   kernel["descriptor_hash"].get<std::string>());
        for (const auto &[why, count] : kernel["rejected"].items())
          fmt::print("{} {} rejected {}: {}\n", way.name, kernel["name"].get<std::string>(), count.get<uint64_t>(),
                     why);
      }
    }
  }
  if (!objects)
    return makeError("{} has no code for {}", path, target);
  return {};
}

} // namespace

int main(int argc, char **argv) {
  uint64_t every = 7;
  if (argc < 4 ||
      (argc > 4 && (std::from_chars(argv[4], argv[4] + strlen(argv[4]), every).ec != std::errc() || every == 0))) {
    fmt::print(stderr, "usage: rewrite_hashes FILE TARGET HOOKS [EVERY]\n");
    return 2;
  }
  const auto done = run(argv[1], argv[2], argv[3], every);
  if (!done)
    fmt::print(stderr, "{}\n", done.error().message());
  return done ? 0 : 1;
}
