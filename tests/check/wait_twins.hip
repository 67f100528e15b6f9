// Pairs of kernels for `luthier check wait`: of each, `true` has a wait that is missing or too weak, and `false` the
// right one. Compilers make no such mistakes, so the code is assembly that gfx9 and gfx10 have in common; all other
// classes are in tests/vgpu/wave/waits_test.cc and wait_check_test.cc.
#include "sample.h"

#include <cstring>

namespace {

constexpr int kItems = 64;

#define CASE(name, issue, right, wrong, use)                                                                           \
  template <bool Faulty> __global__ void name(const int *from, int *to) {                                              \
    __shared__ int lds[kItems];                                                                                        \
    const int i = static_cast<int>(threadIdx.x);                                                                       \
    lds[i] = i;                                                                                                        \
    __syncthreads();                                                                                                   \
    const int *mine = from + i, *inLds = lds + i;                                                                      \
    const int offset = i * 4;                                                                                          \
    int result;                                                                                                        \
    if constexpr (Faulty)                                                                                              \
      asm volatile(issue wrong use "s_waitcnt vmcnt(0) lgkmcnt(0)"                                                     \
                   : "=&v"(result)                                                                                     \
                   : "v"(mine), "s"(from), "v"(offset), "v"(inLds)                                                     \
                   : "memory", "v40", "v41", "s40", "s41");                                                            \
    else                                                                                                               \
      asm volatile(issue right use "s_waitcnt vmcnt(0) lgkmcnt(0)"                                                     \
                   : "=&v"(result)                                                                                     \
                   : "v"(mine), "s"(from), "v"(offset), "v"(inLds)                                                     \
                   : "memory", "v40", "v41", "s40", "s41");                                                            \
    to[i] = result;                                                                                                    \
  }

CASE(vector_load, "global_load_dword v40, %1, off\n", "s_waitcnt vmcnt(0)\n", "", "v_mov_b32 %0, v40\n")
CASE(scalar_load, "s_load_dword s40, %2, 0x0\n", "s_waitcnt lgkmcnt(0)\n", "", "v_mov_b32 %0, s40\n")
CASE(lds_load, "ds_read_b32 v40, %3\n", "s_waitcnt lgkmcnt(0)\n", "s_waitcnt vmcnt(0)\n", "v_mov_b32 %0, v40\n")
CASE(flat_global, "flat_load_dword v40, %1\n", "s_waitcnt vmcnt(0) lgkmcnt(0)\n", "s_waitcnt lgkmcnt(0)\n",
     "v_mov_b32 %0, v40\n")
CASE(flat_lds, "flat_load_dword v40, %4\n", "s_waitcnt vmcnt(0) lgkmcnt(0)\n", "s_waitcnt vmcnt(0)\n",
     "v_mov_b32 %0, v40\n")
CASE(partial, "global_load_dword v40, %1, off\nglobal_load_dword v41, %1, off\n", "s_waitcnt vmcnt(1)\n",
     "s_waitcnt vmcnt(2)\n", "v_mov_b32 %0, v40\n")
CASE(load_then_alu, "global_load_dword v40, %1, off\n", "s_waitcnt vmcnt(0)\n", "",
     "v_mov_b32 v40, 7\nv_mov_b32 %0, v40\n")
CASE(lds_then_load, "ds_read_b32 v40, %3\n", "s_waitcnt lgkmcnt(0)\n", "",
     "global_load_dword v40, %1, off\ns_waitcnt vmcnt(0)\nv_mov_b32 %0, v40\n")
// Right both ways: the store has read its data, and loads of a kind return in order.
CASE(store_then_overwrite, "v_mov_b32 v40, 1\nds_write_b32 %3, v40\n", "s_waitcnt lgkmcnt(0)\n", "",
     "v_mov_b32 v40, 2\nv_mov_b32 %0, v40\n")
CASE(load_then_load, "global_load_dword v40, %1, off\n", "s_waitcnt vmcnt(0)\n", "",
     "global_load_dword v40, %1, off\ns_waitcnt vmcnt(0)\nv_mov_b32 %0, v40\n")

template <bool Faulty> void runAll() {
  int *from = nullptr, *to = nullptr;
  HIP_CHECK(hipMalloc(reinterpret_cast<void **>(&from), kItems * sizeof(int)));
  HIP_CHECK(hipMalloc(reinterpret_cast<void **>(&to), kItems * sizeof(int)));
  HIP_CHECK(hipMemset(from, 0, kItems * sizeof(int)));
  for (const auto kernel : {vector_load<Faulty>, scalar_load<Faulty>, lds_load<Faulty>, flat_global<Faulty>,
                            flat_lds<Faulty>, partial<Faulty>, load_then_alu<Faulty>, lds_then_load<Faulty>,
                            store_then_overwrite<Faulty>, load_then_load<Faulty>})
    kernel<<<2, kItems>>>(from, to);
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipDeviceSynchronize());
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2)
    sample::fail("usage: wait_twins safe|faulty");
  if (std::strcmp(argv[1], "faulty") == 0)
    runAll<true>();
  else
    runAll<false>();
  return sample::pass();
}
