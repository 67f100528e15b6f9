#include "runtime/kernel_filter.h"
#include "runtime/kernel_registry.h"

#include <gtest/gtest.h>

namespace luthier::runtime {
namespace {

/// The registry does not look into kernels.
KernelRegistry::Kernel fakeKernel() {
  const auto owner = std::make_shared<int>();
  return {owner, reinterpret_cast<InstrumentedKernel *>(owner.get())};
}

TEST(KernelRegistry, FindsWhatWasAdded) {
  KernelRegistry kernels;
  EXPECT_EQ(kernels.find(0x1000), nullptr);
  const auto kernel = fakeKernel();
  kernels.add(0x1000, 7, kernel);
  EXPECT_EQ(kernels.find(0x1000), kernel);
  EXPECT_EQ(kernels.find(0x1040), nullptr);
}

TEST(KernelRegistry, ForgetsTheKernelsOfAnExecutable) {
  KernelRegistry kernels;
  std::weak_ptr<InstrumentedKernel> gone;
  const auto stays = fakeKernel(), unknown = fakeKernel();
  {
    const auto kernel = fakeKernel();
    gone = kernel;
    kernels.add(0x1000, 7, kernel);
  }
  kernels.add(0x2000, 8, stays);
  kernels.add(0x3000, 0, unknown);
  kernels.forget(7);
  EXPECT_EQ(kernels.find(0x1000), nullptr);
  EXPECT_TRUE(gone.expired());
  EXPECT_EQ(kernels.find(0x2000), stays);
  EXPECT_EQ(kernels.find(0x3000), unknown);
  kernels.forget(0); // those whose code was not known
  EXPECT_EQ(kernels.find(0x3000), nullptr);
  EXPECT_EQ(kernels.find(0x2000), stays);
}

TEST(KernelFilter, NamesAndSymbols) {
  KernelFilter filter;
  EXPECT_TRUE(filter.wants("fill(int*)", "_Z4fillPi"));
  ASSERT_TRUE(filter.configure("^fill|_Z4copy", "double"));
  EXPECT_TRUE(filter.wants("fill(int*)", "_Z4fillPi"));
  EXPECT_TRUE(filter.wants("copy(int*)", "_Z4copyPi"));
  EXPECT_FALSE(filter.wants("refill(int*)", "_Z6refillPi"));
  EXPECT_FALSE(filter.wants("fill(double*)", "_Z4fillPd"));
}

TEST(KernelFilter, AnInvalidExpressionIsNamed) {
  KernelFilter filter;
  const auto configured = filter.configure("", "(open");
  ASSERT_FALSE(configured);
  EXPECT_NE(configured.error().message().find("'(open'"), std::string::npos);
}

} // namespace
} // namespace luthier::runtime
