// Shows batches of packets to callbacks, before the hardware sees them.
#pragma once

#include "hsa/events.h"
#include "hsa/held_work.h"

namespace luthier::hsa {

class PacketCallbacks {
public:
  Event<PacketBatch &> &packets() { return packets_; }
  /// A batch that callbacks of `packets()` were given, as they left it, when all that was for nothing: it was released
  /// while they ran. Who counts on its changes takes back what it did.
  Event<const PacketBatch &> &released() { return released_; }
  HeldWorks &heldWorks() { return heldWorks_; }

  bool wanted() const { return !packets_.empty(); }
  /// Calls the callbacks. `held` is what they hold up; false: it was released.
  bool show(PacketBatch &batch, HeldWork &held);
  /// Packets that were released before a callback could look, since this was last asked.
  uint64_t takeUnseen() { return unseen_.exchange(0); }

private:
  HeldWorks heldWorks_;
  std::atomic<uint64_t> unseen_ = 0;
  Event<PacketBatch &> packets_{[this](bool any) {
    if (!any)
      heldWorks_.noteBlockingCallbacks(false);
  }};
  Event<const PacketBatch &> released_;
};

} // namespace luthier::hsa
