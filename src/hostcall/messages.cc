#include "hostcall/messages.h"

#include "luthier/hostcall_layout.h"

namespace luthier::hostcall {

using namespace wire::message;

namespace {

constexpr unsigned kSlotBits = 24; // of an id; an id has 56 bits
constexpr uint32_t kMaxUses = UINT32_MAX;

uint64_t makeId(uint32_t slot, uint32_t uses) { return uint64_t{uses} << kSlotBits | slot; }

} // namespace

Result<uint32_t> Messages::begin() {
  if (free_.empty()) {
    if (slots_.size() >= limits_.messages)
      return makeError("{} messages have begun and not ended; no more can begin", slots_.size());
    free_.push_back(static_cast<uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const uint32_t slot = free_.back();
  free_.pop_back();
  slots_[slot].live = true;
  return slot;
}

Result<uint32_t> Messages::find(uint64_t id) const {
  const uint32_t slot = id & ((1u << kSlotBits) - 1);
  if (slot >= slots_.size() || !slots_[slot].live || makeId(slot, slots_[slot].uses) != id)
    return makeError("there is no message {:#x}", id);
  return slot;
}

void Messages::forget(uint32_t slot) {
  Slot &message = slots_[slot];
  held_ -= message.words.size();
  message.live = false;
  message.words = {};
  message.uses = message.uses == kMaxUses ? 0 : message.uses + 1;
  free_.push_back(slot);
}

Result<Messages::Part> Messages::append(uint64_t *payload) {
  const uint64_t descriptor = payload[0];
  const uint32_t slot = descriptor & kBegin ? LUTHIER_TRY(begin()) : LUTHIER_TRY(find(descriptor >> kIdShift));
  Slot &message = slots_[slot];
  const uint64_t count = descriptor >> kLengthShift & kLengthMask;
  if (message.words.size() + count > limits_.messageWords || held_ + count > limits_.words) {
    const size_t words = message.words.size();
    forget(slot);
    return makeError("a message of more than {} words is too long", words);
  }
  message.words.insert(message.words.end(), payload + 1, payload + 1 + count);
  held_ += count;
  if (!(descriptor & kEnd)) {
    const uint64_t low = descriptor & ((1u << kIdShift) - 1) & ~kBegin;
    payload[0] = makeId(slot, message.uses) << kIdShift | low;
    return Part{};
  }
  Part whole{.complete = true, .words = std::move(message.words)};
  held_ -= whole.words.size();
  message.words.clear();
  forget(slot);
  return whole;
}

} // namespace luthier::hostcall
