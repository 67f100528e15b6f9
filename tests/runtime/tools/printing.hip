// Hooks that call the host, one for each thing that may go wrong.
#include <luthier/hook.h>
#include <luthier/hostcall.h>

using luthier::laneId;
using luthier::printf;

LUTHIER_HOOK(lane) void lanes(uint64_t pc) {
  printf("lane %u of %u at %llx\n", laneId(), luthier::workgroupId(), static_cast<unsigned long long>(pc));
}

LUTHIER_HOOK(lane) void one() {
  const uint64_t lanes = luthier::exec();
  if (luthier::isFirstLane())
    printf("lane %u speaks for %016llx\n", laneId(), static_cast<unsigned long long>(lanes));
}

// Two calls, for different lanes.
LUTHIER_HOOK(lane) void divergent() {
  if (laneId() & 1)
    printf("odd %u\n", luthier::workitemId());
  else if (laneId() % 4 == 0)
    printf("four %u\n", luthier::workitemId());
}

LUTHIER_HOOK(wave) void wave(uint64_t pc) {
  printf("wave of %u at %llx: %016llx\n", luthier::workgroupId(), static_cast<unsigned long long>(pc),
         static_cast<unsigned long long>(luthier::exec()));
}

LUTHIER_DEVICE char text[32] = "a text of the device";

// All that printf can be given.
LUTHIER_HOOK(lane) void kinds(uint64_t pc) {
  if (laneId() != 5)
    return;
  printf("%s|%s|%s|%d|%5.2f|%p|%llx|%lld|%c|%%|%-6s|%08.3e\n", luthier::hostcall::literal("literal"), text,
         luthier::workitemId() == 5 ? "five" : "not five", -7, 2.5f, reinterpret_cast<void *>(0x123456789abcdef0ull),
         0xfedcba9876543210ull, -5'000'000'000ll, 'x', "ab", 12345.678);
}

// More words than a packet has, and than two have.
LUTHIER_HOOK(lane) void longer() {
  const unsigned n = laneId();
  if (n >= 3)
    return;
  printf("%u %u %u %u %u %u %u %u %u %u %u %u %u %u %u %u %u %u %u %u end\n", n, n + 1, n + 2, n + 3, n + 4, n + 5,
         n + 6, n + 7, n + 8, n + 9, n + 10, n + 11, n + 12, n + 13, n + 14, n + 15, n + 16, n + 17, n + 18, n + 19);
}

LUTHIER_HOOK(lane) void check(uint32_t most) { LUTHIER_ASSERT(luthier::workitemId() < most && "as the test says"); }
LUTHIER_HOOK(wave) void checkWave(uint32_t most) { LUTHIER_ASSERT(luthier::workgroupId() < most); }

// Whatever the kernel computes must not depend on this one, wherever it is.
LUTHIER_HOOK(lane) void everywhere(uint64_t pc) {
  if (luthier::isFirstLane() && luthier::workgroupId() == 0)
    printf("%llx\n", static_cast<unsigned long long>(pc));
}

// A function of the tool's, called on the host.
LUTHIER_HOOK(lane) void ask(const void *function) {
  const auto answer = luthier::hostcall::call(luthier::hostcall::wire::kFunctionCall, function, luthier::workitemId());
  if (answer.first != luthier::workitemId() * 3 + 1)
    printf("%u is wrong\n", static_cast<unsigned>(answer.first));
}

// A service that does not exist.
LUTHIER_HOOK(wave) void unknown() { luthier::hostcall::call(4711, 1); }
