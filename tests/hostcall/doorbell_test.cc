#include "hostcall/doorbell.h"

#include "amd_hostcall.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace luthier::hostcall {
namespace {

using namespace std::chrono_literals;

TEST(Doorbell, RingChangesTheValue) {
  auto doorbell = Doorbell::create();
  ASSERT_TRUE(doorbell);
  const uint64_t before = (*doorbell)->value();
  (*doorbell)->ring();
  EXPECT_EQ((*doorbell)->value(), before + 1);
  ringMemory((*doorbell)->handle());
  EXPECT_EQ((*doorbell)->value(), before + 2);
}

TEST(Doorbell, LooksLikeAnHsaSignalWithoutInterrupt) {
  auto doorbell = Doorbell::create();
  const auto *words = reinterpret_cast<const uint64_t *>((*doorbell)->handle());
  EXPECT_EQ(words[0], 1u); // AMD_SIGNAL_KIND_USER
  EXPECT_EQ(words[1], (*doorbell)->value());
  EXPECT_EQ(words[2], 0u); // event mailbox
  EXPECT_EQ((*doorbell)->handle() % 64, 0u);
}

TEST(Doorbell, SleepEndsWhenSomebodyRings) {
  auto doorbell = Doorbell::create();
  for (int n = 0; n < 100; ++n) {
    const uint64_t seen = (*doorbell)->value();
    std::thread ringer([&] { ringMemory((*doorbell)->handle()); });
    while ((*doorbell)->value() == seen)
      (*doorbell)->sleep(seen, 10s);
    ringer.join();
  }
}

TEST(Doorbell, SleepEndsWhenNobodyRings) {
  auto doorbell = Doorbell::create();
  (*doorbell)->sleep((*doorbell)->value(), 100us);
}

TEST(Doorbell, MayBeRungWhenItIsGone) {
  uint64_t handle;
  {
    auto doorbell = Doorbell::create();
    handle = (*doorbell)->handle();
  }
  ringMemory(handle);
}

TEST(Doorbell, InMemoryOfTheCallers) {
  alignas(64) wire::Signal memory;
  auto doorbell = Doorbell::create(&memory);
  ASSERT_TRUE(doorbell);
  EXPECT_EQ((*doorbell)->handle(), reinterpret_cast<uintptr_t>(&memory));
  EXPECT_EQ(Doorbell::create(reinterpret_cast<char *>(&memory) + 8).error().code(),
            AMD_HOSTCALL_ERROR_INCORRECT_ALIGNMENT);
}

} // namespace
} // namespace luthier::hostcall
