// Global wave sync: DS instructions that synchronise the waves of a whole grid (manual, 12.12).
//
// One copy for all CPU levels: these take locks, and nothing in them is per lane.

#include "vgpu/exec/scalar.h"
#include "vgpu/exec/tables.h"
#include "vgpu/state/global_wave_sync.h"

namespace luthier::vgpu {

namespace {

// The resource is M0[21:16] + offset, modulo the number of resources (LLVM's AMDGPUUsage; the manual calls
// the first part gds_base). The data comes from the first active lane.

unsigned gwsResource(const Wave &w, const Inst *i) {
  return ((w.s[kM0] >> 16 & 0x3f) + (static_cast<u32>(i->imm) & 0x3f)) % GlobalWaveSync::kResources;
}
u32 gwsValue(const Wave &w, const Inst *i) {
  const u64 exec = w.exec();
  return w.v[i->src[1].reg][exec ? __builtin_ctzll(exec) : 0];
}

const Inst *waitFor(Wave &w, const Inst *i, u64 ticket) {
  if (w.gws().called(ticket))
    return i->next();
  w.gwsTicket = ticket;
  w.stop = Stop::Gws;
  w.ip = i->next();
  return nullptr;
}

/// The value of a barrier counts down to 0 and one wave more completes it: it is the number of waves - 1.
const Inst *dsGwsInit(Wave &w, const Inst *i) {
  w.gws().init(gwsResource(w, i), gwsValue(w, i));
  return i->next();
}

const Inst *dsGwsBarrier(Wave &w, const Inst *i) {
  return waitFor(w, i, w.gws().arrive(gwsResource(w, i), gwsValue(w, i)));
}

const Inst *dsGwsSemaV(Wave &w, const Inst *i) {
  w.gws().release(gwsResource(w, i), 1);
  return i->next();
}

const Inst *dsGwsSemaBr(Wave &w, const Inst *i) {
  w.gws().release(gwsResource(w, i), gwsValue(w, i));
  return i->next();
}

const Inst *dsGwsSemaP(Wave &w, const Inst *i) { return waitFor(w, i, w.gws().acquire(gwsResource(w, i))); }

/// The manual's pseudo-code would clear a counter that nobody waits for; its text says "no effect", which is done here.
const Inst *dsGwsSemaReleaseAll(Wave &w, const Inst *i) {
  w.gws().releaseAll(gwsResource(w, i));
  return i->next();
}

constexpr Row kRows[] = {
    plain("ds_gws_init", dsGwsInit).documented(why::kGws),
    plain("ds_gws_barrier", dsGwsBarrier).documented(why::kGws),
    plain("ds_gws_sema_v", dsGwsSemaV).documented(why::kGws),
    plain("ds_gws_sema_br", dsGwsSemaBr).documented(why::kGws),
    plain("ds_gws_sema_p", dsGwsSemaP).documented(why::kGws),
    plain("ds_gws_sema_release_all", dsGwsSemaReleaseAll)
        .chosen("the manual's text and pseudo-code disagree on a counter that nobody waits for; left alone, as the "
                "text says"),
};

} // namespace

std::span<const Row> gwsRows() { return kRows; }

} // namespace luthier::vgpu
