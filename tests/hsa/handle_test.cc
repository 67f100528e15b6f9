// The checks of destroyed objects that debug builds have (this program is built with them).
#include "fixture.h"

namespace luthier::hsa::test {
namespace {

using testing::HasSubstr;

static_assert(lifetime::kChecked);

class HandleTest : public HsaTest {
protected:
  /// What an operation logged.
  template <class Operation> static std::string logged(Operation operation) {
    testing::internal::CaptureStderr();
    operation();
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(HandleTest, OperationsOnADestroyedSignalAreRefused) {
  OwnedSignal owned = value(Signal::create(3));
  const Signal stale = *owned;
  EXPECT_TRUE(stale.alive());
  succeed(owned.destroy());
  EXPECT_FALSE(stale.alive());
  EXPECT_THAT(errorOf(stale.destroy()), HasSubstr("destroying on a destroyed signal (0x"));
  EXPECT_THAT(logged([&] { EXPECT_EQ(stale.load(), 0); }), HasSubstr("loading on a destroyed signal (0x"));
  EXPECT_THAT(logged([&] { stale.store(1); }), HasSubstr("storing on a destroyed signal"));
  EXPECT_THAT(logged([&] { stale.add(1); }), HasSubstr("is refused"));
  EXPECT_THAT(logged([&] { stale.subtract(1); }), HasSubstr("is refused"));
  EXPECT_THAT(logged([&] { EXPECT_EQ(stale.exchange(1), 0); }), HasSubstr("is refused"));
  EXPECT_THAT(logged([&] { EXPECT_EQ(stale.wait(HSA_SIGNAL_CONDITION_EQ, 3), std::nullopt); }),
              HasSubstr("is refused"));
}

// ROCr gives the same address again; the new signal is not mistaken for the old one.
TEST_F(HandleTest, AnAddressThatComesBackIsFine) {
  std::vector<OwnedSignal> kept;
  std::vector<Signal> stale;
  for (int n = 0; n < 2000; ++n) {
    OwnedSignal signal = value(Signal::create(n));
    EXPECT_EQ(signal->load(), n);
    if (!stale.empty() && stale.back() == *signal) {
      EXPECT_FALSE(stale.back().alive());
      EXPECT_TRUE(signal->alive());
      return;
    }
    stale.push_back(*signal);
    succeed(signal.destroy());
  }
  GTEST_SKIP() << "ROCr did not use an address twice";
}

TEST_F(HandleTest, OperationsOnADestroyedQueueAreRefused) {
  OwnedQueue owned = value(Queue::create(gpu(), 64));
  const Queue stale = *owned;
  succeed(owned.destroy());
  EXPECT_THAT(errorOf(stale.submit(barrier({}, {}))), HasSubstr("submitting on a destroyed queue"));
  EXPECT_THAT(errorOf(stale.destroy()), HasSubstr("is refused"));
  EXPECT_THAT(logged([&] { EXPECT_EQ(stale.size(), 0u); }), HasSubstr("is refused"));
  EXPECT_THAT(logged([&] { EXPECT_EQ(stale.slot(0), nullptr); }), HasSubstr("is refused"));
}

TEST_F(HandleTest, WhatAnExecutableHadGoesWithIt) {
  const std::vector<std::byte> elf = readFile(KERNELS);
  OwnedCodeObjectReader reader = value(CodeObjectReader::fromMemory(elf));
  OwnedExecutable executable = value(Executable::create());
  const LoadedCodeObject object = value(executable->load(gpu(), *reader));
  succeed(executable->freeze());
  const ExecutableSymbol kernel = value(executable->symbol("count.kd", gpu()));
  const Executable stale = *executable;
  const CodeObjectReader staleReader = *reader;
  succeed(executable.destroy());
  succeed(reader.destroy());
  EXPECT_THAT(errorOf(stale.profile()), HasSubstr("on a destroyed executable"));
  EXPECT_THAT(errorOf(stale.destroy()), HasSubstr("on a destroyed executable"));
  EXPECT_THAT(errorOf(stale.symbol("count.kd", gpu())), HasSubstr("on a destroyed executable"));
  EXPECT_THAT(errorOf(object.loadBase()), HasSubstr("on a destroyed loaded code object"));
  EXPECT_THAT(errorOf(kernel.name()), HasSubstr("on a destroyed executable symbol"));
  EXPECT_THAT(errorOf(kernel.kernelDescriptor()), HasSubstr("on a destroyed executable symbol"));
  EXPECT_THAT(errorOf(staleReader.destroy()), HasSubstr("on a destroyed code object reader"));
  const OwnedExecutable other = value(Executable::create());
  EXPECT_THAT(errorOf(other->load(gpu(), staleReader)), HasSubstr("destroyed code object reader"));
}

TEST_F(HandleTest, TheApplicationsDestructionsAreNoticed) {
  lifetime::watchApplication();
  lifetime::watchApplication();
  const std::vector<std::byte> elf = readFile(KERNELS);
  OwnedCodeObjectReader reader = value(CodeObjectReader::fromMemory(elf));
  const Executable executable = value(Executable::create()).release();
  const LoadedCodeObject object = value(executable.load(gpu(), *reader));
  const ExecutableSymbol kernel = value(executable.symbol("count.kd", gpu()));
  const CodeObjectReader plainReader = reader.release();
  const Signal signal = value(Signal::create(1)).release();
  AppQueue application(gpu(), 64);
  const Queue queue(application.raw());
  EXPECT_EQ(queue.size(), 64u);
  EXPECT_EQ(hsa_executable_destroy(executable.raw()), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_code_object_reader_destroy(plainReader.raw()), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_signal_destroy(signal.raw()), HSA_STATUS_SUCCESS);
  application.destroy();
  for (const bool alive :
       {executable.alive(), object.alive(), kernel.alive(), plainReader.alive(), signal.alive(), queue.alive()})
    EXPECT_FALSE(alive);
}

} // namespace
} // namespace luthier::hsa::test
