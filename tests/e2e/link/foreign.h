// The function that one code object provides and another one calls, in a form that the host can compute too. It is made
// to need more registers, and more stack, than its caller could guess.
#pragma once

#ifdef __AMDGCN__
#define FOREIGN static inline __attribute__((always_inline))
#define KEEP_IN_REGISTER(value) asm volatile("; %0" ::"v"(value))
#else
#define FOREIGN static inline
#define KEEP_IN_REGISTER(value) (void)(value)
#endif

constexpr int kValues = 120;

FOREIGN unsigned mixed(unsigned seed, unsigned extra) {
  volatile unsigned stack[96];
  for (unsigned n = 0; n < 96; ++n)
    stack[n] = seed * (n + 3) + extra;
  unsigned values[kValues];
#pragma unroll
  for (int n = 0; n < kValues; ++n)
    values[n] = stack[(seed + static_cast<unsigned>(n) * 7) % 96] ^ static_cast<unsigned>(n) << 20;
  // All of them at once.
#pragma unroll
  for (int n = 0; n < kValues; ++n)
    KEEP_IN_REGISTER(values[n]);
  unsigned sum = 0;
#pragma unroll
  for (int n = 0; n < kValues; ++n)
    sum = sum * 31 + values[n] * values[(n * 11) % kValues];
  return sum;
}

FOREIGN unsigned helped(unsigned value) { return value * 2654435761u + 97; }
