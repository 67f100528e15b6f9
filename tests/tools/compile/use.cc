// What a tool can write wrong about its hooks: each CASE but none must not compile.
#include "compile_hooks.h"

using namespace luthier;

static_assert(std::is_same_v<decltype(hooks::my::types), const Hook<bool, int8_t, uint16_t, int32_t, int64_t, float,
                                                                    double, _Float16, const void *, uint8_t>>);
static_assert(std::is_same_v<decltype(hooks::wide), const Hook<std::array<uint32_t, 4>>>);
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
    at.entry(kernel).call(hooks::count, 1).call(hooks::count, arg::exec()).call(hooks::flush);
    at.exit(kernel).call(hooks::my::types, true, -1, 2, large > 0, large, real, real, arg::reg(vgpr(0)), &real, 3);
    at.exit(kernel).call(hooks::wide, arg::reg({vgpr(0), 4}));
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
#endif
  }
  void finished(const Launch &launch) override {
    report().row(launch.kernel().name(), launch.read(hooks::total), read(hooks::table)[3]);
#if defined(CASE_variable)
    launch.read(hooks::totla);
#elif defined(CASE_storage)
    launch.read(hooks::memory);
#elif defined(CASE_wave)
    read(hooks::seen);
#endif
  }
};
LUTHIER_TOOL(Use)
