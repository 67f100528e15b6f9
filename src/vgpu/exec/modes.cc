#include "vgpu/exec/modes.h"

#include "vgpu/exec/row.h"
#include "vgpu/state/fp_mode.h"
#include "vgpu/state/opcode_count.h"

#include <algorithm>
#include <bit>

namespace luthier::vgpu {

namespace {

/// Enable bits of GPR indexing, from M0[15:12].
constexpr uint32_t kIndexSrc0 = 1, kIndexDst = 8;

/// Executes a vector ALU instruction with M0's index added to the registers that M0 selects. Returns what to execute
/// next relative to `i`.
const Inst *runIndexed(Wave &w, const Inst *i) {
  const Row &row = *i->row;
  const uint32_t index = w.s[kM0] & 0xff;
  const uint32_t enabled = w.s[kM0] >> 12 & 0xf;
  const uint32_t size = std::min<uint32_t>(w.vgprCount, kAccBase);
  const auto outOfRange = [&](uint32_t reg, Type type) { return reg + (is64(type) ? 2 : 1) > size; };
  Inst indexed[8]; // one, with room for `next` to point behind it
  indexed[0] = *i;
  for (unsigned n = 0; n < 3; ++n) {
    // A source that stands for the destination (v_mac_f32) goes where the destination goes.
    const bool isDst = n == 2 && (row.traits & kAccumulates);
    if (i->srcKind[n] != SrcKind::Vgpr || !(enabled & (isDst ? kIndexDst : kIndexSrc0 << n)))
      continue;
    if (i->src[n].reg >= kAccBase)
      return w.illegal(i, "indexes AccVGPRs, which GPR indexing is not defined for");
    const uint32_t reg = i->src[n].reg + index;
    indexed[0].src[n].reg = outOfRange(reg, row.src[n]) ? 0 : reg;
  }
  const bool writesVgpr = row.dst != Type::Mask && row.dst != Type::None && !(row.traits & kScalarDst);
  if ((enabled & kIndexDst) && writesVgpr) {
    if (i->dst >= kAccBase)
      return w.illegal(i, "indexes AccVGPRs, which GPR indexing is not defined for");
    if (outOfRange(i->dst + index, row.dst)) // the manual, 3.6.1: the instruction is ignored
      return i->next();
    indexed[0].dst = static_cast<uint16_t>(i->dst + index);
  }
  const Inst *next = single(indexed[0])(w, indexed);
  if (!next) {
    w.ip = i;
    return nullptr;
  }
  return i + (next - indexed);
}

} // namespace

const Inst *executeModal(Wave &w, const Inst *i) {
  // Records without a row are hops between chunks and instructions that will stop the wave.
  const bool vector = i->row && !i->row->mnemonic.starts_with("s_");
  if (vector && (w.mode & kVskip))
    return i->next();
  if (vector && i->row->mnemonic.starts_with("v_"))
    return runIndexed(w, i);
  return single(*i)(w, i);
}

void runModal(Wave &w, uint64_t &budget) {
  const Inst *ip = w.ip;
  for (; budget != 0; --budget) {
    if (w.counts && ip->words != 0)
      w.counts[ip->opcode].add(static_cast<uint64_t>(std::popcount(w.exec())));
    _mm_setcsr(ip->flags & kF64Mode ? mxcsrForF64(w.mode) : mxcsrForF32(w.mode));
    const Inst *next = executeModal(w, ip);
    if (!next) {
      --budget;
      return;
    }
    ip = next;
  }
  w.ip = ip;
}

} // namespace luthier::vgpu
