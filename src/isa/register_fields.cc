#include "isa/register_fields.h"

#include "isa/form.h"
#include "isa/llvm_mc.h"
#include "isa/target.h"

#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/TargetRegistry.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>

namespace luthier::isa {

namespace {

constexpr uint32_t keyOf(unsigned first, unsigned count) { return first << 8 | count; }

bool renamable(RegRange regs, unsigned sgprs) {
  return !regs.empty() && (number(regs.first) < sgprs || isVector(regs.first) || isAccumulator(regs.first));
}

/// Half of the vector registers.
constexpr unsigned kHalf = 128;

unsigned fileOf(Reg reg) { return number(reg) & ~255u; }

} // namespace

struct FieldFinder::Impl {
  std::unique_ptr<LlvmMc> mc;
  std::unique_ptr<llvm::MCCodeEmitter> emitter;
  bool alignedTuples = false; ///< gfx90a, gfx940: tuples of vector registers start at even ones
  bool m0BehindNull = false;
  unsigned sgprs = 0;                               ///< that are no special ones
  std::unordered_map<uint32_t, unsigned> registers; ///< LLVM's number by first register and count

  EncodingBits encode(const llvm::MCInst &inst) const {
    llvm::SmallVector<char, 16> bytes;
    llvm::SmallVector<llvm::MCFixup, 1> fixups;
    emitter->encodeInstruction(inst, bytes, fixups, *mc->subtarget);
    return EncodingBits::of(bytes.data(), bytes.size());
  }
};

FieldFinder::FieldFinder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
FieldFinder::~FieldFinder() = default;

Result<std::unique_ptr<FieldFinder>> FieldFinder::create(const Target &target, unsigned waveSize) {
  auto impl = std::make_unique<Impl>();
  impl->mc = LUTHIER_TRY(LlvmMc::create(target, waveSize));
  impl->alignedTuples = target.alignedTuples;
  impl->m0BehindNull = target.m0BehindNull;
  impl->sgprs = target.sgprs;
  std::string error;
  const llvm::Target *llvmTarget = llvm::TargetRegistry::lookupTarget("amdgcn-amd-amdhsa", error);
  impl->emitter.reset(llvmTarget->createMCCodeEmitter(*impl->mc->instructions, *impl->mc->context));
  if (!impl->emitter)
    return makeError("LLVM cannot encode for {}", target.name);
  // Halves of registers share the row of the whole.
  for (unsigned reg = 1; reg < impl->mc->registers->getNumRegs() && reg < kRegisterRows.size(); ++reg) {
    const RegisterRow &row = kRegisterRows[reg];
    const llvm::StringRef name = impl->mc->registers->getName(reg);
    if (row.count && renamable({static_cast<Reg>(row.first), row.count}, impl->sgprs) && !name.ends_with("_LO16") &&
        !name.ends_with("_HI16"))
      impl->registers.emplace(keyOf(row.first, row.count), reg);
  }
  return std::unique_ptr<FieldFinder>(new FieldFinder(std::move(impl)));
}

Result<std::vector<RegisterField>> FieldFinder::fields(const Instr &instr) {
  llvm::MCInst inst;
  uint64_t size = 0;
  if (!impl_->mc->decode(instr.bytes(), 0, inst, size))
    return makeError("{} cannot be decoded", instr.mnemonic());
  std::vector<RegisterField> result;
  for (unsigned n = 0; n < inst.getNumOperands(); ++n) {
    if (!inst.getOperand(n).isReg() || !inst.getOperand(n).getReg())
      continue;
    const unsigned original = inst.getOperand(n).getReg();
    const RegisterRow &row = kRegisterRows[original];
    RegisterField field{.regs = {static_cast<Reg>(row.first), row.count}, .m0BehindNull = impl_->m0BehindNull};
    if (!renamable(field.regs, impl_->sgprs))
      continue;
    const unsigned file = fileOf(field.regs.first);
    const auto encodeWith = [&](unsigned index) -> std::optional<EncodingBits> {
      const auto found = impl_->registers.find(keyOf(file + index, field.regs.count));
      if (found == impl_->registers.end())
        return {};
      inst.getOperand(n).setReg(found->second);
      return impl_->encode(inst);
    };
    const std::optional<EncodingBits> zero = encodeWith(0);
    if (!zero)
      return makeError("{}: LLVM has no register like {}", instr.mnemonic(), toString(field.regs));
    EncodingBits all;
    for (unsigned bit = 0; bit < field.masks.size(); ++bit)
      if (const auto one = encodeWith(1u << bit))
        all |= field.masks[bit] = *one ^ *zero;
      else if (bit < 3)
        field.alignment = 2u << bit;
    inst.getOperand(n).setReg(original);
    // LLVM's encoder takes any register; the instruction's description knows which there may be.
    const auto operands = impl_->mc->instructions->get(inst.getOpcode()).operands();
    if (const auto upper = impl_->registers.find(keyOf(file + kHalf, field.regs.count));
        isVector(field.regs.first) && upper != impl_->registers.end() && n < operands.size() &&
        operands[n].RegClass >= 0 &&
        !impl_->mc->registers->getRegClass(static_cast<unsigned>(operands[n].RegClass)).contains(upper->second))
      field.limit = kHalf;
    if (!all.any())
      continue; // the second mention of a register that is both destination and source
    // Even where encodings could say otherwise.
    if (impl_->alignedTuples && file != 0 && field.regs.count > 1)
      field.alignment = 2;
    if ((number(field.regs.first) - file) % field.alignment)
      return makeError("{}: {} is not aligned", instr.mnemonic(), toString(field.regs));
    result.push_back(field);
  }
  return result;
}

} // namespace luthier::isa
