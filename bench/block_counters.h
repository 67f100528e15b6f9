// Block counters as the benchmarks of the rewriter insert them, and what they cost when they are executed.
#pragma once

#include "rewrite/rewriter.h"

#include <memory>
#include <string>
#include <vector>

namespace luthier::bench {

enum class Way { Identity, Memory, Wave };

/// A counter for every block of the kernel and of what it can reach. `ones`: counts blocks where it would count
/// instructions.
std::vector<rewrite::Insertion> blockCounters(Way way, rewrite::Rewriter &rewriter, const object::Symbol &kernel,
                                              const std::shared_ptr<const hook::HookModule> &hooks, bool ones = false);

/// Instructions that waves executed, on the virtual GPU.
struct Executed {
  uint64_t native = 0, visits = 0;
  uint64_t memory = 0;            ///< with an atomic in memory per block
  uint64_t wave = 0;              ///< with a counter in registers per block
  uint64_t waveEnds = 0;          ///< of those, what is done at a wave's start and end only
  uint64_t calls = 0, called = 0; ///< a call per block: instructions beyond the native ones, and how many calls
};

/// Runs the kernels of `kernelsFile` and of `callsFile`, the same with calls. An error also if counts or results are
/// not what they must be. Prints a row per kernel.
Result<Executed> executeBlockCounters(const std::string &kernelsFile, const std::string &callsFile,
                                      const std::shared_ptr<const hook::HookModule> &hooks);

} // namespace luthier::bench
