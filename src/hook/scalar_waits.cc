#include "hook/scalar_waits.h"

#include "hook/forward_flow.h"
#include "isa/pending_scalars.h"

#include <algorithm>
#include <cstring>

namespace luthier::hook {

namespace {

/// Addresses of the instructions before which a wait is missing.
std::vector<uint64_t> missingWaits(const isa::InstrSequence &sequence) {
  const auto code = sequence.instrs();
  std::vector<bool> held(code.size());
  statesBefore(sequence, isa::PendingScalars(isa::PendingScalars::all()),
               [&](size_t n, const Instr &instr, isa::PendingScalars &state) {
                 if (state.holdUp(instr))
                   held[n] = true;
                 if (held[n])
                   state.wait();
                 state.execute(instr);
               });
  std::vector<uint64_t> addresses;
  for (size_t n = 0; n < code.size(); ++n)
    if (held[n])
      addresses.push_back(code[n].address());
  return addresses;
}

} // namespace

bool addScalarWaits(Fragment &fragment, const isa::Target &target) {
  if (!isa::hasPendingScalars(target))
    return false;
  const std::vector<uint64_t> places = missingWaits(fragment.code);
  if (places.empty())
    return false;
  constexpr uint64_t kSize = sizeof isa::kScalarWait;
  // Where what was at an address is now; branches go to the wait before it.
  const auto moved = [&](uint64_t address) {
    return address + kSize * static_cast<uint64_t>(std::ranges::upper_bound(places, address) - places.begin());
  };
  const auto branchedTo = [&](uint64_t address) {
    return address + kSize * static_cast<uint64_t>(std::ranges::lower_bound(places, address) - places.begin());
  };
  std::vector<uint8_t> bytes;
  for (const Instr &instr : fragment.code.instrs()) {
    const auto append = [&](const void *from, size_t size) {
      const auto *first = static_cast<const uint8_t *>(from);
      bytes.insert(bytes.end(), first, first + size);
    };
    if (std::ranges::binary_search(places, instr.address()))
      append(&isa::kScalarWait, sizeof isa::kScalarWait);
    append(fragment.bytes.data() + instr.address(), instr.size());
    if (const auto to = instr.target()) { // SOPP: the lower half, in dwords from the end of the branch
      const auto distance = static_cast<int16_t>(
          (static_cast<int64_t>(branchedTo(*to)) - static_cast<int64_t>(bytes.size())) / static_cast<int64_t>(kSize));
      std::memcpy(bytes.data() + bytes.size() - instr.size(), &distance, sizeof distance);
    }
  }
  for (FragmentRelocation &relocation : fragment.relocations)
    relocation.offset = static_cast<uint32_t>(moved(relocation.offset));
  fragment.bytes = std::move(bytes);
  return true;
}

} // namespace luthier::hook
