#include "vgpu/wave/kernel_code.h"

#include "isa/decode.h"
#include "vgpu/exec/row.h"
#include "vgpu/wave/code_cache.h"
#include "vgpu/wave/decoder.h"
#include "vgpu/wave/device.h"
#include "vgpu/wave/dispatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

namespace luthier::vgpu {

namespace {

/// Longer code takes too long to translate.
constexpr size_t kMostInstructions = 1000;

/// Whether instructions may use other registers than those that they name.
bool movesRegisters(const Instr &instr) {
  return instr.is(Property::Indexed) || instr.is(Property::IndexMode) || instr.is(Property::SkipMode);
}

/// Whether control may go elsewhere than behind it, other than by its branch distance.
bool goesAnywhere(const Instr &instr, const Row &row) {
  const bool jumps = instr.is(Property::Call) || instr.is(Property::IndirectBranch) || instr.is(Property::Branch) ||
                     (row.traits & kEndsRun);
  return jumps && !(row.traits & kBranches) && !instr.is(Property::EndProgram);
}

} // namespace

Result<GuestCode> kernelCode(const Dispatch &dispatch) {
  const Device &device = dispatch.device();
  const CodeChunk &chunk = *dispatch.entryChunk();
  const auto placeOf = [&](const Inst *inst) { return chunk.pc(inst); };
  Decoder &decoder = dispatch.decoder();

  // By address, so that branches backwards are known by their numbers.
  std::map<uint64_t, GuestInstruction> found;
  std::vector<uint64_t> open{placeOf(dispatch.entry())};
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> successors; // behind it, and of its branch; 0: none
  GuestCode result;
  while (!open.empty()) {
    const uint64_t pc = open.back();
    open.pop_back();
    if (found.contains(pc))
      continue;
    if (found.size() == kMostInstructions)
      return makeError("more than {} instructions", kMostInstructions);
    const CodeChunk *in = nullptr;
    const Inst *inst = chunk.contains(pc) ? dispatch.code()->find(pc, in) : nullptr;
    if (!inst || in != &chunk || !chunk.contains(pc + inst->words * 4ull))
      return Error("code across a boundary of 64 KiB");
    const size_t bytes = inst->words * 4ull;
    if (!inst->row || !device.memory().mapped(pc, bytes, device.mask()))
      return Error("code that cannot be decoded");
    const std::span code(reinterpret_cast<const uint8_t *>(pc), bytes);
    const auto sequence = decoder.instruction(code, pc);
    if (!sequence)
      return makeError("{}, which cannot be decoded", inst->row->mnemonic);
    const Instr &instr = sequence->instrs().front();
    if (movesRegisters(instr))
      return Error(std::string(inst->row->mnemonic));
    GuestInstruction &added = result.add(*inst);
    for (const RegRange regs : instr.reads())
      added.reads.insert(regs);
    for (const RegRange regs : instr.writes())
      added.writes.insert(regs);
    added.endsProgram = instr.is(Property::EndProgram);
    added.memory = instr.memorySpace() != MemorySpace::None;
    added.leaves = goesAnywhere(instr, *inst->row);
    auto &[next, target] = successors[pc];
    if (!(inst->row->traits & kEndsRun))
      open.push_back(next = pc + bytes);
    if (inst->row->traits & kBranches)
      open.push_back(target = pc + 4 + static_cast<uint64_t>(static_cast<int64_t>(inst->imm) * 4));
    found.emplace(pc, added);
  }

  result.instructions.clear(); // which were in the order of discovery
  std::map<uint64_t, uint32_t> numbers;
  for (auto &[pc, instruction] : found)
    numbers[pc] = static_cast<uint32_t>(numbers.size());
  for (auto &[pc, instruction] : found) {
    const auto [next, target] = successors[pc];
    if (next)
      instruction.next = numbers[next];
    if (target)
      instruction.target = numbers[target];
    result.instructions.push_back(instruction);
  }
  result.entry = numbers[placeOf(dispatch.entry())];
  result.flatScratch = dispatch.start().flatScratch();
  analyse(result);
  return result;
}

} // namespace luthier::vgpu
