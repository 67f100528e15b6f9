// Memory beyond plain device memory, under the unmodified ROCr and HIP: registered, managed, pageable, of a peer, of
// another process, and what fork leaves of it.

#include "run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>

#include <cstdlib>

namespace luthier::e2e {
namespace {

using testing::HasSubstr;

struct MemoryKinds : testing::Test {
  void TearDown() override { unsetenv("HSA_XNACK"); }

  static Outcome run(const char *program, const char *what, const char *gpus = "gfx90a") {
    std::vector<std::string> command = {std::string(LUTHIER_PROGRAMS "/") + program};
    if (*what)
      command.emplace_back(what);
    return luthierRun({"--gpu", gpus}, command, 120);
  }
  static void expectPass(const char *what, const char *gpus = "gfx90a", const char *end = "PASS") {
    const Outcome outcome = run("memory_kinds", what, gpus);
    EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(end));
  }
};

TEST_F(MemoryKinds, RegisteredMemoryIsReadAndWrittenByKernels) { expectPass("registered"); }
TEST_F(MemoryKinds, ManagedMemory) { expectPass("managed"); }
TEST_F(MemoryKinds, PeersCopyAndAccess) { expectPass("peer", "gfx90a,gfx90a", "2 devices\nPASS"); }
TEST_F(MemoryKinds, FourPeersCopyAndAccess) { expectPass("peer", "gfx90a,gfx90a,gfx90a,gfx90a", "4 devices\nPASS"); }
TEST_F(MemoryKinds, FreeMemoryShrinksAndGrows) { expectPass("free"); }
TEST_F(MemoryKinds, AnotherProcessOpensAHandle) { expectPass("ipc"); }
TEST_F(MemoryKinds, AnotherProgramOpensAHandle) { expectPass("exec"); }
TEST_F(MemoryKinds, BothSidesOfForkUseTheGpu) { expectPass("fork_first"); }
TEST_F(MemoryKinds, ForkWhileTheGpuIsBusy) { expectPass("fork_later"); }

TEST_F(MemoryKinds, PageableMemoryNeedsXnack) {
  setenv("HSA_XNACK", "1", 1);
  const Outcome with = run("pageable", "");
  EXPECT_EQ(with.exitCode, 0) << with.output;
  EXPECT_THAT(with.output, HasSubstr("pageable 1\nPASS"));
  setenv("HSA_XNACK", "0", 1);
  EXPECT_THAT(run("pageable", "").output,
              testing::AnyOf(HasSubstr("hipErrorNoBinaryForGpu"), HasSubstr("hipErrorInvalidDeviceFunction")));
}

TEST_F(MemoryKinds, PageableMemoryThatIsGoneIsAFault) {
  setenv("HSA_XNACK", "1", 1);
  const Outcome outcome = run("pageable", "gone");
  // HIP 7 leaves it to the program to end.
  EXPECT_TRUE(outcome.signal == SIGABRT || outcome.exitCode == 1) << outcome.output;
  EXPECT_THAT(outcome.output,
              testing::AnyOf(HasSubstr("Memory access fault by GPU node-1"), HasSubstr("hipErrorIllegalAddress")));
}

} // namespace
} // namespace luthier::e2e
