// rocPRIM, a library written for real hardware: an inclusive scan (decoupled look-back: workgroups wait for each
// other's flags in global memory), a reduction, and two kinds of sort of the first part of the array.
#include "sample.h"

#include <cstring> // which rocPRIM 4.2 uses without asking for it

// rocPRIM is used as shipped; its own warnings are not ours.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Weverything"
#include <rocprim/rocprim.hpp>
#pragma clang diagnostic pop

#include <algorithm>

// rocPRIM's protocol: the first call only says how much temporary storage the second needs.
template <typename Algorithm> void runWithStorage(Algorithm algorithm) {
  size_t bytes = 0;
  HIP_CHECK(algorithm(nullptr, bytes));
  sample::DeviceArray<char> storage(bytes);
  HIP_CHECK(algorithm(storage.data(), bytes));
  HIP_CHECK(hipDeviceSynchronize());
}

// Left alone, rocPRIM merges sorted blocks up to a few million keys; this configuration goes digit by digit.
#if ROCPRIM_VERSION_MAJOR >= 3
using DigitByDigit =
    rocprim::radix_sort_config<rocprim::default_config, rocprim::default_config, rocprim::default_config, 0>;
#else
using DigitByDigit = rocprim::radix_sort_config<8, 7, rocprim::kernel_config<256, 2>, rocprim::kernel_config<256, 9>,
                                                rocprim::kernel_config<256, 15>, rocprim::kernel_config<256, 15>, 0>;
#endif

template <typename Config>
void sortAndCheck(const char *what, const sample::DeviceArray<unsigned> &in, const sample::DeviceArray<unsigned> &out,
                  const std::vector<unsigned> &expected) {
  HIP_CHECK(hipMemset(out.data(), 0, out.bytes()));
  runWithStorage([&](void *storage, size_t &bytes) {
    return rocprim::radix_sort_keys<Config>(storage, bytes, in.data(), out.data(), expected.size());
  });
  std::vector<unsigned> result = out.toHost();
  for (size_t i = 0; i < expected.size(); ++i)
    if (result[i] != expected[i])
      sample::fail("%s: element %zu is %u, expected %u", what, i, result[i], expected[i]);
}

int main(int argc, char **argv) {
  int n = sample::sizeArgument(argc, argv, 100'003);
  int sortedSize = std::min(n, 20'000);
  sample::Random random;
  std::vector<unsigned> in(n);
  for (unsigned &value : in)
    value = uint32_t(random.bits());

  sample::DeviceArray<unsigned> deviceIn(in), deviceOut(n), deviceSum(1);
  runWithStorage([&](void *storage, size_t &bytes) {
    return rocprim::inclusive_scan(storage, bytes, deviceIn.data(), deviceOut.data(), n, rocprim::plus<unsigned>());
  });
  std::vector<unsigned> scanned = deviceOut.toHost();
  unsigned sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += in[i];
    if (scanned[i] != sum)
      sample::fail("scan[%d] = %u, expected %u", i, scanned[i], sum);
  }

  runWithStorage([&](void *storage, size_t &bytes) {
    return rocprim::reduce(storage, bytes, deviceIn.data(), deviceSum.data(), n, rocprim::plus<unsigned>());
  });
  if (unsigned reduced = deviceSum.toHost()[0]; reduced != sum)
    sample::fail("the reduction is %u, expected %u", reduced, sum);

  std::vector<unsigned> sorted(in.begin(), in.begin() + sortedSize);
  std::sort(sorted.begin(), sorted.end());
  sortAndCheck<rocprim::default_config>("sort by merging", deviceIn, deviceOut, sorted);
  sortAndCheck<DigitByDigit>("sort by digits", deviceIn, deviceOut, sorted);

  std::printf("scanned and reduced %d numbers to %u; sorted %d, their median is %u\n", n, sum, sortedSize,
              sorted[sortedSize / 2]);
  return sample::pass();
}
