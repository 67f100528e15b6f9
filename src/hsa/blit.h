// Copies and fills that ROCr does for the application, which tools of ROCr's cannot see as packets.
//
// They run on the copy engines, or as kernels of ROCr's own ("BLIT kernels") on queues of its own. ROCr 5.2.3 announces
// these queues to tools but does not let them be intercepted (docs/packets.md). So a copy is known from the call that
// asks for it, with its bytes, and the kernels from how far the internal queues have been written.
#pragma once

#include "hsa/events.h"

#include <mutex>
#include <vector>

namespace luthier::hsa {

class BlitWatch {
public:
  explicit BlitWatch(Events &events) : events_(events) {}
  void start();
  void stop();

  struct Totals {
    uint64_t operations = 0; ///< copies and fills that the application asked for
    uint64_t bytes = 0;
    uint64_t queues = 0;  ///< of ROCr's own
    uint64_t packets = 0; ///< on them: BLIT kernels and what orders them
  };
  Totals totals() const;

private:
  void count(ApiId id, uint64_t bytes);

  Events &events_;
  std::vector<Subscription> subscriptions_;
  mutable std::mutex mutex_; ///< guards what follows
  std::vector<const hsa_queue_t *> queues_;
  Totals totals_;
};

} // namespace luthier::hsa
