#include "runtime/kernel_identity.h"

#include <gtest/gtest.h>

#include <string_view>

namespace luthier::runtime {
namespace {

uint64_t digest(std::string_view text) { return digestOf(std::as_bytes(std::span(text))); }

TEST(KernelIdentities, SameCodeNameAndGpu) {
  KernelIdentities identities;
  const auto first = identities.of(1, "_Z4fillPi", "fill(int*)", 0);
  first->launches += 3;
  EXPECT_EQ(identities.of(1, "_Z4fillPi", "fill(int*)", 0)->launches, 3u);
  EXPECT_EQ(first->number, 1u);
  EXPECT_EQ(identities.of(2, "_Z4fillPi", "fill(int*)", 0)->number, 2u);
  EXPECT_EQ(identities.of(1, "_Z4copyPi", "copy(int*)", 0)->number, 3u);
  EXPECT_EQ(identities.of(1, "_Z4fillPi", "fill(int*)", 1)->number, 4u);
  EXPECT_EQ(identities.find(3)->name, "copy(int*)");
  EXPECT_EQ(identities.find(0), nullptr);
  EXPECT_EQ(identities.find(5), nullptr);
}

TEST(Digest, EveryByteCounts) {
  const std::string text(100, 'a');
  for (size_t n = 0; n < text.size(); ++n) {
    std::string other = text;
    other[n] ^= 1;
    EXPECT_NE(digest(other), digest(text)) << n;
  }
  EXPECT_NE(digest("a"), digest(std::string_view("a\0", 2)));
  EXPECT_NE(digest(""), digest(std::string_view("\0", 1)));
  EXPECT_EQ(digest("abcdefghi"), digest("abcdefghi"));
}

} // namespace
} // namespace luthier::runtime
