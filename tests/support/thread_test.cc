#include "support/thread.h"

#include <gtest/gtest.h>

#include <csignal>
#include <pthread.h>
#include <thread>

namespace luthier {
namespace {

TEST(InternalThread, TakesNoSignalsButThatOfItsOwnAbort) {
  sigset_t blocked;
  std::thread([&] {
    becomeInternalThread("test");
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  }).join();
  for (const int signal : {SIGINT, SIGTERM, SIGCHLD, SIGUSR1, SIGALRM})
    EXPECT_EQ(sigismember(&blocked, signal), 1) << signal;
  EXPECT_EQ(sigismember(&blocked, SIGABRT), 0);
}

} // namespace
} // namespace luthier
