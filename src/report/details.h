// What only some formats show of a run: which process it was, its launches and copies in time, and the code of its
// kernels.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace luthier::report {

struct Process {
  int64_t pid = 0;
  std::string hostname;
  std::string rank;                 ///< in MPI; empty outside
  std::vector<std::string> command; ///< of the application
};

/// This process. `command` is what the kernel knows it by (/proc/self/cmdline).
Process currentProcess();

struct LaunchRecord {
  uint64_t kernel = 0;         ///< KernelAccount::id; 0: its code is not known
  uint64_t numberOfKernel = 0; ///< counted from 1
  uint64_t queue = 0;
  uint32_t gpu = 0;
  std::array<uint32_t, 3> grid = {}, workgroup = {}; ///< in work-items
  uint64_t begin = 0, end = 0;                       ///< nanoseconds of HSA's system clock
  bool instrumented = false;
};

/// A copy or fill that the application asked ROCr for. When it ran is not known.
struct CopyRecord {
  std::string call;
  uint64_t bytes = 0;
  uint64_t time = 0; ///< of the call
};

struct SourceLine {
  std::string file;
  uint32_t line = 0;
  auto operator<=>(const SourceLine &) const = default;
};

struct CodeInstr {
  uint64_t offset = 0; ///< from the beginning of the function
  std::string text;
  uint32_t block = 0;
  uint32_t line = 0; ///< index into KernelCode::lines plus 1; 0: not known
};

struct CodeBlock {
  uint32_t first = 0; ///< index of its first instruction
  std::vector<uint32_t> successors;
};

struct CodeFunction {
  std::string name, symbol;
  uint64_t address = 0; ///< in the code object's file
  std::vector<CodeInstr> instrs;
  std::vector<CodeBlock> blocks;
};

/// A kernel's code as it was before instrumentation, with all functions that it can reach; itself first.
struct KernelCode {
  std::vector<CodeFunction> functions;
  std::vector<SourceLine> lines;
};

struct Details {
  Process process;
  std::vector<LaunchRecord> launches; ///< in the order of their ends
  std::vector<CopyRecord> copies;
  uint64_t launchesDropped = 0, copiesDropped = 0;            ///< beyond what is kept
  std::map<uint64_t, std::shared_ptr<const KernelCode>> code; ///< by KernelAccount::id
};

/// Where a cell of a table says that something is: "FUNCTION +OFFSET" or "FUNCTION +OFFSET: INSTRUCTION", if the
/// kernel has an instruction there.
struct Place {
  size_t function = 0; ///< index into KernelCode::functions
  uint64_t offset = 0;
};

} // namespace luthier::report
