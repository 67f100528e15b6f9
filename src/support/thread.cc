#include "support/thread.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

namespace luthier {

void becomeInternalThread(const char *name) {
  pthread_setname_np(pthread_self(), name);
  sigset_t all;
  sigfillset(&all);
  sigdelset(&all, SIGABRT);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

double threadSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

} // namespace luthier
