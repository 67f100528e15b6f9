// Global wave sync: DS instructions that synchronise the waves of a whole grid (manual, 12.12).
//
// One copy for all CPU levels: these take locks, and nothing in them is per lane.

#include "vgpu/device.h"
#include "vgpu/exec/scalar.h"
#include "vgpu/exec/tables.h"

namespace luthier::vgpu {

namespace {

// The resource is M0[21:16] + offset, modulo the number of resources (LLVM's AMDGPUUsage; the manual calls
// the first part gds_base). The data operand is encoded in ADDR and comes from the first active lane.

unsigned gwsResource(const Wave &w, const Inst *i) {
  return ((w.s[kM0] >> 16 & 0x3f) + (static_cast<u32>(i->imm) & 0x3f)) % GlobalWaveSync::kResources;
}
u32 gwsValue(const Wave &w, const Inst *i) {
  const u64 exec = w.exec();
  const unsigned reg = i->src[0].reg + (i->flags & kAcc ? kAccBase : 0);
  return w.v[reg][exec ? __builtin_ctzll(exec) : 0];
}

/// The value counts down to 0 and one wave more completes the barrier: it is the number of waves - 1.
const Inst *dsGwsInit(Wave &w, const Inst *i) {
  w.device->gws().init(gwsResource(w, i), gwsValue(w, i) + 1);
  return i->next();
}

const Inst *dsGwsBarrier(Wave &w, const Inst *i) {
  GlobalWaveSync &gws = w.device->gws();
  const u64 ticket = gws.arrive(gwsResource(w, i), gwsValue(w, i) + 1);
  if (gws.called(ticket))
    return i->next();
  w.gwsTicket = ticket;
  w.stop = Stop::Gws;
  w.ip = i->next();
  return nullptr;
}

constexpr Row kRows[] = {
    plain("ds_gws_init", dsGwsInit),
    plain("ds_gws_barrier", dsGwsBarrier),
};

} // namespace

std::span<const Row> gwsRows() { return kRows; }

} // namespace luthier::vgpu
