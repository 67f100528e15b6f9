#include "vgpu/wave/operands.h"

#include "isa/format.h"
#include "vgpu/device.h"
#include "vgpu/exec/modes.h"
#include "vgpu/exec/row.h"
#include "vgpu/wave/code_cache.h"
#include "vgpu/wave/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

namespace luthier::vgpu {

using isa::RegisterFile;
using isa::RegisterUse;

namespace {

MemoryUnit unitOf(std::string_view name, const Inst &inst) {
  struct Prefix {
    std::string_view text;
    MemoryUnit unit;
  };
  static constexpr Prefix kPrefixes[] = {
      {"global_", MemoryUnit::Global},       {"flat_", MemoryUnit::Flat},       {"scratch_", MemoryUnit::Scratch},
      {"buffer_", MemoryUnit::Buffer},       {"tbuffer_", MemoryUnit::Buffer},  {"ds_", MemoryUnit::Lds},
      {"s_load_", MemoryUnit::Scalar},       {"s_buffer_", MemoryUnit::Scalar}, {"s_store_", MemoryUnit::Scalar},
      {"s_scratch_", MemoryUnit::Scalar},    {"s_atomic_", MemoryUnit::Scalar}, {"s_memtime", MemoryUnit::Scalar},
      {"s_memrealtime", MemoryUnit::Scalar}, {"s_dcache_", MemoryUnit::Scalar}, {"s_atc_", MemoryUnit::Scalar},
      {"s_sendmsg", MemoryUnit::Message}};
  for (const Prefix &prefix : kPrefixes)
    if (name.starts_with(prefix.text))
      return prefix.unit == MemoryUnit::Lds && (inst.flags & kLds) ? MemoryUnit::Gds : prefix.unit;
  return MemoryUnit::None;
}

/// Where LLVM's description says less, or more, than gfx9 does.
void correct(Operands &o, const Inst &inst) {
  const std::string_view name = o.mnemonic;
  auto contains = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  // Before gfx9, every LDS instruction read its limit from M0.
  if (name.starts_with("ds_") && !contains("append") && !contains("consume") && !contains("addtid") &&
      !contains("gws") && !contains("ordered"))
    std::erase_if(o.registers, [](const RegisterUse &use) { return use.implicit && use.first == kM0; });
  // Results that leave a part of the destination as it was, or are added to it.
  const bool sdwaPreserves = (inst.flags & kSdwa) && (inst.control >> 11 & 3) == 2;
  const bool half = (contains("_d16") && o.unit != MemoryUnit::None && !contains("store") && !contains("write")) ||
                    (inst.flags & kOpSelDst) || (inst.row && (inst.row->traits & (kKeepsHigh | kAccumulates))) ||
                    sdwaPreserves;
  if (half || name.starts_with("s_bitset") || name.starts_with("s_cmov") || name == "v_writelane_b32" ||
      name == "v_cvt_pkaccum_u8_f32")
    for (RegisterUse &use : o.registers)
      use.read |= use.write && !use.implicit;
  if (name.starts_with("s_quadmask"))
    o.registers.push_back({RegisterFile::Scc, 0, 1, false, true, true});
  if (contains("_class_") && (inst.flags & kSdwa) && inst.sdst != kVcc) // the result is in SDST alone
    std::erase_if(o.registers, [](const RegisterUse &use) { return use.implicit && use.write && use.first == kVcc; });
  if (name == "s_setvskip") // alone among the SOPC instructions
    std::erase_if(o.registers, [](const RegisterUse &use) { return use.file == RegisterFile::Scc; });
  if (name == "s_set_gpr_idx_mode") // writes four bits of M0
    for (RegisterUse &use : o.registers)
      use.read |= use.first == kM0;
  if (name.starts_with("s_movrel")) {
    const uint16_t width = name.ends_with("b64") ? 2 : 1;
    std::erase_if(o.registers, [](const RegisterUse &use) { return !use.implicit; });
    o.registers.push_back({RegisterFile::Scalar, inst.dst, width, false, true, false});
    if (inst.srcKind[0] == SrcKind::Scalar)
      o.registers.push_back({RegisterFile::Scalar, static_cast<uint16_t>(inst.src[0].reg), width, true, false, false});
  }
  // VCCZ as a source; EXEC is implied everywhere.
  for (unsigned n = 0; n < 3; ++n)
    if (inst.srcKind[n] == SrcKind::Special && inst.src[n].reg == isa::src::kVccz)
      o.registers.push_back({RegisterFile::Scalar, kVcc, 2, true, false, true});
  o.crossLane = (inst.flags & kDpp) || contains("lane") || contains("permute") || contains("swizzle") ||
                name.starts_with("v_mfma");
}

} // namespace

Operands operandsOf(const Wave &w, const Inst *inst) {
  Operands o;
  const uint64_t pc = w.pc(inst);
  const size_t bytes = inst->words * 4u;
  if (!bytes || !w.memory->allows(pc, bytes, w.deviceMask))
    return o;
  const std::span code(reinterpret_cast<const uint8_t *>(pc), bytes);
  Decoder &decoder = w.device->code().decoder();
  o.text = decoder.text(code, pc);
  o.registers = decoder.registers(code, pc);
  if (inst->row)
    o.mnemonic = inst->row->mnemonic;
  o.unit = unitOf(o.mnemonic, *inst);
  correct(o, *inst);
  return o;
}

namespace {

/// GPR indexing (modes.h): M0 moves the operands that it enables, each on its own. A use that stands for several
/// operands becomes several. False when the destination is out of range, which makes the instruction do nothing.
bool placeIndexed(const Wave &w, const Inst *inst, const RegisterUse &use, std::vector<RegisterUse> &uses) {
  const uint32_t index = w.s[kM0] & 0xff, enabled = w.s[kM0] >> 12 & 0xf;
  const auto add = [&](bool moved, bool read, bool write) {
    RegisterUse result = use;
    result.read = read;
    result.write = write;
    if (moved)
      result.first = static_cast<uint16_t>(use.first + index);
    const bool inRange = result.first + use.count <= std::min<uint32_t>(w.vgprCount, kAccBase);
    if (!inRange) // a source becomes v0
      result.first = 0;
    if (inRange || !write)
      uses.push_back(result);
    return inRange || !write;
  };
  // What the destination keeps, or adds to, is read where the destination is.
  const bool accumulates = inst->row->traits & kAccumulates, isDst = use.write && use.first == inst->dst;
  bool isSource = false;
  for (unsigned n = 0; n < (accumulates ? 2u : 3u); ++n)
    if (inst->srcKind[n] == SrcKind::Vgpr && inst->src[n].reg == use.first) {
      isSource = true;
      add(enabled >> n & 1, true, use.write && !isDst);
    }
  return (!isDst && isSource) || add(isDst && (enabled & 8), use.read, use.write);
}

/// s_movrels and s_movreld: M0 moves the source or the destination.
void placeRelative(const Wave &w, bool destination, const RegisterUse &use, std::vector<RegisterUse> &uses) {
  RegisterUse result = use;
  if (!use.implicit && use.write == destination) {
    const uint64_t reg = uint64_t{use.first} + w.s[kM0];
    const bool inRange = reg + use.count <= kFlatScratch;
    if (!inRange && destination)
      return;
    result.first = inRange ? static_cast<uint16_t>(reg) : 0;
  }
  uses.push_back(result);
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
    else if (use.file != RegisterFile::Vector)
      storage.push_back(use);
    else if (!placeIndexed(w, inst, use, storage))
      return {};
  return storage;
}

std::string registerName(RegisterFile file, unsigned number) {
  switch (file) {
  case RegisterFile::Vector:
    return fmt::format("v{}", number);
  case RegisterFile::Accumulator:
    return fmt::format("a{}", number);
  case RegisterFile::Scc:
    return "scc";
  case RegisterFile::Scalar:
    break;
  }
  switch (number) {
  case kM0:
    return "m0";
  case kFlatScratch:
    return "flat_scratch_lo";
  case kFlatScratch + 1:
    return "flat_scratch_hi";
  case 104:
    return "xnack_mask_lo";
  case 105:
    return "xnack_mask_hi";
  case kVcc:
    return "vcc_lo";
  case kVcc + 1:
    return "vcc_hi";
  case kExec:
    return "exec_lo";
  case kExec + 1:
    return "exec_hi";
  default:
    return number >= 108 ? fmt::format("ttmp{}", number - 108) : fmt::format("s{}", number);
  }
}

namespace {

uint64_t vector64(const Wave &w, unsigned reg, unsigned lane) {
  return w.v[reg][lane] | static_cast<uint64_t>(w.v[reg + 1][lane]) << 32;
}

uint64_t scalarAddress(const Wave &w, const Inst *i, std::string_view name) {
  uint64_t offset = static_cast<uint64_t>(static_cast<int64_t>(i->imm & ~3));
  if (i->sdst != kNoScalar)
    offset += (static_cast<uint64_t>(w.s[i->sdst]) * (name.starts_with("s_scratch") ? 64 : 1)) & ~3ull;
  const uint64_t mask = name.starts_with("s_buffer") ? 0xffffffffffffull : ~AddressSpace::kUserPointerTag;
  return ((w.scalar64(i->src[0].reg) & mask & ~3ull) + offset) & ~AddressSpace::kUserPointerTag;
}

/// Manual, 9.1.5: swizzled buffers interleave the dwords of `indexStride` records.
uint64_t bufferAddress(const Wave &w, const Inst *i, unsigned lane, bool typed) {
  const uint32_t *v = &w.s[i->sdst];
  const bool idxen = i->control >> 13 & 1, offen = i->control >> 12 & 1, addTid = v[3] >> 23 & 1;
  const uint32_t stride = (v[1] >> 16 & 0x3fff) | (addTid && !typed ? (v[3] >> 15 & 0xf) << 14 : 0);
  const uint32_t soffset = i->srcKind[2] == SrcKind::Scalar     ? w.s[i->src[2].reg]
                           : i->srcKind[2] == SrcKind::Constant ? i->src[2].lanes[0]
                                                                : 0;
  const uint64_t base = (v[0] | static_cast<uint64_t>(v[1] & 0xffff) << 32) + soffset;
  const unsigned reg = i->src[0].reg;
  const uint32_t index = (idxen ? w.v[reg][lane] : 0) + (addTid ? lane : 0);
  const uint32_t offset = (offen ? w.v[reg + idxen][lane] : 0) + static_cast<uint32_t>(i->imm);
  if (!(v[1] >> 31))
    return base + static_cast<uint64_t>(index) * stride + offset;
  const uint32_t interleaved = 8u << (v[3] >> 21 & 3);
  return base + (static_cast<uint64_t>(index / interleaved) * stride + (offset & ~3u)) * interleaved +
         (index % interleaved) * 4 + (offset & 3);
}

/// Bytes between elements that the two offsets of read2 and its like count; 0 for one offset.
uint32_t offsetUnit(std::string_view name) {
  if (name.find("read2") == std::string_view::npos && name.find("write2") == std::string_view::npos &&
      name.find("wrxchg2") == std::string_view::npos)
    return 0;
  return (name.ends_with("b64") ? 8 : 4) * (name.find("st64") != std::string_view::npos ? 64 : 1);
}

} // namespace

Addresses addressesOf(const Wave &w, const Inst *i, const Operands &o) {
  Addresses result;
  const std::string_view name = o.mnemonic;
  auto each = [&](auto &&address) {
    for (unsigned lane = 0; lane < w.lanes; ++lane)
      result.first.push_back(address(lane));
  };
  const auto imm = static_cast<uint64_t>(static_cast<int64_t>(i->imm));
  switch (o.unit) {
  case MemoryUnit::Scalar:
    if (name.find("load") != name.npos || name.find("store") != name.npos || name.find("atomic") != name.npos)
      result.first.push_back(scalarAddress(w, i, name));
    break;
  case MemoryUnit::Flat:
  case MemoryUnit::Global:
    each([&](unsigned lane) {
      const uint64_t base =
          i->sdst != kNoScalar ? w.scalar64(i->sdst) + w.v[i->src[0].reg][lane] : vector64(w, i->src[0].reg, lane);
      return (base + imm) & ~AddressSpace::kUserPointerTag;
    });
    break;
  case MemoryUnit::Scratch:
    each([&](unsigned lane) {
      const uint32_t base = i->sdst != kNoScalar ? w.s[i->sdst] : w.v[i->src[0].reg][lane];
      return base + static_cast<uint32_t>(i->imm);
    });
    break;
  case MemoryUnit::Buffer:
    if (!name.starts_with("buffer_wb") && !name.starts_with("buffer_inv"))
      each([&](unsigned lane) { return bufferAddress(w, i, lane, name.starts_with("tbuffer")); });
    break;
  case MemoryUnit::Lds:
    if (name.find("permute") != name.npos || name.find("swizzle") != name.npos || name == "ds_nop")
      break;
    if (name.find("addtid") != name.npos || name == "ds_append" || name == "ds_consume") {
      const uint32_t step = name.find("addtid") != name.npos ? 4 : 0;
      each([&](unsigned lane) { return (w.s[kM0] & 0xffff) + static_cast<uint32_t>(i->imm) + step * lane; });
    } else if (const uint32_t unit = offsetUnit(name)) {
      each([&](unsigned lane) { return w.v[i->src[0].reg][lane] + (static_cast<uint32_t>(i->imm) & 0xff) * unit; });
      for (unsigned lane = 0; lane < w.lanes; ++lane)
        result.second.push_back(w.v[i->src[0].reg][lane] + (static_cast<uint32_t>(i->imm) >> 8 & 0xff) * unit);
    } else {
      each([&](unsigned lane) { return w.v[i->src[0].reg][lane] + static_cast<uint32_t>(i->imm); });
    }
    break;
  default:
    break;
  }
  return result;
}

const Operands &OperandCache::of(const Wave &w, const Inst *inst) {
  {
    std::shared_lock lock(mutex_);
    if (const auto it = known_.find(inst); it != known_.end())
      return *it->second;
  }
  auto operands = std::make_unique<Operands>(operandsOf(w, inst));
  std::lock_guard lock(mutex_);
  return *known_.try_emplace(inst, std::move(operands)).first->second;
}

} // namespace luthier::vgpu
