// More memory than any GPU has.
#include <luthier/hook.h>
#define TWO_GIB (1ull << 28)
#define HUGE(n) LUTHIER_DEVICE uint64_t huge##n[TWO_GIB - 1];
#define TEN(n)                                                                                                         \
  HUGE(n##0) HUGE(n##1) HUGE(n##2) HUGE(n##3) HUGE(n##4) HUGE(n##5) HUGE(n##6) HUGE(n##7) HUGE(n##8) HUGE(n##9)
#define HUNDRED(n) TEN(n##0) TEN(n##1) TEN(n##2) TEN(n##3) TEN(n##4) TEN(n##5) TEN(n##6) TEN(n##7) TEN(n##8) TEN(n##9)
HUNDRED(1) HUNDRED(2) HUNDRED(3) HUNDRED(4) HUNDRED(5) LUTHIER_HOOK(wave) void count(uint32_t n) {
  luthier::atomicAdd(huge100[0], static_cast<uint64_t>(n));
}
