#include "runtime/kernel_identity.h"

#include <bit>
#include <cstring>

namespace luthier::runtime {

std::shared_ptr<KernelIdentity> KernelIdentities::of(uint64_t digest, const std::string &symbol,
                                                     const std::string &name, uint32_t gpu) {
  std::lock_guard lock(mutex_);
  auto &identity = byKey_[{digest, symbol, gpu}];
  if (!identity) {
    identity = std::make_shared<KernelIdentity>();
    identity->number = all_.size() + 1;
    identity->name = name;
    identity->symbol = symbol;
    identity->digest = digest;
    identity->gpu = gpu;
    all_.push_back(identity);
  }
  return identity;
}

std::shared_ptr<const KernelIdentity> KernelIdentities::find(uint64_t number) const {
  std::lock_guard lock(mutex_);
  return number == 0 || number > all_.size() ? nullptr : all_[number - 1];
}

uint64_t digestOf(std::span<const std::byte> bytes) {
  // By words, since code objects may have hundreds of megabytes; ends as MurmurHash3 does, so that all bits count.
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  uint64_t digest = bytes.size() * kMultiplier;
  for (size_t at = 0; at < bytes.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<size_t>(8, bytes.size() - at));
    digest = (std::rotl(digest, 29) ^ word) * kMultiplier;
  }
  digest = (digest ^ digest >> 33) * 0xff51afd7ed558ccd;
  digest = (digest ^ digest >> 33) * 0xc4ceb9fe1a85ec53;
  return digest ^ digest >> 33;
}

} // namespace luthier::runtime
