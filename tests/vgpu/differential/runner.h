// Compiles programs for both sides and runs and compares them.
#pragma once

#include "luthier/vgpu.h"
#include "program.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace luthier::vgpu::differential {

struct RunnerOptions {
  std::string folder;         ///< for sources and objects; exists
  std::string optimise = "2"; ///< the device's -O level
  bool plant = false;         ///< makes the host side wrong on purpose
};

/// What a batch gave: for each program, empty when both sides agree, otherwise what differs.
struct Outcome {
  std::vector<std::string> differences;
  std::map<std::string, uint64_t> opcodes; ///< executed instructions by mnemonic
};

class Runner {
public:
  static Result<std::unique_ptr<Runner>> create(const Machine &machine = {});
  ~Runner();
  /// An error says that a side did not compile or load. `name` names the files.
  Result<Outcome> run(const std::vector<Program> &programs, const RunnerOptions &options, const std::string &name);

private:
  Result<void> compile(const std::vector<Program> &programs, const RunnerOptions &options, const std::string &base);
  std::string compare(const Program &program, const std::vector<uint8_t> &hostOut,
                      const std::vector<uint8_t> &hostAtom) const;
  void fillInputs(const Program &program, std::vector<uint8_t> &atom);

  Machine machine_;
  std::unique_ptr<VirtualGpu> gpu_;
  uint8_t *in_ = nullptr, *out_ = nullptr, *atom_ = nullptr;
};

/// Makes a failing program smaller while it still fails; `tries` bounds the rounds of compilation.
Program shrink(Runner &runner, Program program, const RunnerOptions &options, uint32_t rounds = 60);

} // namespace luthier::vgpu::differential
