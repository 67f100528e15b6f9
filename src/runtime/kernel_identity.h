// Which kernel a kernel is, for the whole run: the same code under the same name on the same GPU, however often it is
// loaded. Two kernels of one name in two code objects are two.
//
// Knows no HSA.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace luthier::runtime {

struct KernelIdentity {
  uint64_t number = 0; ///< counted from 1, in the order of first launches; 0: its code is not known
  std::string name;    ///< as in the source
  std::string symbol;
  uint64_t digest = 0; ///< of its code object
  uint32_t gpu = 0;    ///< in ROCr's order
  /// In whatever variant, or none. Goes on counting when the code is loaded again.
  std::atomic<uint64_t> launches = 0;
};

/// Thread-safe. Nothing is ever forgotten: a run has few kernels.
class KernelIdentities {
public:
  std::shared_ptr<KernelIdentity> of(uint64_t digest, const std::string &symbol, const std::string &name, uint32_t gpu);
  /// Null when there is none.
  std::shared_ptr<const KernelIdentity> find(uint64_t number) const;

private:
  mutable std::mutex mutex_;
  std::map<std::tuple<uint64_t, std::string, uint32_t>, std::shared_ptr<KernelIdentity>> byKey_;
  std::vector<std::shared_ptr<KernelIdentity>> all_;
};

/// A code object's contents in a number. Not safe against somebody who wants two to be equal.
uint64_t digestOf(std::span<const std::byte> bytes);

} // namespace luthier::runtime
