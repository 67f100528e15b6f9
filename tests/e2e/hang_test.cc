// Kernels that do not end say where they are: on SIGQUIT, and after --hang-report seconds.

#include "run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>

namespace luthier::e2e {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

const std::string kStuck = LUTHIER_PROGRAMS "/stuck", kEndless = LUTHIER_SAMPLES "/endless_loop";

bool has(const std::string &output, const char *text) { return output.find(text) != std::string::npos; }

/// Sends a signal when the output has `text`, once.
class SignalWhen {
public:
  SignalWhen(const char *text, int signal) : text_(text), signal_(signal) {}
  void operator()(const std::string &output, int pid) {
    if (!sent_ && has(output, text_)) {
      sent_ = true;
      kill(pid, signal_);
    }
  }

private:
  const char *text_;
  int signal_;
  bool sent_ = false;
};

/// Asks for a report when the program is in its kernel, and lets it go on afterwards.
Outcome runStuck(std::vector<std::string> options, bool quit) {
  options.insert(options.begin(), {"--gpu", "gfx90a"});
  SignalWhen report("running\n", SIGQUIT), go("  process  ", SIGUSR1);
  return luthierRun(options, {kStuck}, 60, [&](const std::string &output, int pid) {
    if (quit)
      report(output, pid);
    go(output, pid);
  });
}

void expectReport(const Outcome &outcome) {
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("PASS"));
  EXPECT_THAT(outcome.output, ContainsRegex("luthier vgpu: running: waitForHost\\(.*\\), for [0-9.]+ s\n"));
  EXPECT_THAT(outcome.output, HasSubstr("GPU         0 (gfx90a)\n"));
  EXPECT_THAT(outcome.output, HasSubstr("launch      grid (512, 1, 1), workgroups of (256, 1, 1)\n"));
  EXPECT_THAT(outcome.output,
              HasSubstr("workgroups  2 running, 0 ended, 0 not started; none has ended in the last 0.2 s\n"));
  EXPECT_THAT(outcome.output, ContainsRegex("6 waves     at 0x[0-9a-f]+  s_barrier"));
  EXPECT_THAT(outcome.output, HasSubstr("waiting at a barrier: 3 of the workgroup's 4 waves have arrived\n"));
  EXPECT_THAT(outcome.output, ContainsRegex("[12] waves?     +at 0x[0-9a-f]+  "));
  EXPECT_THAT(outcome.output, ContainsRegex("running in the loop from 0x[0-9a-f]+ to 0x[0-9a-f]+, as 0.2 s before\n"));
}

TEST(Hang, SigquitMakesAReportAndTheApplicationGoesOn) { expectReport(runStuck({}, true)); }

TEST(Hang, LongRunningKernelIsReportedOnce) {
  const Outcome outcome = runStuck({"--hang-report", "1"}, false);
  expectReport(outcome);
  const size_t first = outcome.output.find("running: ");
  EXPECT_EQ(outcome.output.find("running: ", first + 1), std::string::npos) << outcome.output;
}

TEST(Hang, InstrumentedCodeSaysWhoseItIs) {
  const Outcome outcome = runStuck({"--tool", "instr_count"}, true);
  expectReport(outcome);
  EXPECT_THAT(outcome.output, ContainsRegex("part of the kernel itself: 0x[0-9a-f]+ before it was instrumented\n"));
}

TEST(Hang, SecondSigquitEndsTheApplication) {
  SignalWhen first("running\n", SIGQUIT), second("  process  ", SIGQUIT);
  const Outcome outcome = luthierRun({"--gpu", "gfx90a"}, {"sh", "-c", "ulimit -c 0; exec " + kEndless}, 60,
                                     [&](const std::string &output, int pid) {
                                       first(output, pid);
                                       second(output, pid);
                                     });
  EXPECT_EQ(outcome.signal, SIGQUIT) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("sleeping (s_sleep) in the loop from 0x"));
}

TEST(Hang, ShortKernelsAreNotReported) {
  const Outcome outcome = luthierRun({"--gpu", "gfx90a", "--hang-report", "1"}, {LUTHIER_SAMPLES "/vector_add"});
  EXPECT_EQ(outcome.exitCode, 0);
  EXPECT_THAT(outcome.output, Not(HasSubstr("running: ")));
}

} // namespace
} // namespace luthier::e2e
