#include "vgpu/wave/strict_resources.h"

#include "isa/message.h"
#include "isa/occupancy.h"
#include "vgpu/exec/modes.h"
#include "vgpu/exec/row.h"
#include "vgpu/memory/guest_access.h"
#include "vgpu/wave/device.h"
#include "vgpu/wave/dispatch.h"
#include "vgpu/wave/kernel_descriptor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace luthier::vgpu {

namespace {

/// Instructions between two writes of XNACK_MASK, on average. Few are enough to hit every value that lives there.
constexpr uint32_t kXnackInterval = 8;

/// Streams of garbage, apart from those of the waves' registers.
constexpr uint64_t kLdsStream = 1ull << 62, kScratchStream = 2ull << 62;

} // namespace

StrictMachine::StrictMachine(const StrictResources &strict, const Dispatch &dispatch)
    : strict(strict), registers(descriptorAt(dispatch.launch().kernelObject), dispatch.device().target()),
      xnack(registers.xnackMask &&
            (!dispatch.device().xnack || dispatch.device().xnack(dispatch.launch().kernelObject))),
      waveStart(dispatch.start()) {}

void StrictMachine::start(std::span<uint8_t> lds, std::span<Wave *const> waves, uint64_t firstWave) const {
  const auto fill = [](Garbage garbage, uint8_t *bytes, uint64_t size) {
    const GuestCopy guest;
    for (uint64_t done = 0; done < size; done += 4) {
      const uint32_t word = garbage.word();
      memcpy(bytes + done, &word, std::min<uint64_t>(4, size - done));
    }
  };
  fill(Garbage(strict.seed, kLdsStream + firstWave), lds.data(), lds.size());
  for (const Wave *wave : waves)
    fill(Garbage(strict.seed, kScratchStream + firstWave + wave->index), reinterpret_cast<uint8_t *>(wave->scratchBase),
         wave->scratchBytes);
}

uint32_t StrictMachine::workgroupsPerUnit(const isa::Target &target, const Launch &launch) const {
  const uint32_t items = uint32_t{launch.workgroup[0]} * launch.workgroup[1] * launch.workgroup[2];
  return isa::workgroupsPerComputeUnit(
      target, {.waveSize = registers.lanes,
               .vgprs = registers.vgprs,
               .accVgprs = registers.accVgprs,
               .sgprs = std::min<unsigned>(registers.sgprs, target.sgprs + target.trailingSgprs),
               .ldsBytes = launch.groupSegmentSize,
               .workgroupSize = items});
}

WaveResources::WaveResources(const StrictMachine &machine, uint64_t waveNumber)
    : machine_(machine), garbage_(machine.strict.seed, waveNumber) {}

WaveResources::~WaveResources() {
  StrictResources::Totals &totals = machine_.strict.totals;
  totals.waves += 1;
  totals.xnackWrites += xnackWrites_;
  totals.staleBranches += staleBranches_;
}

void WaveResources::start(Wave &w) {
  const PhysicalRegisters &registers = machine_.registers;
  const uint64_t exec = w.exec();
  for (unsigned reg = 0; reg < number(Reg::ExecLo); ++reg)
    if (!machine_.waveStart.givesSgpr(reg))
      w.s[reg] = garbage_.word();
  w.scc = garbage_.bits() & 1;
  vccz_ = garbage_.bits() & 1;
  for (unsigned reg = 0; reg < registers.vgprs; ++reg)
    for (unsigned lane = 0; lane < kMaxLanes; ++lane)
      if (reg >= machine_.waveStart.itemIdRegisters() || !(exec >> lane & 1))
        w.v[reg][lane] = garbage_.word();
  for (unsigned reg = 0; reg < registers.accVgprs; ++reg)
    garbage_.fill(w.v[kAccBase + reg]);
  if (registers.alias)
    for (unsigned n = 0; n < PhysicalRegisters::kSpecials; ++n)
      last_[n] = special(w, n) = numbered(w, n); // numbered ones may be given
}

void WaveResources::notice(Wave &w) {
  if (!machine_.registers.alias)
    return;
  if (memcmp(&special(w, 0), last_, sizeof last_) == 0 && memcmp(&numbered(w, 0), last_, sizeof last_) == 0) [[likely]]
    return;
  for (unsigned n = 0; n < PhysicalRegisters::kSpecials; ++n) {
    if (special(w, n) != last_[n])
      numbered(w, n) = special(w, n);
    else
      special(w, n) = numbered(w, n);
    last_[n] = special(w, n);
  }
}

void WaveResources::undoPoison(Wave &w) {
  if (!machine_.registers.alias)
    return;
  for (unsigned n = 0; n < PhysicalRegisters::kSpecials; ++n) {
    if (special(w, n) == last_[n] || numbered(w, n) == last_[n])
      special(w, n) = numbered(w, n) = last_[n];
    else
      last_[n] = special(w, n) = numbered(w, n);
  }
}

const Inst *WaveResources::stop(Wave &w, const Inst *inst, Reg reg, bool written) const {
  return w.missingRegister(inst, fmt::format("{} is {}, which the kernel has not allocated\n"
                                             "  allocated   {}\n  seed        {}",
                                             toString(reg), written ? "written" : "read", machine_.registers.text(),
                                             machine_.strict.seed));
}

/// Behind MSG_DEALLOC_VGPRS another wave may have the registers and the scratch memory.
bool WaveResources::checkGivenBack(Wave &w, const Inst *inst, const ResourcePlan &plan) const {
  if (!givenBack_ || (!plan.vector && !plan.scratch))
    return true;
  const std::string what = plan.vector ? toString(*plan.vector) : "scratch memory";
  return w.missingRegister(inst, fmt::format("{} is used behind s_sendmsg(MSG_DEALLOC_VGPRS), which has given the "
                                             "wave's vector registers and scratch memory back",
                                             what));
}

/// GPR indexing moves the registers that M0 enables (exec/modes.h).
bool WaveResources::checkIndexed(Wave &w, const Inst *inst) {
  constexpr uint32_t kDst = 8;
  const Row &row = *inst->row;
  const uint32_t index = w.s[kM0] & 0xff, enabled = w.s[kM0] >> 12 & 0xf;
  const auto there = [&](uint32_t reg, Type type, bool written) {
    const auto missing = machine_.registers.missing({vgpr(reg), static_cast<uint16_t>(is64(type) ? 2 : 1)});
    return !missing || stop(w, inst, *missing, written);
  };
  for (unsigned n = 0; n < 3; ++n) {
    const bool isDst = n == 2 && (row.traits & kAccumulates);
    if (inst->srcKind[n] == SrcKind::Vgpr && inst->src[n].reg < kAccBase && (enabled & (isDst ? kDst : 1u << n)) &&
        !there(inst->src[n].reg + index, row.src[n], false))
      return false;
  }
  const bool writesVgpr = row.dst != Type::Mask && row.dst != Type::None && !(row.traits & kScalarDst);
  return !(enabled & kDst) || !writesVgpr || inst->dst >= kAccBase || there(inst->dst + index, row.dst, true);
}

/// s_movrels and s_movreld: M0 moves one of the operands.
bool WaveResources::checkRelative(Wave &w, const Inst *inst, const Operands &operands) {
  const bool destination = operands.mnemonic.starts_with("s_movreld");
  const uint64_t first = uint64_t{destination ? inst->dst : inst->src[0].reg} + w.s[kM0];
  const unsigned count = operands.mnemonic.ends_with("b64") ? 2 : 1;
  if (first + count <= machine_.registers.numberedSgprs)
    return true;
  // By name as far as there are names; what M0 made of it is in the message's second line.
  const Reg named = sgpr(static_cast<unsigned>(std::min<uint64_t>(first + count - 1, number(Reg::FlatScrLo) - 1)));
  return stop(w, inst, named, destination);
}

bool WaveResources::check(Wave &w, const Inst *inst, const OperandCache::Known &known) {
  const ResourcePlan &plan = known.resources;
  if (plan.missing)
    return stop(w, inst, *plan.missing, plan.missingWritten);
  if (plan.trapRegisterWritten)
    return w.missingRegister(inst, "a TTMP register is written, which only trap handlers may");
  if (!checkGivenBack(w, inst, plan))
    return false;
  if (plan.relative)
    return checkRelative(w, inst, known);
  if ((w.mode & kGprIdxEn) && inst->row && inst->row->mnemonic.starts_with("v_"))
    return checkIndexed(w, inst);
  return true;
}

void WaveResources::enter(Wave &w, const OperandCache::Known &known) {
  if (machine_.xnack && garbage_.oneIn(kXnackInterval)) {
    ++xnackWrites_;
    for (unsigned n = 2; n < 4; ++n) {
      special(w, n) = garbage_.word();
      if (machine_.registers.alias)
        last_[n] = numbered(w, n) = special(w, n);
    }
  }
  lastVcc_ = w.scalar64(kVcc);
  w.staleVccz = vccz_ != (w.vcc() == 0);
  replaced_ = w.staleVccz && known.resources.branchesOnVccz;
  if (!replaced_)
    return;
  // The branch's handler looks at VCC: for its time, VCC is what VCCZ says.
  ++staleBranches_;
  w.setScalar64(kVcc, vccz_ ? 0 : 1);
}

void WaveResources::leave(Wave &w) {
  if (replaced_)
    w.setScalar64(kVcc, lastVcc_);
  replaced_ = false;
}

void WaveResources::settle(Wave &w, const Inst *inst, const OperandCache::Known &known) {
  notice(w);
  if (known.resources.sendsMessage && isa::messageOf(inst->imm) == isa::Message::DeallocVgprs)
    givenBack_ = true;
  VccWrite written = known.resources.vcc;
  if (known.resources.relative) {
    Operands moved;
    const auto uses = placed(w, inst, known, placed_);
    moved.registers.assign(uses.begin(), uses.end());
    written = ResourcePlan::of(moved, machine_.registers).vcc;
  }
  // A load into VCC that strict waits held back has arrived.
  const bool landed = known.waits && w.scalar64(kVcc) != lastVcc_;
  if (written == VccWrite::Whole || landed ||
      (written == VccWrite::Partial && machine_.registers.partialVccWritesUpdateVccz))
    vccz_ = w.vcc() == 0;
}

} // namespace luthier::vgpu
