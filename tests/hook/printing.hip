// Hooks that call the host.
#include <luthier/hook.h>
#include <luthier/hostcall.h>

LUTHIER_HOOK(lane) void prints(uint32_t x) { luthier::printf("%u of %p\n", x, luthier::dispatchPtr()); }
LUTHIER_HOOK(wave) void printsOnce(uint64_t x) { luthier::printf("%lx %s\n", x, x & 1 ? "odd" : "even"); }
LUTHIER_HOOK(lane) void asserts(uint32_t x) { LUTHIER_ASSERT(x != 0); }
LUTHIER_HOOK(wave) uint64_t calls(uint64_t x) { return luthier::hostcall::call(42, x, 2.5).first; }
