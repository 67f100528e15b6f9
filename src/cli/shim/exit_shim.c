// libluthier-exit.so: lets tools write their results when the application ends without cleaning up.
//
// _exit, _Exit and quick_exit run no atexit handlers; they are interposed here, which takes a library that is loaded
// first. `luthier run --tool` preloads this one. exit() and a return from main do run them, but libluthier.so's comes
// after the destructors of whatever ROCr has constructed since it was loaded, and results can be read only while ROCr
// is whole. So both come by here first: exit is interposed, and so is what calls main.
// libluthier.so is loaded by ROCr, privately and late, so nothing here can find it: it finds us, and says what to call
// (src/runtime/exit_flush.h).
//
// The library is in every child process too. A child of fork() that ends with _exit has a copy of its parent's results,
// and one of vfork() even the parent's memory: whoever did not register does not flush. Plain C on libc alone.
//
// Children need not be GPU programs: where nobody registers, this library does nothing, with one exception. The process
// that `luthier run` became says at its end if neither it nor a child has started HSA, since its user waits for results
// that will not come. LUTHIER_RUN, "PID.TIME", names that process; LUTHIER_EXPECT_HSA asks for the word: "warn", or
// "strict" for exit status 1 in place of 0. A child that does start HSA leaves a mark, an empty file in /dev/shm, which
// the first process takes away.
//
// Not covered: a process that replaces itself by exec, and raw system calls.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
static int (*realMain)(int, char **, char **);

enum { quiet, warn, strict };
static int expectation;
static pid_t expecting; // the process that says so

// Of a child that has started HSA. False: this is no child of a `luthier run`.
static int markName(char *name, size_t size) {
  const char *run = secure_getenv("LUTHIER_RUN");
  if (!run || !*run || strspn(run, "0123456789.") != strlen(run))
    return 0;
  return snprintf(name, size, "/dev/shm/luthier-hsa-%s", run) < (int)size;
}

static int isFirstProcess(void) {
  const char *run = secure_getenv("LUTHIER_RUN");
  return run && (pid_t)strtol(run, NULL, 10) == getpid();
}

// The status to end with. Without allocation: a signal handler may be ending the process.
static int lookForHsa(int status) {
  if (expectation == quiet || expecting != getpid())
    return status;
  const int asked = expectation;
  expectation = quiet;
  char mark[128];
  const int started = __atomic_load_n(&owner, __ATOMIC_ACQUIRE) == getpid();
  if ((markName(mark, sizeof mark) && unlink(mark) == 0) || started)
    return status;
  static const char text[] = "no results: the application never started HSA, the runtime of HIP programs\n";
  const char *parts[] = {asked == strict ? "luthier: error: " : "luthier: warning: ", text};
  for (int n = 0; n < 2; ++n)
    if (write(STDERR_FILENO, parts[n], strlen(parts[n])) < 0)
      break; // nobody reads it
  return asked == strict && status == 0 ? 1 : status;
}

// Runs last at exit, or return from main: it was registered first.
static void atEnd(int status, void *unused) {
  (void)unused;
  const int last = lookForHsa(status);
  if (last == status)
    return;
  fflush(NULL); // what exit was about to do
  for (;;)
    syscall(SYS_exit_group, last);
}

// Early, so that ending takes no lock of the dynamic linker's.
__attribute__((constructor)) static void findNext(void) {
  const char *wanted = secure_getenv("LUTHIER_EXPECT_HSA");
  if (wanted && *wanted && isFirstProcess()) {
    expectation = strcmp(wanted, "strict") == 0 ? strict : warn;
    expecting = getpid();
    on_exit(atEnd, NULL);
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
  char mark[128];
  if (secure_getenv("LUTHIER_EXPECT_HSA") && !isFirstProcess() && markName(mark, sizeof mark)) {
    const int file = open(mark, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file >= 0)
      close(file);
  }
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
  status = lookForHsa(status);
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

static int mainThenExit(int argc, char **argv, char **environment) {
  exit(realMain(argc, argv, environment)); // the one above
}

// Called by the program's first instructions, which are not part of libc.
EXPORT int __libc_start_main(int (*program)(int, char **, char **), int argc, char **argv, void (*init)(void),
                             void (*fini)(void), void (*loaderFini)(void), void *stackEnd) {
  realMain = program;
  int (*next)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *) =
      (__typeof__(next))dlsym(RTLD_NEXT, "__libc_start_main");
  return next(mainThenExit, argc, argv, init, fini, loaderFini, stackEnd);
}
