// What an application notices of hooks that are read and compiled in it: nothing, whatever LLVM makes of them.

#include "../cli/temp_folder.h"
#include "hooks.h"

#include <gmock/gmock.h>

#include <atomic>
#include <csignal>
#include <thread>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace luthier::hook {
namespace {

using namespace test;
using testing::HasSubstr;

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGXCPU, SIGALRM, SIGCHLD, SIGPIPE};
std::atomic<int> caught = 0;
void ownHandler(int) { ++caught; }

/// An application that has handlers of its own and looks, all the time, whether they are there.
class Watched : public testing::Test {
protected:
  void SetUp() override {
    module = load();
    ASSERT_TRUE(module);
    caught = 0;
    for (size_t n = 0; n < std::size(kSignals); ++n) {
      struct sigaction action = {};
      action.sa_handler = ownHandler;
      sigaction(kSignals[n], &action, &before[n]);
    }
    watcher = std::thread([this] {
      while (!stop) {
        for (const int number : kSignals) {
          struct sigaction now = {};
          sigaction(number, nullptr, &now);
          if (now.sa_handler != ownHandler)
            replaced = number;
        }
        siginfo_t info;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0) // else there is none
          children = true;
      }
    });
  }
  void TearDown() override {
    stop = true;
    if (watcher.joinable())
      watcher.join();
    for (size_t n = 0; n < std::size(kSignals); ++n)
      sigaction(kSignals[n], &before[n], nullptr);
  }
  void expectUnnoticed() {
    EXPECT_EQ(replaced, 0) << "the handler of this signal was another for a while";
    EXPECT_EQ(caught, 0) << "a signal was sent";
    EXPECT_FALSE(children) << "wait() would have returned a child";
  }
  Result<std::shared_ptr<const Fragment>> compile(const std::string &name) {
    FragmentCompiler compiler{{}};
    return compiler.compile(module, plainRequest(*module, name), target(), 64);
  }

  std::shared_ptr<const HookModule> module;
  struct sigaction before[std::size(kSignals)] = {};
  std::atomic<int> replaced = 0;
  std::atomic<bool> stop = false, children = false;
  std::thread watcher;
};

TEST_F(Watched, GoodHooks) {
  const auto fragment = compile("countAt");
  EXPECT_TRUE(fragment) << fragment.error().message();
  expectUnnoticed();
}

TEST_F(Watched, HooksThatLlvmGivesUpOn) {
  module = load(BAD_HOOKS);
  ASSERT_TRUE(module);
  const auto fragment = compile("onlyGfx10");
  ASSERT_FALSE(fragment);
  EXPECT_THAT(fragment.error().message(), HasSubstr("bad.bc: hook onlyGfx10 cannot be compiled: LLVM failed: "));
  expectUnnoticed();
}

TEST_F(Watched, DamagedBitcode) {
  const std::string whole = readFile(HOOKS);
  unsigned crashes = 0;
  for (size_t at = 0; at < whole.size() && crashes == 0; at += 97) {
    std::string text = whole;
    text[at] ^= static_cast<char>(1 << at % 8);
    const auto damaged = HookModule::load(std::as_bytes(std::span(text)), "damaged.bc", {});
    crashes += !damaged && damaged.error().message().find("damaged.bc: LLVM failed: ") == 0;
  }
  EXPECT_GT(crashes, 0u);
  expectUnnoticed();
}

TEST_F(Watched, ChildrenAreIgnored) {
  signal(SIGCHLD, SIG_IGN);
  EXPECT_TRUE(compile("flush"));
  signal(SIGCHLD, ownHandler);
  EXPECT_FALSE(children);
}

/// In a process of its own, whose exit status is the outcome.
template <class Work> int inChild(Work work) {
  const pid_t child = fork();
  if (child == 0)
    _exit(work() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(Guest, StandardStreamsMayBeClosed) {
  const auto module = load();
  EXPECT_EQ(inChild([&] {
              for (const int stream : {0, 1, 2})
                close(stream);
              FragmentCompiler compiler{{}};
              return compiler.compile(module, plainRequest(*module, "countAt"), target(), 64).has_value();
            }),
            0);
}

/// A limit of the application's is no reason to end it.
void expectErrorUnder(__rlimit_resource what, rlim_t most, const std::string &why) {
  const auto module = load();
  EXPECT_EQ(inChild([&] {
              const rlimit limit = {most, most};
              setrlimit(what, &limit);
              FragmentCompiler compiler{{}};
              const auto fragment = compiler.compile(module, plainRequest(*module, "countAt"), target(), 64);
              return !fragment &&
                     fragment.error().message() ==
                         "hooks.bc: hook countAt cannot be compiled: the hook compiler cannot be started: " + why;
            }),
            0);
}

TEST(Guest, NoOpenFileIsLeft) { expectErrorUnder(RLIMIT_NOFILE, 3, "no file in memory: Too many open files"); }

TEST(Guest, FilesMustBeSmall) { expectErrorUnder(RLIMIT_FSIZE, 100, "no file in memory: File too large"); }

TEST(Guest, TheCompilerGetsNoEnvironment) {
  const auto module = load();
  const cli::TempFolder folder;
  const std::string output = folder.path() / "loader";
  EXPECT_EQ(inChild([&] {
              // The dynamic loader of a program that has these writes a file.
              setenv("LD_DEBUG", "libs", 1);
              setenv("LD_DEBUG_OUTPUT", output.c_str(), 1);
              FragmentCompiler compiler{{}};
              return compiler.compile(module, plainRequest(*module, "countAt"), target(), 64).has_value();
            }),
            0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

} // namespace
} // namespace luthier::hook
