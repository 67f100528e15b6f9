// Registers a flush as libluthier.so does, then ends in the way that its argument names. The flush prints "flushed",
// what is called before exit "exiting".
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

void say(const char *text) {
  if (write(STDOUT_FILENO, text, strlen(text)) < 0)
    abort();
}

void flush() { say("flushed\n"); }
void flushAndEnd() {
  say("flushed\n");
  _exit(5); // as --strict may
}
void flushSlowly() {
  sleep(1);
  say("flushed\n");
}

void exiting(int status) {
  say("exiting\n");
  if (status == 9)
    _exit(10); // it need not return
}

void registerFlush(void (*function)()) {
  if (const auto shim =
          reinterpret_cast<void (*)(void (*)(), void (*)(int))>(dlsym(RTLD_DEFAULT, "luthierRegisterFlush")))
    shim(function, exiting);
  else
    say("no shim\n");
}

} // namespace

int main(int argc, char **argv) {
  const std::string_view how = argc > 1 ? argv[1] : "";
  if (how == "unregistered")
    _exit(3);
  registerFlush(how == "_exit in flush" ? flushAndEnd : how == "threads" ? flushSlowly : flush);
  if (how == "_exit" || how == "_exit in flush")
    _exit(3);
  if (how == "_Exit")
    _Exit(3);
  if (how == "quick_exit")
    quick_exit(3);
  if (how == "exit") {
    printf("stream\n"); // which exit writes
    exit(3);
  }
  if (how == "exit stopped")
    exit(9);
  if (how == "exit of a child") {
    if (fork() == 0)
      exit(4);
    int status = 0;
    wait(&status);
    say(WEXITSTATUS(status) == 4 ? "child ended\n" : "child failed\n");
    return 3;
  }
  if (how == "fork") {
    if (fork() == 0)
      _exit(4);
    int status = 0;
    wait(&status);
    say(WEXITSTATUS(status) == 4 ? "child ended\n" : "child failed\n");
    return 3;
  }
  if (how == "vfork") {
    if (vfork() == 0)
      _exit(4);
    say("child ended\n");
    _exit(3);
  }
  if (how == "fork registers") {
    if (fork() == 0) {
      registerFlush(flush); // a process that uses the GPU itself
      _exit(4);
    }
    wait(nullptr);
    return 3;
  }
  if (how == "threads") {
    std::thread first([] { _exit(3); });
    usleep(200'000);
    _exit(3);
  }
  return 1;
}
