// One line for each lane of a store.
#include <luthier/hook.h>
#include <luthier/hostcall.h>

LUTHIER_PER_LAUNCH uint64_t stores; // of single lanes

namespace {

template <unsigned N, class... Values>
__device__ void print(const char (&format)[N], uint64_t pc, uint64_t limit, uint64_t address, Values... values) {
  if (luthier::atomicAdd(stores, 1) >= limit)
    return;
  luthier::printf(format, luthier::launchNumber(), luthier::workgroupId(0), luthier::workgroupId(1),
                  luthier::workgroupId(2), luthier::workitemId(0), luthier::workitemId(1), luthier::workitemId(2), pc,
                  address, values...);
}

#define WHERE "launch %lu group %u,%u,%u thread %u,%u,%u pc 0x%lx address 0x%lx value "
using Three = uint32_t __attribute__((ext_vector_type(3)));
using Four = uint32_t __attribute__((ext_vector_type(4)));

} // namespace

// By the number of registers that are stored; LDS and scratch have addresses of 32 bits. Up to four bytes come from bit
// `shift` of their register on.
#define STORES(name, Address)                                                                                          \
  LUTHIER_HOOK(lane)                                                                                                   \
  void name##1(uint64_t pc, uint64_t limit, uint32_t bytes, uint32_t shift, Address address, uint32_t value) {         \
    const uint32_t bits = 8 * bytes;                                                                                   \
    value = value >> shift & (bits < 32 ? (1u << bits) - 1 : ~0u);                                                     \
    print(WHERE "0x%0*x\n", pc, limit, address, 2 * bytes, value);                                                     \
  }                                                                                                                    \
  LUTHIER_HOOK(lane) void name##2(uint64_t pc, uint64_t limit, Address address, uint64_t value) {                      \
    print(WHERE "0x%08x 0x%08x\n", pc, limit, address, static_cast<uint32_t>(value),                                   \
          static_cast<uint32_t>(value >> 32));                                                                         \
  }                                                                                                                    \
  LUTHIER_HOOK(lane) void name##3(uint64_t pc, uint64_t limit, Address address, Three value) {                         \
    print(WHERE "0x%08x 0x%08x 0x%08x\n", pc, limit, address, value.x, value.y, value.z);                              \
  }                                                                                                                    \
  LUTHIER_HOOK(lane) void name##4(uint64_t pc, uint64_t limit, Address address, Four value) {                          \
    print(WHERE "0x%08x 0x%08x 0x%08x 0x%08x\n", pc, limit, address, value.x, value.y, value.z, value.w);              \
  }
STORES(store, uint64_t)
STORES(local, uint32_t)
