// Requests that are longer than a packet, put together from their parts (luthier/hostcall_layout.h, `message`).
#pragma once

#include "support/result.h"

#include <cstdint>
#include <vector>

namespace luthier::hostcall {

/// The messages of one consumer that have begun and not ended. Not thread-safe.
///
/// Lanes may begin messages and never end them, so both their number and what they hold are bounded, far above what
/// honest kernels need.
class Messages {
public:
  struct Limits {
    uint32_t messages = 1 << 20;
    uint64_t words = 1 << 27;        ///< all messages together: 1 GiB
    uint64_t messageWords = 1 << 21; ///< 16 MiB
  };
  Messages() : Messages(Limits{}) {}
  explicit Messages(Limits limits) : limits_(limits) {}

  /// Takes one part, as a lane's words have it. A part that ends its message gives the whole, any other nothing, with
  /// the answer for the lane in `payload[0]`. A message that fails is forgotten.
  struct Part {
    bool complete = false;
    std::vector<uint64_t> words; ///< of a complete message
  };
  Result<Part> append(uint64_t *payload);

  /// How many have begun and not ended.
  size_t open() const { return slots_.size() - free_.size(); }

private:
  /// A message's id is the number of its slot, and above it how often the slot was used before: an old id finds
  /// nothing.
  struct Slot {
    bool live = false;
    uint32_t uses = 0;
    std::vector<uint64_t> words;
  };
  Result<uint32_t> begin();
  Result<uint32_t> find(uint64_t id) const;
  void forget(uint32_t slot);

  Limits limits_;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
  uint64_t held_ = 0; ///< words of all live messages
};

} // namespace luthier::hostcall
