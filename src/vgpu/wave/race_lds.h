// Races in a workgroup's LDS: who has read and written each dword, and which of that is ordered before whom.
//
// The workgroup has a clock. It goes on at every barrier and every atomic; an access is stamped with it. At a barrier,
// all that was stamped before is in order with all that comes: most accesses are checked by one comparison, and nothing
// is ever cleared. Accesses that were still on their way when their wave came to the barrier are stamped anew behind
// it: they may take effect there.
//
// LDS atomics and flags order without barriers. They do so between two waves, for which a table says up to which stamp
// one is ordered before the other. It is empty in most kernels.
//
// Two readers of a dword are kept, from different waves: enough to find a writer that races with any of them, unless it
// is ordered behind both and not behind a third.
#pragma once

#include "vgpu/wave/in_flight.h"
#include "vgpu/wave/race.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace luthier::vgpu {

class LdsRaces {
public:
  /// Of a workgroup of so many waves. `code` knows the instructions' numbers.
  LdsRaces(uint32_t bytes, uint32_t waves, const CheckedCode &code);

  /// The lanes of `mask` access what their addresses (offsets into LDS) say. `number` is the operation's in its wave.
  void access(const Wave &w, const CheckedInst &inst, uint32_t number, const uint64_t *addresses, uint64_t mask,
              Races &races);

  // A barrier: all waves come, all go on.

  /// The wave has come; `pending` are its operations that are not done.
  void come(uint32_t wave, const InFlight &pending);
  void release();

  // A split barrier.

  void signal(uint32_t wave, const InFlight &pending);
  /// All waves have signalled or ended.
  void complete();
  /// The wave goes on behind its wait.
  void pass(uint32_t wave);

  void ended(uint32_t wave);

private:
  struct Cell {
    uint64_t writer = 0, readers[2] = {};
  };
  struct Late {
    uint32_t wave;
    InFlight pending;
  };
  struct Place;
  bool isOrdered(uint64_t access, uint32_t wave) const;
  void judge(const Place &place, uint64_t past, bool pastWrites);
  void read(const Place &place, Cell &cell);
  void write(const Place &place, Cell &cell);
  void synchronise(uint32_t wave, uint64_t with);
  void tick();
  void delay(uint32_t wave, const InFlight &pending);

  const CheckedCode &code_;
  const uint32_t waves_;
  uint32_t now_ = 1;
  std::vector<Cell> cells_;
  size_t used_ = 0;                     ///< cells that have been accessed are below
  std::vector<uint32_t> orderedBefore_; ///< by wave: all that is stamped before this is ordered before it
  std::vector<Late> late_;              ///< waves at a barrier with operations that are not done
  std::vector<uint32_t> signalledAt_;   ///< by wave: stamp of its last accesses before it signalled
  std::vector<uint32_t> completedAt_;   ///< the same when the barrier was complete
  std::vector<bool> ended_;
  std::vector<uint32_t> known_; ///< [wave * waves + other]: stamp up to which the other is ordered before; or empty
  std::unordered_map<uint32_t, std::vector<uint64_t>> others_; ///< further writers of a cell's other bytes
};

} // namespace luthier::vgpu
