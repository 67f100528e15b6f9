// The two stacks of a hostcall buffer, and the packets that are taken from them.
//
// Both are lock-free: pushing and popping are a compare-and-swap on the top. The host takes all ready packets at once,
// by exchanging the top with null, so that it never pops; waves pop free packets, which is where tags are needed.
#pragma once

#include "hostcall/buffer.h"

namespace luthier::hostcall {

/// All ready packets, as a chain linked by `next`; 0 when there are none. They belong to the caller.
uint64_t takeReady(const BufferView &buffer);

/// Puts a chain of packets on the ready stack again, in front of what has come since. False, and nothing is done, when
/// the chain is damaged.
bool handBack(const BufferView &buffer, uint64_t chain);

/// A wave's side.
void pushReady(const BufferView &buffer, uint64_t pointer);
void pushFree(const BufferView &buffer, uint64_t pointer); ///< with the pointer that was popped; its tag grows here
uint64_t popFree(const BufferView &buffer);                ///< 0 when there is none

/// Follows a chain whose links may be damaged: it ends at the latest after as many packets as the buffer has.
class Chain {
public:
  enum class End : uint8_t {
    Null,       ///< where a chain should end
    OutOfRange, ///< a link to a packet that does not exist
    Endless,    ///< more links than packets
  };

  Chain(const BufferView &buffer, uint64_t head) : buffer_(buffer), at_(head) {}

  /// The next packet, whose link is read now: it may be given away before the next call. Null at the end.
  wire::Header *next();
  /// What is left: a tagged pointer.
  uint64_t rest() const { return at_; }
  /// Why `next` has returned null.
  End end() const { return end_; }

private:
  const BufferView &buffer_;
  uint64_t at_;
  uint32_t seen_ = 0;
  End end_ = End::Null;
};

} // namespace luthier::hostcall
