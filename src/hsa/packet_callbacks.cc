#include "hsa/packet_callbacks.h"

#include "hsa/callback_scope.h"

namespace luthier::hsa {

bool PacketCallbacks::show(PacketBatch &batch, HeldWork &held) {
  const CallbackScope scope;
  {
    const HeldWorks::Holding holding(heldWorks_, held);
    if (holding.atOnce()) {
      unseen_ += batch.entries.size();
      return false;
    }
    const CallbackScope::HoldingUp showing(heldWorks_);
    packets_.raise(batch);
  }
  if (batch.released)
    released_.raise(batch);
  return !batch.released;
}

} // namespace luthier::hsa
