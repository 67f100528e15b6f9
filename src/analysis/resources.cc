#include "analysis/resources.h"

#include "isa/target.h"

#include <algorithm>

namespace luthier::analysis {

void Resources::include(const Resources &other) {
  sgprs = std::max(sgprs, other.sgprs);
  vgprs = std::max(vgprs, other.vgprs);
  accVgprs = std::max(accVgprs, other.accVgprs);
  stackBytes = std::max(stackBytes, other.stackBytes);
  stackBounded &= other.stackBounded;
}

namespace {

// LLVM's calling convention: the stack pointer and, in functions with a frame, the frame pointer.
constexpr Reg kStackPointer = sgpr(32);
constexpr Reg kFramePointer = sgpr(33);

bool isFrame(RegRange range) {
  return range.count == 1 && (range.first == kStackPointer || range.first == kFramePointer);
}

void includeRegister(Resources &resources, RegRange range, unsigned sgprs) {
  if (range.empty())
    return;
  const unsigned end = number(range.first) + range.count;
  if (isVector(range.first))
    resources.vgprs = std::max(resources.vgprs, end - number(Reg::V0));
  else if (isAccumulator(range.first))
    resources.accVgprs = std::max(resources.accVgprs, end - number(Reg::A0));
  else if (number(range.first) < sgprs)
    resources.sgprs = std::max(resources.sgprs, std::min(end, sgprs));
}

/// How far an instruction moves the stack pointer up: s_add_u32 s32, s32, N or s_addk_i32 s32, N; in a kernel,
/// s_mov_b32 s32, N or s_movk_i32 s32, N.
uint64_t stackMove(const Instr &instr) {
  switch (instr.opcode()) {
  case Opcode::S_ADD_U32:
  case Opcode::S_ADD_I32:
  case Opcode::S_ADDK_I32:
  case Opcode::S_ADD_CO_U32: // gfx12
  case Opcode::S_ADD_CO_I32:
  case Opcode::S_ADDK_CO_I32:
  case Opcode::S_MOV_B32:
  case Opcode::S_MOVK_I32:
    break;
  default:
    return 0;
  }
  if (!std::ranges::any_of(instr.writes(), [](RegRange range) { return range.contains(kStackPointer); }))
    return 0;
  for (const Operand &operand : instr.operands())
    if (operand.kind == OperandKind::Immediate || operand.kind == OperandKind::Literal)
      return static_cast<uint64_t>(std::max<int64_t>(static_cast<int32_t>(operand.value), 0));
  return 0;
}

} // namespace

Resources resourcesOf(const Function &function, const isa::Target &target, unsigned waveSize) {
  Resources resources;
  uint64_t moved = 0, accessed = 0;
  bool computed = false, flatScratch = false;
  for (const Instr &instr : function.instrs()) {
    for (const RegRange range : instr.reads())
      includeRegister(resources, range, target.sgprs);
    for (const RegRange range : instr.writes())
      includeRegister(resources, range, target.sgprs);
    moved = std::max(moved, stackMove(instr));
    const std::optional<MemoryAccess> access = instr.memory();
    if (!access)
      continue;
    const bool buffer = access->space == MemorySpace::Buffer;
    if (access->space == MemorySpace::Scratch || (buffer && isFrame(access->soffset))) {
      if (access->offset >= 0)
        accessed = std::max(accessed, static_cast<uint64_t>(access->offset) + access->bytes);
      flatScratch |= !buffer;
      computed |= !access->vaddr.empty();
    }
    // LLVM's scratch resource is s[0:3]; with an offset in a register, it is an array on the stack.
    computed |= buffer && access->offen && access->saddr.first == sgpr(0);
  }
  // The stack pointer counts bytes of the whole wave where scratch is a swizzled buffer, bytes of a lane elsewhere.
  const uint64_t frame = flatScratch ? moved : moved / waveSize;
  resources.stackBytes = static_cast<uint32_t>(std::min<uint64_t>(std::max(frame, accessed), UINT32_MAX));
  // A function that moves the pointer moves it over all of its frame; a leaf that does not may use any amount.
  resources.stackBounded = moved != 0 || !computed;
  resources.sgprs = std::min<unsigned>(resources.sgprs, target.sgprs);
  return resources;
}

} // namespace luthier::analysis
