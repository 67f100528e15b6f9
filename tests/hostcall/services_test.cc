#include "hostcall/services.h"

#include <gtest/gtest.h>

namespace luthier::hostcall {
namespace {

int first(void *, uint32_t, uint64_t *) { return 1; }
int second(void *, uint32_t, uint64_t *) { return 2; }

TEST(Services, FindsWhatWasAdded) {
  Services services;
  EXPECT_FALSE(services.find(42));
  int state = 0;
  EXPECT_TRUE(services.add(42, first, &state));
  ASSERT_TRUE(services.find(42));
  EXPECT_EQ(services.find(42)->function, first);
  EXPECT_EQ(services.find(42)->state, &state);
  EXPECT_FALSE(services.find(43));
}

TEST(Services, DefaultIsForAllOthers) {
  Services services;
  EXPECT_TRUE(services.add(0, first, nullptr));
  EXPECT_TRUE(services.add(42, second, nullptr));
  EXPECT_EQ(services.find(0)->function, first);
  EXPECT_EQ(services.find(41)->function, first);
  EXPECT_EQ(services.find(UINT32_MAX)->function, first);
  EXPECT_EQ(services.find(42)->function, second);
}

TEST(Services, NoneTwice) {
  Services services;
  EXPECT_TRUE(services.add(42, first, nullptr));
  EXPECT_EQ(services.add(42, second, nullptr).error().code(), AMD_HOSTCALL_ERROR_INVALID_REQUEST);
  EXPECT_EQ(services.add(42, first, nullptr).error().code(), AMD_HOSTCALL_ERROR_INVALID_REQUEST);
  EXPECT_EQ(services.find(42)->function, first);
  EXPECT_EQ(services.add(1, first, nullptr).error().code(), AMD_HOSTCALL_ERROR_INVALID_REQUEST);
  EXPECT_EQ(services.add(2, first, nullptr).error().code(), AMD_HOSTCALL_ERROR_INVALID_REQUEST);
  EXPECT_EQ(services.add(44, nullptr, nullptr).error().code(), AMD_HOSTCALL_ERROR_NULLPTR);
}

} // namespace
} // namespace luthier::hostcall
