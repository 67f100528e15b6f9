// libluthier-exit.so: lets tools write their results when the application ends without cleaning up.
//
// exit() and a return from main run atexit handlers, libluthier.so's among them. _exit, _Exit and quick_exit do not;
// they are interposed here, which takes a library that is loaded first. `luthier run --tool` preloads this one. exit is
// interposed for tools that call it where it must not run (src/runtime/exit_flush.h); a return from main does not pass.
// libluthier.so is loaded by ROCr, privately and late, so nothing here can find it: it finds us, and says what to call
// (src/runtime/exit_flush.h).
//
// It also tells the user when the application never started HSA, so that no tool was even loaded: nobody else could.
//
// The library is in every child process too. A child of fork() that ends with _exit has a copy of its parent's results,
// and one of vfork() even the parent's memory: whoever did not register does not flush. Plain C on libc alone.
//
// Not covered: a process that replaces itself by exec, and raw system calls.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { idle, flushing, flushed };

static void (*flush)(void);
static void (*beforeExit)(int);
static pid_t owner;
static int state;
static long flushingThread;

static void (*nextExit)(int), (*nextExit2)(int), (*nextQuickExit)(int), (*nextFullExit)(int);

static pid_t application; // this process, if it is what `luthier run` has become; 0 in its children
static int strict;

// A process that has started others may have left the work to them, and what they saw is not known here.
static int startedOthers(void) {
  struct rusage children;
  return getrusage(RUSAGE_CHILDREN, &children) == 0 && children.ru_maxrss > 0;
}

// The status to end with.
static int checkHsa(int status) {
  if (application != getpid() || __atomic_load_n(&owner, __ATOMIC_ACQUIRE) != 0 || startedOthers())
    return status;
  application = 0; // once
  static const char warning[] =
      "luthier: warning: the application has not started HSA: no tool was loaded, and no kernel was launched\n";
  static const char error[] =
      "luthier: error: the application has not started HSA: no tool was loaded, and no kernel was launched\n";
  const char *text = strict ? error : warning;
  if (write(STDERR_FILENO, text, strlen(text)) < 0)
    return status;
  return strict && status == 0 ? 1 : status;
}

static void onExit(int status, void *unused) {
  (void)unused;
  const int wanted = checkHsa(status);
  if (wanted == status)
    return;
  fflush(NULL);
  for (;;)
    syscall(SYS_exit_group, wanted);
}

// Early, so that ending takes no lock of the dynamic linker's.
__attribute__((constructor)) static void findNext(void) {
  const char *process = secure_getenv("LUTHIER_APPLICATION"), *asked = secure_getenv("LUTHIER_STRICT");
  if (process && strtol(process, NULL, 10) == getpid()) {
    application = getpid();
    strict = asked && strcmp(asked, "1") == 0;
    on_exit(onExit, NULL);
  }
  nextExit = (void (*)(int))dlsym(RTLD_NEXT, "_exit");
  nextExit2 = (void (*)(int))dlsym(RTLD_NEXT, "_Exit");
  nextQuickExit = (void (*)(int))dlsym(RTLD_NEXT, "quick_exit");
  nextFullExit = (void (*)(int))dlsym(RTLD_NEXT, "exit");
}

// For libluthier.so: `function` is called once, before this process ends by one of the three; `exiting` whenever exit
// is called, and it need not return.
EXPORT void luthierRegisterFlush(void (*function)(void), void (*exiting)(int)) {
  flush = function;
  beforeExit = exiting;
  __atomic_store_n(&state, idle, __ATOMIC_RELAXED);
  __atomic_store_n(&owner, getpid(), __ATOMIC_RELEASE);
}

static void flushResults(void) {
  if (__atomic_load_n(&owner, __ATOMIC_ACQUIRE) != getpid())
    return;
  const long self = syscall(SYS_gettid);
  int expected = idle;
  if (__atomic_compare_exchange_n(&state, &expected, flushing, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    __atomic_store_n(&flushingThread, self, __ATOMIC_RELAXED);
    flush();
    __atomic_store_n(&state, flushed, __ATOMIC_RELEASE);
    return;
  }
  // Another thread is at it: ending now would cut it short. It may be this one, by way of a signal handler.
  for (int n = 0; n < 1000 && __atomic_load_n(&flushingThread, __ATOMIC_RELAXED) != self &&
                  __atomic_load_n(&state, __ATOMIC_ACQUIRE) == flushing;
       ++n) {
    const struct timespec moment = {0, 10 * 1000 * 1000};
    nanosleep(&moment, NULL);
  }
}

static _Noreturn void end(void (*next)(int), int status) {
  flushResults();
  status = checkHsa(status);
  if (next)
    next(status);
  for (;;)
    syscall(SYS_exit_group, status);
}

EXPORT _Noreturn void _exit(int status) { end(nextExit, status); }
EXPORT _Noreturn void _Exit(int status) { end(nextExit2, status); }
EXPORT _Noreturn void quick_exit(int status) { end(nextQuickExit, status); }
EXPORT _Noreturn void exit(int status) {
  if (__atomic_load_n(&owner, __ATOMIC_ACQUIRE) == getpid())
    beforeExit(status);
  if (nextFullExit)
    nextFullExit(status);
  for (;;)
    syscall(SYS_exit_group, status);
}
