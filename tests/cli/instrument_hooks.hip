// Hooks for the tests of `luthier instrument`.
#include <luthier/hook.h>
#include <luthier/hostcall.h>

LUTHIER_DEVICE uint64_t blocks;
LUTHIER_DEVICE uint64_t bytes;
LUTHIER_PER_WAVE uint64_t seen;

LUTHIER_HOOK(wave) void count(uint32_t n) { seen += n; }
LUTHIER_HOOK(wave) void flush() { luthier::atomicAdd(blocks, seen); }
LUTHIER_HOOK(lane) void record(uint64_t address, uint32_t width, uint64_t exec) {
  if (address & 1 && exec)
    luthier::atomicAdd(bytes, width);
}
LUTHIER_HOOK(wave) void print() { luthier::printf("here\n"); }
LUTHIER_HOOK(lane) uint32_t next(uint32_t x) { return x + 1; }
namespace my {
LUTHIER_HOOK(wave) void two(uint32_t n) { luthier::atomicAdd(blocks, n); }
LUTHIER_HOOK(wave) void two(uint64_t n) { luthier::atomicAdd(blocks, n); }
} // namespace my
