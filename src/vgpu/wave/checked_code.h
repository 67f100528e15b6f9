// Instructions that checks look at (race_check.h, barrier_check.h): those that access memory, wait, or meet at
// barriers.
//
// Waves whose every instruction is of interest run in a loop of their own (observer.h). Checks want a few of them only,
// so they change the code instead: the record of such an instruction gets a handler that calls the wave's checks around
// the instruction's own. All others run as fast as in any run. It is done when code is decoded, on devices that check;
// on others nothing knows of this.
#pragma once

#include "vgpu/exec/row.h"
#include "vgpu/wave/operands.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>

namespace luthier::vgpu {

class Decoder;

/// One of them: it has the place of its row, and what checks know of it behind.
struct CheckedInst : Row {
  enum class Role : uint8_t {
    Other, ///< only goes through a counter
    Access,
    Wait,
    Barrier,
    BarrierSignal,
    BarrierWait,
    Invalidate,  ///< of the compute unit's vector cache
    GridBarrier, ///< ds_gws_barrier
  };

  explicit CheckedInst(const Row &row) : Row(row) {}

  Handler original = nullptr;
  uint32_t number = 0; ///< among those of the device, from 1
  uint64_t pc = 0;
  uint32_t lanes = 0; ///< of the waves that execute it
  uint8_t words = 0;
  Role role = Role::Other;
  bool reads = false, writes = false, atomic = false;
  bool beyondUnit = false; ///< it passes the compute unit's cache: an atomic load or store that others may see
  bool returns = false;    ///< an atomic that gives back the value before
  uint32_t bytes = 0;      ///< of a lane's access
  Operands operands;       ///< without registers and text
  /// What `polls` says: 0 not known yet, 1 yes, 2 no.
  mutable std::atomic<uint8_t> polls{0};
};

/// All of one device.
class CheckedCode {
public:
  /// Of a record as the decoder has left it, made from `code` at `pc`, for waves of `lanes` lanes. Nothing is changed
  /// about instructions that checks do not want to see.
  void wrap(Inst &inst, std::span<const uint8_t> code, uint64_t pc, uint32_t lanes, Decoder &decoder,
            const isa::Target &target);

  /// Null for 0 and for numbers that were not given.
  const CheckedInst *find(uint32_t number) const;

private:
  mutable std::mutex mutex_;
  std::deque<CheckedInst> all_;
};

/// Of an instruction that was wrapped.
inline const CheckedInst &checkedInst(const Inst *inst) { return static_cast<const CheckedInst &>(*inst->row); }

/// Whether this load is part of a short loop that does nothing but read the same place again, until somebody changes
/// what is there; or reads what a compare-and-swap behind it will compare with.
bool polls(const Wave &w, const CheckedInst &inst);

} // namespace luthier::vgpu
