// From a bad access to a finding that people can use: the kernel, the instruction, the line of source, the lanes, and
// the allocation that it was probably meant for.
#pragma once

#include "check/finding.h"
#include "vgpu/driver/loaded_code.h"
#include "vgpu/driver/memory.h"
#include "vgpu/wave/barrier_check.h"
#include "vgpu/wave/init_check.h"
#include "vgpu/wave/memory_check.h"
#include "vgpu/wave/race.h"
#include "vgpu/wave/waits.h"

namespace luthier::isa {
class Disassembler;
}

namespace luthier::object {
class CodeObject;
struct Symbol;
} // namespace luthier::object

namespace luthier::vgpu {

struct RunningDispatch;

class Explainer {
public:
  Explainer(LoadedCode &code, MemoryManager &memory) : code_(code), memory_(memory) {}

  /// `exact`: what the application has allocated, where that is known; else the driver's buffers have to do.
  check::Finding explain(const Wave &wave, const Inst *inst, const BadAccess &access, const Allocations *exact) const;

  /// Where an instruction is and who executes it: all that findings of every class say, without rule, message, lanes
  /// and memory.
  check::Finding describe(const Wave &wave, const Inst *inst) const;
  check::Finding describe(const Wave &wave, uint64_t pc, uint64_t bytes) const;

  /// Two accesses in no order.
  check::Finding explain(const Wave &wave, const Inst *inst, const Race &race, const Allocations &allocations) const;
  /// Barriers that not all reach.
  check::Finding explain(const Wave &wave, const BarrierProblem &problem) const;
  static std::string_view ruleOf(const Race &race);
  static std::string_view ruleOf(const BarrierProblem &problem);

  /// A use of something before a wait covers the operation that writes it.
  check::Finding explain(const Wave &wave, const Inst *inst, const EarlyUse &use) const;
  /// A use of a value that nobody has written. `exact`: what the application has allocated.
  check::Finding explain(const Wave &wave, const Inst *inst, const UndefinedUse &use, const Allocations &exact) const;
  static std::string_view ruleOf(const UndefinedUse &use);

  /// An instruction of a running kernel.
  check::CodePlace place(const RunningDispatch &running, uint64_t pc) const;
  /// Of an instruction, only the lines of source and, in instrumented code, whose it is.
  check::CodePlace origin(uint64_t pc) const;

  /// The class of a finding, which is all that is needed to know whether it is a new one.
  std::string_view ruleOf(const Wave &wave, const BadAccess &access, const Allocations *exact) const;

private:
  std::optional<Allocations::Neighbour> nearest(const BadAccess &access, const Allocations *exact) const;

  /// An instruction: where it is and what executes it.
  struct CodeAt {
    uint64_t pc = 0, bytes = 0;
    uint64_t kernelObject = 0;
    const Device &device;
    uint32_t lanes = 0; ///< of its waves
  };
  void addCode(check::CodePlace &place, const CodeAt &at) const;
  /// The function that the instruction is in, with all that follows from that; false when there is none.
  bool addFunction(check::CodePlace &place, uint64_t pc, isa::Disassembler *disassembler) const;
  /// Its lines of source, and whose it is. `address` is one of the file.
  void addOrigin(check::CodePlace &place, const object::CodeObject &object, const object::Symbol &function,
                 uint64_t address) const;
  std::string placeOf(const Wave &wave, uint64_t pc, const std::string &instruction) const;

  LoadedCode &code_;
  MemoryManager &memory_;
};

} // namespace luthier::vgpu
