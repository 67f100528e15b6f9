#include "vgpu/wave/physical_registers.h"

#include "object/kernel_descriptor.h"
#include "vgpu/wave/operands.h"

#include <fmt/format.h>

#include <algorithm>

namespace luthier::vgpu {

PhysicalRegisters::PhysicalRegisters(const object::KernelDescriptor &descriptor, const isa::Target &target) {
  lanes = descriptor.waveSize(target);
  sgprs = descriptor.sgprs(target);
  numberedSgprs = std::min<uint32_t>(sgprs, target.sgprs);
  if (target.countsSgprs() && target.trailingSgprs == kSpecials && sgprs - kSpecials < target.sgprs)
    alias = sgprs - kSpecials;
  partialVccWritesUpdateVccz = target.partialVccWritesUpdateVccz;
  xnackMask = target.xnackMask;

  const uint32_t allocated = descriptor.vgprs(target);
  vgprs = std::min<uint32_t>(allocated, target.vgprs);
  if (target.unifiedVgprs) {
    vgprs = std::min(vgprs, descriptor.accumOffset());
    accVgprs = std::min<uint32_t>(allocated - vgprs, target.accVgprs);
  } else if (target.accVgprs) {
    accVgprs = vgprs;
  }
}

std::optional<Reg> PhysicalRegisters::missing(RegRange regs) const {
  const auto beyond = [&](Reg first, uint32_t count) -> std::optional<Reg> {
    const unsigned end = number(first) + count;
    if (number(regs.first) + regs.count <= end)
      return std::nullopt;
    return std::max(regs.first, first + count);
  };
  if (isVector(regs.first))
    return beyond(Reg::V0, vgprs);
  if (isAccumulator(regs.first))
    return beyond(Reg::A0, accVgprs);
  if (number(regs.first) < kFirstSpecial)
    return beyond(Reg::S0, numberedSgprs);
  return std::nullopt;
}

std::string PhysicalRegisters::text() const {
  return fmt::format("{} SGPRs, {} VGPRs, {} AccVGPRs", sgprs, vgprs, accVgprs);
}

namespace {

CacheUse cacheUse(const Operands &o) {
  if (o.mnemonic.starts_with("s_dcache_inv"))
    return CacheUse::InvalidateScalar;
  // Some say which caches: that of the compute unit stays unless others see further, for gfx942 the device (SC1).
  if (o.mnemonic.starts_with("buffer_wbinvl1") || o.mnemonic == "buffer_gl0_inv" ||
      (o.mnemonic == "buffer_inv" && o.text.find("sc1") != std::string::npos) ||
      (o.mnemonic == "global_inv" && o.text.find("scope:") != std::string::npos))
    return CacheUse::InvalidateVector;
  if (!o.memory)
    return CacheUse::None;
  switch (o.space) {
  case MemorySpace::Scalar:
    return o.memory->load || o.memory->store || o.memory->atomic ? CacheUse::Scalar : CacheUse::None;
  case MemorySpace::Global:
  case MemorySpace::Flat:
  case MemorySpace::Buffer:
    return o.memory->toLds ? CacheUse::None : CacheUse::Vector;
  default:
    return CacheUse::None;
  }
}

} // namespace

ResourcePlan ResourcePlan::of(const Operands &operands, const PhysicalRegisters &registers) {
  ResourcePlan plan;
  plan.branchesOnVccz = operands.mnemonic == "s_cbranch_vccz" || operands.mnemonic == "s_cbranch_vccnz";
  plan.cache = cacheUse(operands);
  plan.relative = operands.mnemonic.starts_with("s_movrel");
  plan.sendsMessage = operands.mnemonic == "s_sendmsg";
  plan.scratch = operands.space == MemorySpace::Scratch;
  unsigned halves = 0;
  for (const RegisterUse &use : operands.registers) {
    if (const auto reg = registers.missing(use.regs); reg && (!plan.missing || use.write)) {
      plan.missing = reg;
      plan.missingWritten = use.write;
    }
    if (isVector(use.regs.first) && !plan.vector)
      plan.vector = use.regs.first;
    if (!use.write)
      continue;
    for (unsigned n = 0; n < use.regs.count; ++n) {
      const Reg reg = use.regs.first + n;
      plan.trapRegisterWritten |= reg >= Reg::Ttmp0 && reg < Reg::M0;
      for (unsigned half = 0; half < 2; ++half)
        if (reg == Reg::VccLo + half ||
            (registers.alias && number(reg) == *registers.alias + PhysicalRegisters::kSpecials - 2 + half))
          halves |= 1u << half;
    }
  }
  plan.vcc = halves == 3 ? VccWrite::Whole : halves ? VccWrite::Partial : VccWrite::None;
  return plan;
}

} // namespace luthier::vgpu
