#include "support/thread.h"

#include <pthread.h>
#include <signal.h>

namespace luthier {

void becomeInternalThread(const char *name) {
  pthread_setname_np(pthread_self(), name);
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

} // namespace luthier
