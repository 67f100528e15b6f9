// As much of ROCr as parts of src/hsa need, without ROCr: signals, queues that nobody reads, one GPU and one host.
//
// Its functions take the place of the originals while it lives. A part that is made while it lives replaces functions;
// `app<id>()` is what an application then calls.
#pragma once

#include "hsa/calls.h"
#include "hsa/packet.h"

#include <atomic>
#include <map>
#include <memory>
#include <set>

#include <hsa/amd_hsa_signal.h>

namespace luthier::hsa::test {

class FakeRocr {
public:
  FakeRocr();
  ~FakeRocr();
  FakeRocr(const FakeRocr &) = delete;
  FakeRocr &operator=(const FakeRocr &) = delete;

  static constexpr hsa_agent_t kHost = {1}, kGpu = {2};

  /// The function as an application calls it, through the wrapper.
  template <ApiId id> auto app() const { return wrappers_.get<id>(); }
  /// The original is this function now.
  template <ApiId id> void provide(typename ApiCall<id>::Function function) { originalFunctions().set<id>(function); }

  /// As hardware does.
  void complete(hsa_signal_t signal, uint64_t begin = 0, uint64_t end = 0);
  /// What stands in the queue, from the first packet on; `taken` of it are free for the writer again.
  std::vector<AqlPacket> packetsIn(const hsa_queue_t *queue) const;
  void take(hsa_queue_t *queue, uint64_t count);
  hsa_signal_value_t rung(const hsa_queue_t *queue) const;
  size_t signals() const { return signals_.size(); }
  size_t queues() const { return queues_.size(); }

private:
  struct Queue {
    hsa_queue_t queue = {};
    std::vector<AqlPacket> ring;
    std::atomic<uint64_t> read = 0, write = 0;
    bool owned = false; ///< its doorbell
  };
  static Queue &of(const hsa_queue_t *queue);
  static amd_signal_t &of(hsa_signal_t signal);
  hsa_signal_t makeSignal(hsa_signal_value_t value);
  hsa_queue_t *makeQueue(uint32_t size, hsa_queue_type32_t type, hsa_signal_t doorbell);

  static FakeRocr *instance_;
  ApiFunctions before_, wrappers_;
  std::map<uint64_t, std::unique_ptr<amd_signal_t>> signals_;
  std::map<const hsa_queue_t *, std::unique_ptr<Queue>> queues_;
  hsa_queue_t *cooperative_ = nullptr; ///< the one that all who create such a queue get
  unsigned cooperativeUsers_ = 0;
  std::mutex mutex_; ///< guards the maps
};

} // namespace luthier::hsa::test
