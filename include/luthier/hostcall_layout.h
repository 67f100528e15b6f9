// The hostcall buffer as it lies in memory: what kernels built against AMD's device libraries (5.2.3 and later) and the
// host agree on. Used by both sides, so it needs no header of the host's and no HIP.
//
// Packets are on one of two stacks, free or ready, or in a wave's or the consumer's hands. A stack's top and the `next`
// fields are tagged pointers: the packet's index in the low bits, and above them a count that grows each time the
// packet is freed, so that a compare-and-swap notices when a packet was popped and pushed again in between. 0 is the
// null pointer, so that index 0 is never used with tag 0.
#pragma once

namespace luthier::hostcall::wire {

using Word = __UINT64_TYPE__;
using HalfWord = __UINT32_TYPE__;

inline constexpr unsigned kLanes = 64; ///< of a payload, whatever the wave size
inline constexpr unsigned kWords = 8;  ///< per lane; the first two carry the answer

struct Header {
  Word next;
  Word activeMask; ///< EXEC of the calling wave: which slots of the payload are in use
  HalfWord service;
  HalfWord control; ///< kReady: the wave waits for the host
};
inline constexpr HalfWord kReady = 1;

struct Payload {
  Word slots[kLanes][kWords];
};

struct Buffer {
  Word headers;  ///< address of an array
  Word payloads; ///< address of an array
  Word doorbell; ///< address of a Signal: what HSA calls a signal handle
  Word freeStack;
  Word readyStack;
  Word indexMask;
};

/// amd_signal_t (amd_hsa_signal.h), as far as it matters here.
struct Signal {
  Word kind; ///< 1: a user's signal
  Word value;
  Word mailbox; ///< where a device tells the driver which event it raises; 0: it raises none
  HalfWord eventId;
  HalfWord reserved;
  Word ignored[3];
  HalfWord sleepers; ///< reserved in HSA's signals. In ours: the host sleeps on `value`
  HalfWord reserved2;
};

static_assert(sizeof(Header) == 24 && sizeof(Payload) == 4096 && sizeof(Buffer) == 48 && sizeof(Signal) == 64);

/// Services that the library provides. 3 and 4 are taken elsewhere: device memory and the address sanitizer.
enum Service : HalfWord { kDefault = 0, kFunctionCall = 1, kPrintf = 2 };

/// A request longer than one packet travels as several: the first word of each says how it belongs to the others, seven
/// words of data follow. The host answers the first one with the message's descriptor, for use in the next.
namespace message {
inline constexpr Word kBegin = 1, kEnd = 2;
inline constexpr unsigned kLengthShift = 5, kIdShift = 8;
inline constexpr Word kLengthMask = 7; ///< after shifting
inline constexpr unsigned kWords = 7;  ///< of data, at most
} // namespace message

/// The first word of a printf message says where it goes. Then come the format and the arguments, each in whole words;
/// strings with their terminating 0.
enum Stream : Word {
  kStdout = 0,
  kStderr = 1,
  kAssertion = 2, ///< of a hook of Luthier's, whose consumer knows what to add
};

} // namespace luthier::hostcall::wire
