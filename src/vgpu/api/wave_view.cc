#include "luthier/vgpu.h"

#include "vgpu/state/wave.h"
#include "vgpu/wave/workgroup.h"

#include <iterator>

namespace luthier::vgpu {

namespace {

/// Only waves that are stepped are handed out as WaveRef, and those belong to the caller.
Wave &mutableWave(const Wave *wave) { return *const_cast<Wave *>(wave); }

} // namespace

std::array<uint32_t, 3> WaveView::workgroup() const { return group_->id(); }
uint32_t WaveView::wave() const { return wave_->index; }
uint32_t WaveView::lanes() const { return wave_->lanes; }
bool WaveView::ended() const { return wave_->stop == Stop::End; }
bool WaveView::faulted() const { return wave_->stop == Stop::Fault; }
uint64_t WaveView::pc() const { return wave_->pc(wave_->ip); }

uint32_t WaveView::s(unsigned reg) const { return reg < std::size(wave_->s) ? wave_->s[reg] : 0; }
uint64_t WaveView::s64(unsigned reg) const { return s(reg) | static_cast<uint64_t>(s(reg + 1)) << 32; }
uint32_t WaveView::v(unsigned reg, unsigned lane) const {
  return reg < kAccBase && lane < kMaxLanes ? wave_->v[reg][lane] : 0;
}
uint64_t WaveView::v64(unsigned reg, unsigned lane) const {
  return v(reg, lane) | static_cast<uint64_t>(v(reg + 1, lane)) << 32;
}
uint32_t WaveView::acc(unsigned reg, unsigned lane) const {
  return reg < std::size(wave_->v) - kAccBase && lane < kMaxLanes ? wave_->v[kAccBase + reg][lane] : 0;
}
uint64_t WaveView::exec() const { return wave_->exec(); }
uint64_t WaveView::vcc() const { return wave_->vcc(); }
uint32_t WaveView::m0() const { return wave_->s[kM0]; }
bool WaveView::scc() const { return wave_->scc; }
uint32_t WaveView::mode() const { return wave_->mode; }
std::span<const uint8_t> WaveView::lds() const { return {wave_->lds, wave_->ldsSize}; }

void WaveRef::setS(unsigned reg, uint32_t value) {
  if (reg < std::size(wave_->s))
    mutableWave(wave_).s[reg] = value;
}
void WaveRef::setV(unsigned reg, unsigned lane, uint32_t value) {
  if (reg < kAccBase && lane < kMaxLanes)
    mutableWave(wave_).v[reg][lane] = value;
}
void WaveRef::setAcc(unsigned reg, unsigned lane, uint32_t value) {
  if (reg < std::size(wave_->v) - kAccBase && lane < kMaxLanes)
    mutableWave(wave_).v[kAccBase + reg][lane] = value;
}
void WaveRef::setExec(uint64_t mask) { mutableWave(wave_).setExec(mask & wave_->allLanes()); }
void WaveRef::setScc(bool value) { mutableWave(wave_).scc = value; }

} // namespace luthier::vgpu
