// Hostcall from device code: kernels and hooks call the host, print, and assert.
//
//   #include <luthier/hostcall.h>
//   using namespace luthier;
//
//   hostcall::Answer answer = hostcall::callOn(buffer, 42, x, y);    // service 42; up to eight words
//   hostcall::printfOn(buffer, "lane %u has %f\n", lane, value);      // the format is a string literal
//   LUTHIER_ASSERT_ON(buffer, value > 0);
//
// For any clang from 15 on, without HIP's headers and without AMD's device libraries, whose protocol it speaks
// (luthier/hostcall_layout.h). Everything is inlined: no call, no stack, no variable, so that a hook may contain it.
//
// `buffer` is the address of a hostcall buffer that a consumer serves (amd_hostcall.h), the same for all lanes. Without
// the `On`, it is what LUTHIER_HOSTCALL_BUFFER says when this file is included: by default the buffer that
// the runtime passes to the kernel as a hidden argument; in hooks (luthier/hook.h), the one that Luthier serves.
//
// Only the lanes that are active call; each gets its own answer. Lanes of a wave share one packet.
#pragma once

#include "luthier/hostcall_layout.h"

#define LUTHIER_HOSTCALL_DEVICE __attribute__((device, always_inline, convergent)) inline

namespace luthier::hostcall {

/// What the service's handler wrote to the first two words.
struct Answer {
  wire::Word first, second;
};

namespace detail {

using wire::HalfWord;
using wire::Word;

#define LUTHIER_HOSTCALL_GLOBAL __attribute__((address_space(1)))
using Buffer = LUTHIER_HOSTCALL_GLOBAL wire::Buffer;
using Header = LUTHIER_HOSTCALL_GLOBAL wire::Header;
using Signal = LUTHIER_HOSTCALL_GLOBAL wire::Signal;
using GlobalWord = LUTHIER_HOSTCALL_GLOBAL Word;
#undef LUTHIER_HOSTCALL_GLOBAL

/// The first active lane's value, for all.
LUTHIER_HOSTCALL_DEVICE Word broadcast(Word value) {
  const Word low = static_cast<HalfWord>(__builtin_amdgcn_readfirstlane(static_cast<HalfWord>(value)));
  const Word high = static_cast<HalfWord>(__builtin_amdgcn_readfirstlane(static_cast<HalfWord>(value >> 32)));
  return high << 32 | low;
}

LUTHIER_HOSTCALL_DEVICE bool swap(GlobalWord *stack, Word &expected, Word desired, bool acquire) {
  return acquire ? __hip_atomic_compare_exchange_strong(stack, &expected, desired, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE,
                                                        __HIP_MEMORY_SCOPE_SYSTEM)
                 : __hip_atomic_compare_exchange_strong(stack, &expected, desired, __ATOMIC_RELEASE, __ATOMIC_RELAXED,
                                                        __HIP_MEMORY_SCOPE_SYSTEM);
}

/// Where a buffer's packets are. Read once: the compiler cannot know that these fields never change.
struct Packets {
  Buffer *buffer;
  Word headers, payloads, mask;

  /// There are fewer than 2^32 packets.
  LUTHIER_HOSTCALL_DEVICE HalfWord index(Word pointer) const { return static_cast<HalfWord>(pointer & mask); }
  LUTHIER_HOSTCALL_DEVICE Header *header(Word pointer) const {
    return (Header *)(headers + Word{index(pointer)} * sizeof(wire::Header));
  }
};

LUTHIER_HOSTCALL_DEVICE Word popFree(const Packets &packets) {
  GlobalWord *const stack = &packets.buffer->freeStack;
  Word top = __hip_atomic_load(stack, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
  for (;;) {
    // AMD's own code does without this check, and corrupts memory when there are more waves than packets.
    if (top != 0) {
      const Word next = __hip_atomic_load(&packets.header(top)->next, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
      if (swap(stack, top, next, true))
        return top;
    } else {
      top = __hip_atomic_load(stack, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
    }
    __builtin_amdgcn_s_sleep(1);
  }
}

LUTHIER_HOSTCALL_DEVICE void push(const Packets &packets, GlobalWord *stack, Word pointer) {
  Header *const header = packets.header(pointer);
  Word top = __hip_atomic_load(stack, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  for (;;) {
    __hip_atomic_store(&header->next, top, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    if (swap(stack, top, pointer, false))
      return;
    __builtin_amdgcn_s_sleep(1);
  }
}

LUTHIER_HOSTCALL_DEVICE void pushFree(const Packets &packets, Word pointer) {
  const Word one = packets.mask + 1;
  pointer += one;
  push(packets, &packets.buffer->freeStack, pointer == 0 ? one : pointer);
}

LUTHIER_HOSTCALL_DEVICE void ring(Buffer *buffer) {
  Signal *const doorbell = (Signal *)__hip_atomic_load(&buffer->doorbell, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  if (!doorbell)
    return;
  __hip_atomic_fetch_add(&doorbell->value, Word{1}, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
  if (doorbell->mailbox == 0)
    return;
  const HalfWord event = doorbell->eventId;
  __hip_atomic_store((GlobalWord *)doorbell->mailbox, Word{event}, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
  __builtin_amdgcn_s_sendmsg(1, __builtin_amdgcn_readfirstlane(event) & 0xff); // interrupt
}

/// One packet for all active lanes, from the free stack to the host and back again.
LUTHIER_HOSTCALL_DEVICE Answer call(Word address, HalfWord service, Word w0, Word w1, Word w2, Word w3, Word w4,
                                    Word w5, Word w6, Word w7) {
  Buffer *const buffer = (Buffer *)broadcast(address);
  const Packets packets = {buffer, broadcast(buffer->headers), broadcast(buffer->payloads),
                           broadcast(buffer->indexMask)};
  const Word active = __builtin_amdgcn_read_exec();
  HalfWord lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
  // Which lane is the first depends on where this is. Clang 15 does not know, and would take the first lane of an
  // earlier call, which may be inactive here; so it must not know that it is the same `lane`.
  __asm__ volatile("" : "+v"(lane));
  const bool leads = lane == static_cast<HalfWord>(__builtin_amdgcn_readfirstlane(lane));

  Word pointer = 0;
  if (leads)
    pointer = popFree(packets);
  pointer = broadcast(pointer);
  Header *const header = packets.header(pointer);
  if (leads) {
    header->service = service;
    header->activeMask = active;
    __hip_atomic_store(&header->control, wire::kReady, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  }
  GlobalWord *const slot =
      (GlobalWord *)(packets.payloads + Word{packets.index(pointer)} * sizeof(wire::Payload)) + lane * wire::kWords;
  slot[0] = w0;
  slot[1] = w1;
  slot[2] = w2;
  slot[3] = w3;
  slot[4] = w4;
  slot[5] = w5;
  slot[6] = w6;
  slot[7] = w7;

  // The fences are for all lanes, although only one of them talks to the host: without them the compiler may answer a
  // lane with what that lane has written.
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
  if (leads) {
    push(packets, &buffer->readyStack, pointer);
    ring(buffer);
  }
  for (;;) {
    HalfWord control = wire::kReady;
    if (leads)
      control = __hip_atomic_load(&header->control, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    if (!(__builtin_amdgcn_readfirstlane(control) & wire::kReady))
      break;
    __builtin_amdgcn_s_sleep(1);
  }
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "");
  const Answer answer = {slot[0], slot[1]};
  if (leads)
    pushFree(packets, pointer);
  return answer;
}

template <class T> inline constexpr bool isPointer = false;
template <class T> inline constexpr bool isPointer<T *> = true;

/// A value as the host's printf and handlers expect it: integers extended, floating-point numbers as double.
template <class T> LUTHIER_HOSTCALL_DEVICE Word toWord(T value) {
  if constexpr (isPointer<T>)
    return (Word)value;
  else if constexpr (__is_same(T, decltype(nullptr)))
    return 0;
  else if constexpr (__is_enum(T))
    return toWord(static_cast<__underlying_type(T)>(value));
  else if constexpr (__is_integral(T))
    return static_cast<Word>(static_cast<__INT64_TYPE__>(value)); // changes nothing in unsigned values
  else
    return __builtin_bit_cast(Word, static_cast<double>(value));
}

// The parts of a printf message: words, text that the compiler knows, text that is only known to the device.

struct Value {
  static constexpr unsigned words = 1;
  Word value;
  LUTHIER_HOSTCALL_DEVICE void store(Word *to) const { *to = value; }
};

template <unsigned N> struct Literal {
  static constexpr unsigned words = (N + 7) / 8; ///< N counts the terminating 0
  const char *text;
  LUTHIER_HOSTCALL_DEVICE void store(Word *to) const {
    to[words - 1] = 0;
    __builtin_memcpy(to, text, N);
  }
};

struct String {
  static constexpr unsigned words = 0;
  const char *text;
  LUTHIER_HOSTCALL_DEVICE void store(Word *) const {}
};

template <class T> LUTHIER_HOSTCALL_DEVICE Value makePart(T value) { return {toWord(value)}; }
template <unsigned N> LUTHIER_HOSTCALL_DEVICE Literal<N> makePart(Literal<N> literal) { return literal; }
LUTHIER_HOSTCALL_DEVICE String makePart(const char *text) { return {text}; }
LUTHIER_HOSTCALL_DEVICE String makePart(char *text) { return {text}; }

template <unsigned I, class Part, class... Parts>
LUTHIER_HOSTCALL_DEVICE const char *stringOf(const Part &part, const Parts &...parts) {
  if constexpr (Part::words != 0)
    return stringOf<I>(parts...);
  else if constexpr (I != 0)
    return stringOf<I - 1>(parts...);
  else
    return part.text;
}

template <class... Parts> constexpr unsigned stringCount() { return (0u + ... + (Parts::words == 0 ? 1u : 0u)); }

/// How many known words there are before string number `String`, or in all when there is no such string.
template <unsigned String> constexpr unsigned wordsBefore() { return 0; }
template <unsigned String, class Part, class... Parts> constexpr unsigned wordsBefore() {
  if constexpr (Part::words != 0)
    return Part::words + wordsBefore<String, Parts...>();
  else if constexpr (String != 0)
    return wordsBefore<String - 1, Parts...>();
  else
    return 0;
}

/// One packet of a message. Returns the message's descriptor, or printf's result when it was the last.
LUTHIER_HOSTCALL_DEVICE Word sendPacket(Word buffer, Word descriptor, Word count, bool end, Word w0, Word w1, Word w2,
                                        Word w3, Word w4, Word w5, Word w6) {
  using namespace wire::message;
  descriptor &= ~(kLengthMask << kLengthShift);
  descriptor |= count << kLengthShift | (end ? kEnd : 0);
  return call(buffer, wire::kPrintf, descriptor, w0, w1, w2, w3, w4, w5, w6).first;
}

/// The known words from number `From` to before `To`. `words` is an array only for the compiler: all indices are
/// constants, so that it is in registers.
template <unsigned From, unsigned To, bool End>
LUTHIER_HOSTCALL_DEVICE Word sendWords(Word buffer, Word descriptor, const Word *words) {
  if constexpr (From == To) {
    return descriptor;
  } else {
    constexpr unsigned count = To - From < wire::message::kWords ? To - From : wire::message::kWords;
    const Word *const w = words + From;
    descriptor = sendPacket(buffer, descriptor, count, End && From + count == To, w[0], count > 1 ? w[1] : 0,
                            count > 2 ? w[2] : 0, count > 3 ? w[3] : 0, count > 4 ? w[4] : 0, count > 5 ? w[5] : 0,
                            count > 6 ? w[6] : 0);
    return sendWords<From + count, To, End>(buffer, descriptor, words);
  }
}

/// Up to eight bytes of a string; `more` until its end has been read.
LUTHIER_HOSTCALL_DEVICE Word readWord(const char *&text, bool &more, Word &count) {
  Word word = 0;
  count += more ? 1 : 0;
#pragma nounroll
  for (unsigned shift = 0; more && shift != 64; shift += 8) {
    const Word byte = static_cast<unsigned char>(*text++);
    word |= byte << shift;
    more = byte != 0;
  }
  return word;
}

/// A string with its terminating 0; null is an empty one.
LUTHIER_HOSTCALL_DEVICE Word sendString(Word buffer, Word descriptor, const char *text, bool end) {
  if (!text)
    return sendPacket(buffer, descriptor, 1, end, 0, 0, 0, 0, 0, 0, 0);
  bool more = true;
  do {
    Word count = 0;
    const Word w0 = readWord(text, more, count), w1 = readWord(text, more, count), w2 = readWord(text, more, count),
               w3 = readWord(text, more, count), w4 = readWord(text, more, count), w5 = readWord(text, more, count),
               w6 = readWord(text, more, count);
    descriptor = sendPacket(buffer, descriptor, count, end && !more, w0, w1, w2, w3, w4, w5, w6);
  } while (more);
  return descriptor;
}

/// The message from known word `From` and string `String` on.
template <unsigned From, unsigned StringNumber, class... Parts>
LUTHIER_HOSTCALL_DEVICE Word sendMessage(Word buffer, Word descriptor, const Word *words, const Parts &...parts) {
  constexpr unsigned strings = stringCount<Parts...>(), to = wordsBefore<StringNumber, Parts...>();
  constexpr unsigned all = (0u + ... + Parts::words);
  descriptor = sendWords < From, to, StringNumber == strings > (buffer, descriptor, words);
  if constexpr (StringNumber < strings) {
    constexpr bool end = StringNumber + 1 == strings && to == all;
    descriptor = sendString(buffer, descriptor, stringOf<StringNumber>(parts...), end);
    if constexpr (!end)
      return sendMessage<to, StringNumber + 1>(buffer, descriptor, words, parts...);
  }
  return descriptor;
}

LUTHIER_HOSTCALL_DEVICE void storeParts(Word *) {}
template <class Part, class... Parts>
LUTHIER_HOSTCALL_DEVICE void storeParts(Word *to, const Part &part, const Parts &...parts) {
  part.store(to);
  storeParts(to + Part::words, parts...);
}

template <class... Parts> LUTHIER_HOSTCALL_DEVICE int print(const void *buffer, const Parts &...parts) {
  if (!buffer)
    return -1;
  Word words[(0u + ... + Parts::words)];
  storeParts(words, parts...);
  return static_cast<int>(sendMessage<0, 0>((Word)buffer, Word{wire::message::kBegin}, words, parts...));
}

} // namespace detail

/// Calls a service with up to eight words: integers (extended to 64 bits), pointers, floating-point numbers (as
/// double).
template <class... Words>
LUTHIER_HOSTCALL_DEVICE Answer callOn(const void *buffer, wire::HalfWord service, Words... words) {
  static_assert(sizeof...(words) <= wire::kWords, "a hostcall has at most eight words");
  const wire::Word w[wire::kWords] = {detail::toWord(words)...};
  return detail::call((wire::Word)buffer, service, w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]);
}

/// A string argument of printf that is known when compiling, and so needs no memory.
template <unsigned N> LUTHIER_HOSTCALL_DEVICE detail::Literal<N> literal(const char (&text)[N]) { return {text}; }

/// C's printf, to the host's stdout. Returns the number of characters, or -1 when there is no buffer or the host
/// refuses. The format is a string literal; a `char *` argument is a string (for %p, cast it to `void *`).
template <unsigned N, class... Arguments>
LUTHIER_HOSTCALL_DEVICE int printfOn(const void *buffer, const char (&format)[N], Arguments... arguments) {
  return detail::print(buffer, detail::Value{wire::kStdout}, detail::Literal<N>{format},
                       detail::makePart(arguments)...);
}

/// The same, to the host's stderr.
template <unsigned N, class... Arguments>
LUTHIER_HOSTCALL_DEVICE int printErrorOn(const void *buffer, const char (&format)[N], Arguments... arguments) {
  return detail::print(buffer, detail::Value{wire::kStderr}, detail::Literal<N>{format},
                       detail::makePart(arguments)...);
}

/// Stops the kernel with a trap (AMDGPUUsage, "Trap Handler ABI": llvm.trap). Not __builtin_trap, which only ends the
/// wave where a hook is compiled without a kernel around it; nor does the compiler know that nothing comes after this.
LUTHIER_HOSTCALL_DEVICE void stop() { __asm__ volatile("s_trap 2"); }

/// The buffer that a runtime passes to the kernel, if it does: HIP's, for which HIP's own consumer answers.
LUTHIER_HOSTCALL_DEVICE const void *hiddenBuffer();

} // namespace luthier::hostcall

/// Version of the code object, 400 or 500, from the compiler or AMD's device libraries. From Clang 21 on, such
/// variables must not name their address space.
extern "C" __attribute__((constant)) const int __oclc_ABI_version;

LUTHIER_HOSTCALL_DEVICE const void *luthier::hostcall::hiddenBuffer() {
  // AMDGPUUsage, "Code Object V4/V5 Kernel Argument Metadata": hidden_hostcall_buffer.
  const auto *const arguments =
      (const __attribute__((address_space(4))) detail::Word *)__builtin_amdgcn_implicitarg_ptr();
  return (const void *)(__oclc_ABI_version < 500 ? arguments[3] : arguments[10]);
}

#ifndef LUTHIER_HOSTCALL_BUFFER
#define LUTHIER_HOSTCALL_BUFFER ::luthier::hostcall::hiddenBuffer()
#endif

namespace luthier::hostcall {

template <class... Words> LUTHIER_HOSTCALL_DEVICE Answer call(wire::HalfWord service, Words... words) {
  return callOn(LUTHIER_HOSTCALL_BUFFER, service, words...);
}

template <unsigned N, class... Arguments>
LUTHIER_HOSTCALL_DEVICE int printf(const char (&format)[N], Arguments... arguments) {
  return printfOn(LUTHIER_HOSTCALL_BUFFER, format, arguments...);
}

/// What an assertion says; in a hook, to who knows which kernel that is in.
template <class... Parts> LUTHIER_HOSTCALL_DEVICE void assertionFailed(const void *buffer, Parts... parts) {
#ifdef LUTHIER_HOSTCALL_IN_HOOKS
  detail::print(buffer, detail::Value{wire::kAssertion}, literal("%llu %s%s%s"), detail::Value{launchNumber()},
                parts...);
#else
  detail::print(buffer, detail::Value{wire::kStderr}, literal("%s%s%s"), parts...);
#endif
  stop();
}

} // namespace luthier::hostcall

namespace luthier {
using hostcall::printf;
}

#define LUTHIER_HOSTCALL_TEXT_(x) #x
#define LUTHIER_HOSTCALL_TEXT(x) LUTHIER_HOSTCALL_TEXT_(x)

/// Says which condition does not hold, and where, on the host's stderr; then stops the kernel.
#define LUTHIER_ASSERT_ON(buffer, condition)                                                                           \
  do {                                                                                                                 \
    if (!(condition))                                                                                                  \
      ::luthier::hostcall::assertionFailed(                                                                            \
          buffer, ::luthier::hostcall::literal(__FILE__ ":" LUTHIER_HOSTCALL_TEXT(__LINE__) ": "),                     \
          ::luthier::hostcall::literal(__func__),                                                                      \
          ::luthier::hostcall::literal(": assertion failed: " #condition "\n"));                                       \
  } while (false)
#define LUTHIER_ASSERT(condition) LUTHIER_ASSERT_ON(LUTHIER_HOSTCALL_BUFFER, condition)
