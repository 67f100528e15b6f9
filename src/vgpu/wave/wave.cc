#include "vgpu/state/wave.h"

#include "vgpu/exec/modes.h"
#include "vgpu/exec/row.h"
#include "vgpu/state/fp_mode.h"
#include "vgpu/wave/code_cache.h"
#include "vgpu/wave/decoder.h"
#include "vgpu/wave/device.h"
#include "vgpu/wave/memory_check.h"
#include "vgpu/wave/observer.h"
#include "vgpu/wave/stats.h"
#include "vgpu/wave/workgroup.h"

#include <fmt/format.h>

#include <bit>

namespace luthier::vgpu {

uint64_t Wave::pc(const Inst *inst) const { return chunk->pc(inst); }

const Inst *Wave::jump(uint64_t target) {
  target &= ~3ull;
  auto &recent = recentChunks[target / CodeChunk::kBytes % std::size(recentChunks)];
  for (const CodeChunk *candidate : {chunk, recent}) {
    if (!candidate || !candidate->contains(target))
      continue;
    const Inst *inst = candidate->at(target);
    if (__atomic_load_n(&inst->fn, __ATOMIC_ACQUIRE)) {
      chunk = candidate;
      return inst;
    }
  }
  const Inst *inst = code->find(target, chunk);
  recent = chunk;
  return inst;
}

namespace {

/// The interpreter where nobody looks at single instructions: straight code runs in threaded handlers.
void loop(Wave &w, uint64_t &budget) {
  const Inst *ip = w.ip;
  for (uint64_t left = budget; left != 0; --left) {
    const Inst *next = ip->fn(w, ip);
    if (!next) {
      budget = left - 1;
      return;
    }
    ip = next;
  }
  budget = 0;
  w.ip = ip;
}

/// The interpreter that takes one instruction at a time. `MixedFp`: MODE treats f32 and f64 differently, so the host's
/// mode is switched between instructions.
template <bool Counting, bool MixedFp> void steps(Wave &w, uint64_t &budget) {
  const Inst *ip = w.ip;
  uint8_t current = 0;
  for (; budget != 0; --budget) {
    if constexpr (Counting) {
      if (ip->words != 0) // not the hop between chunks
        w.counts[ip->opcode].add(static_cast<uint64_t>(std::popcount(w.exec())));
    }
    if constexpr (MixedFp) {
      if ((ip->flags & kF64Mode) != current) {
        current = ip->flags & kF64Mode;
        _mm_setcsr(current ? mxcsrForF64(w.mode) : mxcsrForF32(w.mode));
      }
    }
    const Inst *next = single(*ip)(w, ip);
    if (!next) {
      --budget;
      return;
    }
    ip = next;
  }
  w.ip = ip;
}

} // namespace

void Wave::run(uint64_t budget, HostFpMode &fp, bool exact) {
  do {
    stop = Stop::None;
    fp.set(mxcsrForF32(mode));
    const bool mixed = mxcsrForF32(mode) != mxcsrForF64(mode);
    const bool stepping = observer && observer->stepping();
    if (!stepping && !(mode & kModal) && !counts && !mixed && !exact) [[likely]] {
      loop(*this, budget);
      continue;
    }
    if (stepping)
      runObserved(*this, budget);
    else if (mode & kModal)
      runModal(*this, budget);
    else if (counts)
      mixed ? steps<true, true>(*this, budget) : steps<true, false>(*this, budget);
    else
      mixed ? steps<false, true>(*this, budget) : steps<false, false>(*this, budget);
    fp.forget();
  } while (stop == Stop::Mode && budget != 0);
  if (stop == Stop::Mode)
    stop = Stop::None;
}

void Wave::clearCaches() {
  execLanesFor = 0;
  memset(execLanes, 0, sizeof execLanes);
  for (uint64_t &key : broadcast32For)
    key = ~0ull; // no 32-bit value
  broadcast64Valid = 0;
}

const Inst *Wave::setMode(uint32_t value, const Inst *next) {
  mode = value;
  stop = Stop::Mode;
  ip = next;
  return nullptr;
}

namespace {

/// Where and in what a dispatch stopped: the lines that every fault message ends with.
std::string describe(Wave &w, const Inst *inst) {
  const uint64_t pc = w.pc(inst);
  const unsigned words = inst->words ? inst->words : 1;
  std::string text, bytes;
  if (w.memory->mapped(pc, words * 4, w.deviceMask)) {
    const auto *code = reinterpret_cast<const uint8_t *>(pc);
    text = w.device->code(w.lanes).decoder().text({code, words * 4}, pc);
    for (unsigned n = 0; n < words; ++n) {
      uint32_t word;
      memcpy(&word, code + 4 * n, 4);
      bytes += fmt::format("{}{:08x}", n ? " " : "", word);
    }
  } else {
    text = "<code not mapped>";
  }
  return fmt::format(
      "  kernel      {}\n  pc          {:#x}\n  instruction {}\n  encoding    {}\n  exec        {:#018x}\n"
      "  workgroup   {}  wave {}",
      w.group->kernelName(), pc, text, bytes, w.exec(), w.group->position(), w.index);
}

const Inst *stopWith(Wave &w, const Inst *inst, Fault fault) {
  w.stop = Stop::Fault;
  w.ip = inst;
  w.group->fault(std::move(fault));
  return nullptr;
}

} // namespace

const Inst *Wave::memoryFault(const Inst *inst, uint64_t address, bool write) {
  const BadAccess access = refusedAccess(inst, address, write);
  std::string text = device->explain ? device->explain(*this, inst, access)
                                     : fmt::format("invalid {} of address {:#x}\n{}", write ? "write" : "read", address,
                                                   describe(*this, inst));
  return stopWith(*this, inst, {Fault::Kind::Memory, address, write, std::move(text)});
}

const Inst *Wave::illegal(const Inst *inst, const char *why) {
  return stopWith(*this, inst,
                  {Fault::Kind::IllegalInstruction, pc(inst), false,
                   fmt::format("the instruction {}\n{}", why, describe(*this, inst))});
}

const Inst *Wave::trap(const Inst *inst, uint32_t id) {
  return stopWith(*this, inst,
                  {Fault::Kind::Trap, pc(inst), false, fmt::format("trap {}\n{}", id, describe(*this, inst))});
}

const Inst *Wave::earlyAccess(const Inst *inst, const std::string &what) {
  return stopWith(*this, inst, {Fault::Kind::EarlyAccess, pc(inst), false, what + "\n" + describe(*this, inst)});
}

const Inst *Wave::missingRegister(const Inst *inst, const std::string &what) {
  return stopWith(*this, inst, {Fault::Kind::MissingRegister, pc(inst), false, what + "\n" + describe(*this, inst)});
}

} // namespace luthier::vgpu
