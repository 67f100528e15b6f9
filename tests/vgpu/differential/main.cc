// Usage: vgpu_differential [--target gfx90a] [--wave 32|64] [--seed S] [--count N] [--jobs J] [--batch B]
//                          [--optimise 0|1|2|3] [--folder F] [--opcodes] [--plant] [--print SEED]
//
// Random kernels on the virtual GPU and on the CPU, which must give the same results to the bit. Kernel n of a run has
// seed S + n, so a failure is repeated with --seed <its seed> --count 1 --optimise <its level>. Failing kernels are
// shrunk and written to F (default: a new folder under /tmp). --opcodes prints the mnemonics that were executed.
//
// --plant makes the host side wrong in one place and succeeds only if that is found and shrunk to little more than it.

#include "runner.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace luthier::vgpu::differential {
namespace {

struct Options {
  uint64_t seed = 1;
  uint32_t count = 2000, jobs = 2, batch = 50;
  std::string optimise, folder;
  bool opcodes = false, plant = false;
  Machine machine;
};

/// What the threads of a run share.
struct Run {
  Options options;
  std::atomic<uint32_t> nextBatch = 0;
  std::mutex mutex; ///< of the rest, and of standard output
  std::map<std::string, uint64_t> opcodes;
  uint32_t kernels = 0, failures = 0, shrunk = 0;
  uint32_t smallest = ~0u; ///< size of the smallest shrunk program
  std::string smallestSource;
};

/// -O2 most often, as programs are; -O0 uses scratch for everything.
std::string levelOf(const Options &options, uint32_t batch) {
  static constexpr const char *kLevels[] = {"2", "3", "1", "2", "0"};
  return options.optimise.empty() ? kLevels[batch % 5] : options.optimise;
}

void report(Run &run, Runner &runner, const Program &program, const RunnerOptions &options,
            const std::string &difference) {
  {
    std::lock_guard lock(run.mutex);
    run.failures += 1;
    printf("FAILED: seed %llu at -O%s: %s\n", static_cast<unsigned long long>(program.seed), options.optimise.c_str(),
           difference.c_str());
    fflush(stdout);
    if (run.shrunk >= 3) // one cause often fails many kernels
      return;
    run.shrunk += 1;
  }
  const Program less = shrink(runner, program, options);
  auto again = runner.run({less}, options, "shrunk");
  const std::string source = printDevice(less, "k0");
  const std::string path = run.options.folder + "/seed" + std::to_string(program.seed) + ".hip";
  std::ofstream file(path);
  file << "// Shrunk from seed " << program.seed << " at -O" << options.optimise << ". "
       << (again ? again->differences[0] : again.error().message())
       << "\n// clang++-19 -x hip --cuda-device-only --no-gpu-bundle-output -nogpulib -nogpuinc --offload-arch="
       << run.options.machine.gpu
       << (run.options.machine.lanes == 64 && !run.options.machine.isGfx9() ? " -mwavefrontsize64" : "")
       << " -DWAVE=" << run.options.machine.lanes << " -DHALVES=" << run.options.machine.halves()
       << " -ffp-contract=off"
       << " -fno-strict-aliasing -munsafe-fp-atomics -O" << options.optimise << " -I" DIFFERENTIAL_SOURCES << "\n"
       << printPrelude() << source << "/* the host's side:\n"
       << printHost(less, "k0") << "*/\n";
  std::lock_guard lock(run.mutex);
  printf("shrunk seed %llu from %u to %u nodes, written to %s: %s\n%s\n", static_cast<unsigned long long>(program.seed),
         size(program), size(less), path.c_str(), again ? again->differences[0].c_str() : "", source.c_str());
  fflush(stdout);
  if (size(less) < run.smallest) {
    run.smallest = size(less);
    run.smallestSource = source;
  }
}

void work(Run &run, uint32_t worker) {
  auto runner = Runner::create(run.options.machine);
  if (!runner) {
    std::lock_guard lock(run.mutex);
    printf("FAILED: %s\n", runner.error().message().c_str());
    run.failures += 1;
    return;
  }
  const Options &options = run.options;
  const std::string folder = options.folder + "/" + std::to_string(worker);
  if (system(("mkdir -p '" + folder + "'").c_str()) != 0)
    return;
  const uint32_t batches = (options.count + options.batch - 1) / options.batch;
  for (uint32_t batch; (batch = run.nextBatch++) < batches;) {
    std::vector<Program> programs;
    for (uint32_t n = batch * options.batch; n < options.count && programs.size() < options.batch; ++n)
      programs.push_back(generate(options.seed + n, options.machine));
    const RunnerOptions how{.folder = folder, .optimise = levelOf(options, batch), .plant = options.plant};
    auto outcome = (*runner)->run(programs, how, "batch" + std::to_string(batch));
    if (!outcome) {
      std::lock_guard lock(run.mutex);
      printf("FAILED: seeds from %llu at -O%s: %s\n", static_cast<unsigned long long>(programs[0].seed),
             how.optimise.c_str(), outcome.error().message().c_str());
      run.failures += 1;
      continue;
    }
    for (size_t n = 0; n < programs.size(); ++n)
      if (!outcome->differences[n].empty())
        report(run, **runner, programs[n], how, outcome->differences[n]);
    std::lock_guard lock(run.mutex);
    run.kernels += static_cast<uint32_t>(programs.size());
    for (const auto &[mnemonic, count] : outcome->opcodes)
      run.opcodes[mnemonic] += count;
  }
}

int differential(const Options &options) {
  Run run;
  run.options = options;
  char folder[] = "/tmp/vgpu_differential.XXXXXX";
  const bool temporary = options.folder.empty();
  if (temporary)
    run.options.folder = mkdtemp(folder) ? folder : "/tmp";
  printf("%s in waves of %u, seeds %llu to %llu, %u at a time per compilation, %u jobs\n", options.machine.gpu.c_str(),
         options.machine.lanes, static_cast<unsigned long long>(options.seed),
         static_cast<unsigned long long>(options.seed + options.count - 1), options.batch, options.jobs);
  fflush(stdout);
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (uint32_t n = 0; n < options.jobs; ++n)
    threads.emplace_back([&run, n] { work(run, n); });
  for (std::thread &thread : threads)
    thread.join();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  uint64_t executed = 0;
  for (const auto &[mnemonic, count] : run.opcodes)
    executed += count;
  printf("%u kernels, %u failures, %.1f s (%.1f kernels/s), %zu mnemonics in %llu instructions\n", run.kernels,
         run.failures, seconds, run.kernels / seconds, run.opcodes.size(), static_cast<unsigned long long>(executed));
  if (options.opcodes)
    for (const auto &[mnemonic, count] : run.opcodes)
      printf("%12llu %s\n", static_cast<unsigned long long>(count), mnemonic.c_str());
  if (temporary && run.failures == 0 && system(("rm -r '" + run.options.folder + "'").c_str()) != 0)
    printf("%s stays\n", run.options.folder.c_str());
  if (!options.plant)
    return run.failures ? 1 : 0;
  const bool found = run.failures > 0 && run.smallestSource.find("POPC") != std::string::npos && run.smallest <= 12;
  printf(found ? "the planted fault was found and shrunk\n" : "the planted fault was NOT found and shrunk\n");
  return found ? 0 : 1;
}

} // namespace
} // namespace luthier::vgpu::differential

int main(int argc, char **argv) {
  using namespace luthier::vgpu::differential;
  Options options;
  for (int n = 1; n < argc; ++n) {
    const std::string name = argv[n];
    if (name == "--opcodes")
      options.opcodes = true;
    else if (name == "--plant")
      options.plant = true;
    else if (n + 1 == argc) {
      fprintf(stderr, "see the head of %s for usage\n", __FILE__);
      return 2;
    } else if (const char *value = argv[++n]; name == "--seed")
      options.seed = strtoull(value, nullptr, 0);
    else if (name == "--count")
      options.count = static_cast<uint32_t>(atoi(value));
    else if (name == "--jobs")
      options.jobs = static_cast<uint32_t>(atoi(value));
    else if (name == "--batch")
      options.batch = static_cast<uint32_t>(atoi(value));
    else if (name == "--optimise")
      options.optimise = value;
    else if (name == "--folder")
      options.folder = value;
    else if (name == "--target")
      options.machine.gpu = value;
    else if (name == "--wave")
      options.machine.lanes = static_cast<uint32_t>(atoi(value));
    else if (name == "--print") {
      const Program program = generate(strtoull(value, nullptr, 0), options.machine);
      printf("%s%s\n/*\n%s*/\n", printPrelude().c_str(), printDevice(program, "k0").c_str(),
             printHost(program, "k0").c_str());
      return 0;
    }
  }
  return differential(options);
}
