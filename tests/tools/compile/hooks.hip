#include <luthier/hook.h>

LUTHIER_PER_LAUNCH uint64_t total;
LUTHIER_DEVICE int32_t table[3][4];
LUTHIER_DEVICE struct Pair {
  float a;
  double b;
} pairs[5];
LUTHIER_DEVICE void *memory;
LUTHIER_DEVICE uint32_t n, x;
LUTHIER_PER_WAVE uint64_t seen;
LUTHIER_PER_WAVE uint32_t chosen;

LUTHIER_PER_SITE uint64_t hits;
LUTHIER_PER_SITE float pair[2];

LUTHIER_HOOK(lane) void access(uint64_t address, uint32_t width) {}
LUTHIER_HOOK(lane) void to(const void *address) {}
LUTHIER_HOOK(wave) void here() { luthier::atomicAdd(hits, 1); }

enum class Kind : uint8_t { One };

LUTHIER_HOOK(wave) void count(uint32_t n) { seen += n; }
extern "C" LUTHIER_HOOK(wave) void i(uint32_t add) { seen += add; }
LUTHIER_HOOK(wave) void flush() { luthier::atomicAdd(total, seen); }
namespace my {
LUTHIER_HOOK(lane)
void types(bool b, int8_t i8, uint16_t u16, int32_t i32, int64_t i64, float f, double d, _Float16 h, const float *p,
           Kind k) {}
} // namespace my
struct Range {
  uint64_t begin, end;
  uint8_t tag;
};
LUTHIER_HOOK(lane) bool inside(Range range) { return range.begin < range.end; }
typedef uint32_t Four __attribute__((ext_vector_type(4)));
LUTHIER_HOOK(lane) void wide(Four data) {}
extern "C" LUTHIER_HOOK(wave) void plainC(int32_t n) { seen += static_cast<uint32_t>(n); }
