// What interception costs: dispatches per second of one queue (bench/hsa_dispatch.cc on the virtual GPU) without
// Luthier, with the Interceptor and no callback, with a callback for packets, and with one for each completion.
//
// The virtual GPU has one worker thread: the rest of the machine is for the thread that submits, whose fights with a
// second worker for two cores would be all that is measured. Each way runs several times in turn, so that a noisy
// moment of the machine meets all of them; the best counts.
//
// Usage: hsa_bench [DISPATCHES] [ROUNDS]

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

namespace {

struct Way {
  const char *name;
  std::string environment;
  double best = 0;
};

double run(const Way &way, int dispatches) {
  const std::string command = fmt::format("{} '{}' run --gpu gfx90a --threads 1 -- '{}' '{}' {}", way.environment,
                                          HSA_BENCH_LUTHIER, HSA_BENCH_PROGRAM, HSA_BENCH_KERNELS, dispatches);
  FILE *pipe = popen(command.c_str(), "r");
  double rate = 0;
  if (!pipe || fscanf(pipe, "%lf", &rate) != 1)
    rate = 0;
  if (!pipe || pclose(pipe) != 0 || rate <= 0) {
    fprintf(stderr, "failed: %s\n", command.c_str());
    exit(1);
  }
  return rate;
}

} // namespace

int main(int argc, char **argv) {
  const int dispatches = argc > 1 ? atoi(argv[1]) : 50'000;
  const int rounds = argc > 2 ? atoi(argv[2]) : 7;
  const std::string tool = "HSA_TOOLS_LIB='" HSA_BENCH_TOOL "' LUTHIER_BENCH_CALLBACKS=";
  std::array<Way, 4> ways = {Way{"without Luthier", ""}, Way{"Interceptor, no callback", tool + "none"},
                             Way{"callback for packets", tool + "packets"},
                             Way{"callback for completions", tool + "completions"}};
  for (int round = 0; round < rounds; ++round)
    for (Way &way : ways)
      way.best = std::max(way.best, run(way, dispatches));
  fmt::print("{:26} {:>14} {:>8}\n", "", "dispatches/s", "ratio");
  for (const Way &way : ways)
    fmt::print("{:26} {:14.0f} {:8.2f}\n", way.name, way.best, way.best / ways[0].best);
  return 0;
}
