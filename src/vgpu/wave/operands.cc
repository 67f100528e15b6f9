#include "vgpu/wave/operands.h"

#include "vgpu/exec/modes.h"
#include "vgpu/exec/row.h"
#include "vgpu/state/code_chunk.h"
#include "vgpu/wave/buffer_resource.h"
#include "vgpu/wave/code_cache.h"
#include "vgpu/wave/decoder.h"
#include "vgpu/wave/device.h"
#include "vgpu/wave/footprint.h"

#include <algorithm>
#include <mutex>

namespace luthier::vgpu {

Operands operandsOf(const Wave &w, const Inst *inst) {
  Operands o;
  const uint64_t pc = w.pc(inst);
  const size_t bytes = inst->words * 4u;
  if (!bytes || !w.memory->mapped(pc, bytes, w.deviceMask))
    return o;
  const std::span code(reinterpret_cast<const uint8_t *>(pc), bytes);
  Decoder &decoder = w.device->code(w.lanes).decoder();
  o.text = decoder.text(code, pc);
  const auto sequence = decoder.instruction(code, pc);
  if (!sequence)
    return o;
  const Instr &instr = sequence->instrs().front();
  o.mnemonic = instr.mnemonic();
  o.space = instr.memorySpace();
  o.memory = instr.memory();
  o.counters = countersOf(instr, w.device->target());
  o.waits = instr.is(Property::Wait);
  if (o.waits)
    o.limits = limitsOf(instr, w.device->target());
  o.crossLane = instr.is(Property::CrossLane) || instr.is(Property::IgnoresExec);

  const auto add = [&](RegRange regs, bool read, bool write, bool implicit) {
    auto same = std::ranges::find(o.registers, regs, &RegisterUse::regs);
    if (same == o.registers.end())
      same = o.registers.insert(same, RegisterUse{regs, false, false, implicit});
    same->read |= read;
    same->write |= write;
  };
  for (const Operand &operand : instr.operands())
    if (operand.kind == OperandKind::Register && (operand.read || operand.written) && !operand.regs.empty() &&
        operand.regs.first != Reg::Null)
      add(operand.regs, operand.read, operand.written, false);
  // Of an instruction whose registers depend on an index, only those that it will use are of interest: see placed().
  const auto isImplicit = [&](RegRange regs) {
    return regs.first != Reg::Mode &&
           !(instr.is(Property::Indexed) && (isVector(regs.first) || regs.first < Reg::VccLo));
  };
  for (const RegRange regs : instr.reads())
    if (isImplicit(regs))
      add(regs, true, false, true);
  for (const RegRange regs : instr.writes())
    if (isImplicit(regs))
      add(regs, false, true, true);
  if (inst->row) {
    RegSet reads, writes;
    for (const RegisterUse &use : o.registers) {
      if (use.read)
        reads.insert(use.regs);
      if (use.write)
        writes.insert(use.regs);
    }
    if (const auto engine = footprintOf(*inst->row, code, w.device->target(), w.lanes))
      o.disagreement = disagreement(*engine, reads, writes);
  }
  return o;
}

namespace {

/// GPR indexing (modes.h): M0 moves the operands that it enables, each on its own. A use that stands for several
/// operands becomes several. False when the destination is out of range, which makes the instruction do nothing.
bool placeIndexed(const Wave &w, const Inst *inst, const RegisterUse &use, std::vector<RegisterUse> &uses) {
  const uint32_t index = w.s[kM0] & 0xff, enabled = w.s[kM0] >> 12 & 0xf, reg = vectorIndex(use.regs.first);
  const auto add = [&](bool moved, bool read, bool write) {
    const uint32_t place = reg + (moved ? index : 0);
    const bool inRange = place + use.regs.count <= std::min<uint32_t>(w.vgprCount, kAccBase);
    if (inRange || !write) // a source that is out of range becomes v0
      uses.push_back({{vgpr(inRange ? place : 0), use.regs.count}, read, write, use.implicit});
    return inRange || !write;
  };
  // What the destination keeps, or adds to, is read where the destination is.
  const bool accumulates = inst->row->traits & kAccumulates, isDst = use.write && reg == inst->dst;
  bool isSource = false;
  for (unsigned n = 0; n < (accumulates ? 2u : 3u); ++n)
    if (inst->srcKind[n] == SrcKind::Vgpr && inst->src[n].reg == reg) {
      isSource = true;
      add(enabled >> n & 1, true, use.write && !isDst);
    }
  return (!isDst && isSource) || add(isDst && (enabled & 8), use.read, use.write);
}

/// s_movrels and s_movreld: M0 moves the source or the destination. One register that is both becomes two uses.
void placeRelative(const Wave &w, bool destination, const RegisterUse &use, std::vector<RegisterUse> &uses) {
  const auto add = [&](bool write) {
    RegisterUse result{use.regs, !write, write, use.implicit};
    if (!use.implicit && write == destination) {
      const uint64_t reg = uint64_t{number(use.regs.first)} + w.s[kM0];
      const bool inRange = reg + use.regs.count <= w.sgprs;
      if (!inRange && write)
        return;
      result.regs.first = sgpr(inRange ? static_cast<unsigned>(reg) : 0); // a source becomes s0
    }
    uses.push_back(result);
  };
  if (use.read)
    add(false);
  if (use.write)
    add(true);
}

} // namespace

std::span<const RegisterUse> placed(const Wave &w, const Inst *inst, const Operands &operands,
                                    std::vector<RegisterUse> &storage) {
  const std::string_view name = operands.mnemonic;
  const bool indexed = (w.mode & kGprIdxEn) && inst->row && name.starts_with("v_");
  const bool relative = name.starts_with("s_movrel");
  if (!indexed && !relative)
    return operands.registers;
  storage.clear();
  for (const RegisterUse &use : operands.registers)
    if (relative)
      placeRelative(w, name.starts_with("s_movreld"), use, storage);
    else if (!isVector(use.regs.first))
      storage.push_back(use);
    else if (!placeIndexed(w, inst, use, storage))
      return {};
  return storage;
}

namespace {

uint64_t vector64(const Wave &w, unsigned reg, unsigned lane) {
  return w.v[reg][lane] | static_cast<uint64_t>(w.v[reg + 1][lane]) << 32;
}

uint64_t scalar64(const Wave &w, RegRange regs) { return w.scalar64(static_cast<uint16_t>(number(regs.first))); }

uint64_t scalarAddress(const Wave &w, const MemoryAccess &m, std::string_view name) {
  uint64_t offset = static_cast<uint64_t>(static_cast<int64_t>(m.offset & ~3));
  if (!m.soffset.empty())
    offset += (static_cast<uint64_t>(w.s[number(m.soffset.first)]) * (name.starts_with("s_scratch") ? 64 : 1)) & ~3ull;
  const uint64_t mask = name.starts_with("s_buffer") ? 0xffffffffffffull : ~0ull;
  return (scalar64(w, m.saddr) & mask & ~3ull) + offset;
}

} // namespace

void laneAddresses(const Wave &w, const Operands &o, bool second, uint64_t *to) {
  const MemoryAccess &m = *o.memory;
  const unsigned vaddr = m.vaddr.empty() ? 0 : vectorIndex(m.vaddr.first);
  const unsigned lanes = w.lanes;
  const auto each = [&](auto &&address) {
    for (unsigned lane = 0; lane < lanes; ++lane)
      to[lane] = address(lane);
  };
  const auto imm = static_cast<uint64_t>(int64_t{m.offset});
  switch (m.space) {
  case MemorySpace::Scalar:
    to[0] = scalarAddress(w, m, o.mnemonic);
    break;
  case MemorySpace::Flat:
  case MemorySpace::Global: {
    const uint64_t base = (m.saddr.empty() ? 0 : scalar64(w, m.saddr)) + imm;
    if (m.vaddr.empty()) // by the lane's number
      each([&](unsigned lane) { return base + 4 * lane; });
    else if (m.saddr.empty())
      each([&](unsigned lane) { return base + vector64(w, vaddr, lane); });
    else
      each([&](unsigned lane) { return base + w.v[vaddr][lane]; });
    break;
  }
  case MemorySpace::Scratch: {
    const uint32_t base = (m.saddr.empty() ? 0 : w.s[number(m.saddr.first)]) + static_cast<uint32_t>(m.offset);
    each([&](unsigned lane) { return base + (m.vaddr.empty() ? 0 : w.v[vaddr][lane]); });
    break;
  }
  case MemorySpace::Buffer: {
    const BufferResource buffer(w, m, w.device->target().bufferResource, o.mnemonic.starts_with("tbuffer"));
    each([&](unsigned lane) { return buffer.address(lane); });
    break;
  }
  case MemorySpace::Lds: {
    const auto offset = static_cast<uint32_t>(second ? m.offset2 : m.offset);
    if (m.vaddr.empty()) { // relative to M0: by lane for addtid, one place for append and consume
      const uint32_t step = m.atomic ? 0 : 4;
      each([&](unsigned lane) { return (w.s[kM0] & 0xffff) + offset + step * lane; });
    } else {
      each([&](unsigned lane) { return w.v[vaddr][lane] + offset; });
    }
    break;
  }
  default:
    break;
  }
}

Addresses addressesOf(const Wave &w, const Operands &o) {
  Addresses result;
  addressesOf(w, o, result);
  return result;
}

void addressesOf(const Wave &w, const Operands &o, Addresses &result) {
  result.first.clear();
  result.second.clear();
  if (!o.memory)
    return;
  const MemoryAccess &m = *o.memory;
  const auto fill = [&](std::vector<uint64_t> &to, bool second) {
    to.resize(m.space == MemorySpace::Scalar ? 1 : w.lanes);
    laneAddresses(w, o, second, to.data());
  };
  switch (m.space) {
  case MemorySpace::Scalar:
  case MemorySpace::Flat:
  case MemorySpace::Global:
  case MemorySpace::Scratch:
  case MemorySpace::Buffer:
  case MemorySpace::Lds:
    fill(result.first, false);
    break;
  default:
    break;
  }
  if (m.two)
    fill(result.second, true);
}

const OperandCache::Known &OperandCache::of(const Wave &w, const Inst *inst) {
  {
    std::shared_lock lock(mutex_);
    if (const auto it = known_.find(inst); it != known_.end())
      return *it->second;
  }
  auto fresh = std::make_unique<Known>(operandsOf(w, inst), inst);
  if (physical)
    fresh->resources = ResourcePlan::of(*fresh, *physical);
  fresh->isPlain = !fresh->mnemonic.empty() && fresh->disagreement.empty() && fresh->space == MemorySpace::None &&
                   !fresh->counters && !fresh->waits && !fresh->mnemonic.starts_with("s_movrel");
  RegSet registers;
  for (const RegisterUse &use : fresh->registers)
    registers.insert(use.regs);
  for (unsigned n = 0; n < RegSet::kWords; ++n)
    if (const uint64_t word = wordOf(registers, n))
      fresh->words.push_back({static_cast<uint8_t>(n), word});
  if (!fresh->mnemonic.empty() && fresh->space == MemorySpace::None && !fresh->counters && !fresh->waits)
    plain_[inst->opcode].store(true, std::memory_order_relaxed);
  std::lock_guard lock(mutex_);
  return *known_.try_emplace(inst, std::move(fresh)).first->second;
}

const OperandCache::Known &OperandCache::of(const Wave &w, const Inst *inst, const Known *last) {
  if (!last)
    return of(w, inst);
  if (const Known *guess = last->follower.load(std::memory_order_acquire); guess && guess->inst == inst)
    return *guess;
  const Known &found = of(w, inst);
  last->follower.store(&found, std::memory_order_release);
  return found;
}

OperandCache::Table &OperandCache::tableOf(const CodeChunk &chunk) {
  std::lock_guard lock(mutex_);
  auto &table = tables_[&chunk];
  if (!table)
    table = std::make_unique<Table>(CodeChunk::kInsts + CodeChunk::kOverrun / 4 + 1);
  return *table;
}

} // namespace luthier::vgpu
