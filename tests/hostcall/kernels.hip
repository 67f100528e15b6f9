// Kernels that call the host through luthier/hostcall.h.
#include "luthier/hostcall.h"

using namespace luthier;
#define KERNEL extern "C" __attribute__((global)) void

using u32 = unsigned;
using u64 = unsigned long long;

static __attribute__((device)) u32 globalId() {
  return __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x();
}

/// Each work-item: service 42 with its number and seven more words.
KERNEL callAll(void *buffer, u64 *answers) {
  const u32 i = globalId();
  const hostcall::Answer answer = hostcall::callOn(buffer, 42, i, 1u, 2u, 3u, 4u, 5u, 6u, 7u);
  answers[2 * i] = answer.first;
  answers[2 * i + 1] = answer.second;
}

/// Only the lanes of a mask.
KERNEL callMasked(void *buffer, u64 mask, u64 *answers) {
  const u32 i = __builtin_amdgcn_workitem_id_x();
  if (mask >> i & 1)
    answers[i] = hostcall::callOn(buffer, 42, i).first;
}

/// Lanes go different ways: other services, other numbers of calls, calls inside loops and conditions.
KERNEL callDivergent(void *buffer, u64 *answers) {
  const u32 i = globalId();
  u64 value = i;
  for (u32 n = 0; n < i % 5; ++n) {
    if (i % 3 == 0)
      value = hostcall::callOn(buffer, 42, value).first;
    else
      value = hostcall::callOn(buffer, 43, value, n).first;
    if (value % 7 == 0)
      break;
  }
  answers[i] = value;
}

/// Many calls of each wave.
KERNEL callOften(void *buffer, u32 calls, u64 *answers) {
  const u32 i = globalId();
  u64 value = i;
  for (u32 n = 0; n < calls; ++n)
    value = hostcall::callOn(buffer, 42, value).first;
  answers[i] = value;
}

/// How words are passed.
KERNEL callTypes(void *buffer, u64 *answers) {
  enum Color : short { kRed = -3 };
  const int negative = -5 - static_cast<int>(__builtin_amdgcn_workitem_id_x());
  hostcall::callOn(buffer, 44, negative, 3u, 1.5f, 2.25, kRed, buffer, true, 'x');
  hostcall::callOn(buffer, 45);
  answers[0] = 1;
}

/// The buffer comes as a hidden argument.
KERNEL callHidden(u64 *answers) {
  const u32 i = globalId();
  answers[i] = hostcall::call(42, i).first;
}

KERNEL printPlain(void *buffer, int *results) {
  const u32 i = __builtin_amdgcn_workitem_id_x();
  results[i] = hostcall::printfOn(buffer, "hello\n");
}

/// Words of all kinds, more than two packets.
KERNEL printWords(void *buffer, const int *numbers, const float *floats) {
  const u32 i = globalId();
  hostcall::printfOn(buffer, "item %u: %d %5d|%-5d|%05d %#x %lld %.3f %e %c %p %%\n", i, numbers[i], numbers[i],
                     numbers[i], numbers[i] < 0 ? 0 : numbers[i], numbers[i], static_cast<long long>(numbers[i]) << 32,
                     floats[i], static_cast<double>(floats[i]), 'a' + static_cast<int>(i % 26),
                     reinterpret_cast<void *>(static_cast<u64>(i) + 0x1000));
}

/// Strings of different lengths in the lanes of a wave, in all places.
KERNEL printStrings(void *buffer, const char *const *strings) {
  const u32 i = globalId();
  hostcall::printfOn(buffer, "<%s>%u<%10s><%.3s>%s", strings[i], i, strings[i], strings[i],
                     i % 2 ? "odd\n"
                           : "an even number, which is a longer text than fits into one packet of 56 bytes\n");
}

KERNEL printLiteral(void *buffer, const char *null) {
  const int count =
      hostcall::printfOn(buffer, "%s, %s!%s\n", hostcall::literal("hello"), hostcall::literal("world"), null);
  hostcall::printErrorOn(buffer, "%d\n", count);
}

/// Lanes that print and lanes that do not.
KERNEL printDivergent(void *buffer) {
  const u32 i = globalId();
  if (i % 3 == 1)
    hostcall::printfOn(buffer, "one %u\n", i);
  else if (i % 3 == 2)
    for (u32 n = 0; n < i % 4; ++n)
      hostcall::printfOn(buffer, "two %u %u\n", i, n);
}

KERNEL printNowhere(int *result) { *result = hostcall::printf("nobody reads this\n"); }

KERNEL assertSmall(void *buffer, const int *numbers) {
  const u32 i = globalId();
  LUTHIER_ASSERT_ON(buffer, numbers[i] % 100 < 50);
}

KERNEL assertHidden(int number) { LUTHIER_ASSERT(number == 1 && "a reason"); }
