// What a tool can write wrong about its hooks: each CASE but none must not compile.
#include "compile_hooks.h"

using namespace luthier;

static_assert(std::is_same_v<decltype(hooks::my::types), const Hook<bool, int8_t, uint16_t, int32_t, int64_t, float,
                                                                    double, _Float16, const void *, uint8_t>>);
static_assert(std::is_same_v<decltype(hooks::wide), const Hook<std::array<uint32_t, 4>>>);
static_assert(std::is_same_v<decltype(hooks::inside), const Hook<std::array<std::byte, 24>>>);
static_assert(std::is_same_v<decltype(hooks::plainC), const Hook<uint32_t>>);
static_assert(std::is_same_v<decltype(hooks::total), const Variable<uint64_t, VariableKind::PerLaunch>>);
static_assert(std::is_same_v<decltype(hooks::table), const Variable<uint32_t[12], VariableKind::Device>>);
static_assert(
    std::is_same_v<decltype(hooks::pairs), const Variable<std::array<std::byte, 16>[5], VariableKind::Device>>);
static_assert(std::is_same_v<decltype(hooks::memory), const Variable<void *, VariableKind::Device>>);

static_assert(std::is_same_v<decltype(hooks::n), const Variable<uint32_t, VariableKind::Device>>);
static_assert(std::is_same_v<decltype(hooks::x), const Variable<uint32_t, VariableKind::Device>>);
static_assert(std::is_same_v<decltype(hooks::i), const Hook<uint32_t>>);

struct Use : Tool {
  void instrument(Kernel &kernel, Site at) override {
    const float real = 1;
    const uint64_t large = 1;
    at.entry(kernel).call(hooks::count, 1).call(hooks::count, arg::m0()).call(hooks::flush);
    at.exit(kernel).call(hooks::my::types, true, -1, 2, large > 0, large, real, real, arg::reg(vgpr(0)), &real, 3);
    at.exit(kernel).call(hooks::wide, arg::reg({vgpr(0), 4}));
    at.exit(kernel).call(hooks::access, arg::address(), arg::width()).call(hooks::to, arg::pc());
    at.exit(kernel).call(hooks::access, arg::exec(), arg::scc()).call(hooks::access, arg::kernarg("p"), arg::result());
    at.exit(kernel).call(hooks::here).every(10).every(10, 3).when(hooks::chosen);
    struct Range {
      uint64_t begin = 0, end = 0;
      uint8_t tag = 0;
    };
    at.exit(kernel).call(hooks::access, arg::callee(), 1).when(hooks::inside, Range{});
    at.exit(kernel).call(hooks::wide, std::array<float, 4>{1, 2, 3, 4}).call(hooks::inside, arg::reg({vgpr(0), 6}));
#if defined(CASE_name)
    at.exit(kernel).call(hooks::cuont, 1);
#elif defined(CASE_missing)
    at.exit(kernel).call(hooks::count);
#elif defined(CASE_surplus)
    at.exit(kernel).call(hooks::flush, 1);
#elif defined(CASE_type)
    at.exit(kernel).call(hooks::count, "one");
#elif defined(CASE_real)
    at.exit(kernel).call(hooks::count, real);
#elif defined(CASE_pointer)
    at.exit(kernel).call(hooks::count, &real);
#elif defined(CASE_bits)
    at.exit(kernel).call(hooks::count, large);
#elif defined(CASE_pair)
    at.exit(kernel).call(hooks::count, arg::exec());
#elif defined(CASE_half)
    at.exit(kernel).call(hooks::access, arg::reg(vgpr(0)), arg::width());
#elif defined(CASE_swapped)
    at.exit(kernel).call(hooks::access, arg::width(), arg::address());
#elif defined(CASE_number)
    at.exit(kernel).call(hooks::to, arg::width());
#elif defined(CASE_structure)
    at.exit(kernel).call(hooks::inside, std::array<uint64_t, 2>{});
#elif defined(CASE_scalar)
    at.exit(kernel).call(hooks::inside, large);
#elif defined(CASE_copied)
    at.exit(kernel).call(hooks::inside, std::string("text"));
#elif defined(CASE_predicate)
    at.exit(kernel).call(hooks::here).when(hooks::inside);
#elif defined(CASE_wide_when)
    at.exit(kernel).call(hooks::here).when(hooks::seen);
#elif defined(CASE_when)
    at.exit(kernel).call(hooks::here).when(hooks::total);
#endif
  }
  void finished(const Launch &launch) override {
    report().row(launch.kernel().name(), launch.read(hooks::total), read(hooks::table)[3]);
    for (const SiteValue<uint64_t> &site : read(hooks::hits))
      report().row(site.kernel, site.text(), site.value);
    static_assert(std::is_same_v<decltype(read(hooks::pair)), std::vector<SiteValue<std::array<float, 2>>>>);
#if defined(CASE_variable)
    launch.read(hooks::totla);
#elif defined(CASE_storage)
    launch.read(hooks::memory);
#elif defined(CASE_wave)
    read(hooks::seen);
#elif defined(CASE_site)
    launch.read(hooks::hits);
#endif
  }
};
LUTHIER_TOOL(Use)
