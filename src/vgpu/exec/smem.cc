// SMEM: scalar memory instructions (manual, chapter 8 and section 12.6).
//
// There is no scalar data cache: loads see memory as it is and stores reach it at once, so that everything which
// invalidates, writes back or prefetches has nothing to do.

#include "vgpu/exec/scalar.h"
#include "vgpu/exec/tables.h"
#include "vgpu/memory/guest_access.h"

#include <iterator>
#include <type_traits>

#include <time.h>

namespace luthier::vgpu {

namespace {

/// The instruction's own part of the address. All components are in bytes with the two low bits ignored, except that
/// scratch instructions count the register in units of 64 bytes.
template <unsigned SgprUnit = 1> [[gnu::always_inline]] inline u64 offsetOf(const Wave &w, const Inst *i) {
  u64 offset = static_cast<u64>(static_cast<i64>(i->imm & ~3));
  if (i->sdst != kNoScalar)
    offset += (static_cast<u64>(w.s[i->sdst]) * SgprUnit) & ~3ull;
  return offset;
}

template <unsigned SgprUnit = 1> [[gnu::always_inline]] inline u64 addressOf(const Wave &w, const Inst *i) {
  return (w.scalar64(i->src[0].reg) & ~3ull) + offsetOf<SgprUnit>(w, i);
}

/// What a buffer resource in SGPRs says, as far as scalar instructions look at it.
struct Buffer {
  u64 base;
  u64 bytes;
  Buffer(const Wave &w, const Inst *i) {
    const u32 *words = &w.s[i->src[0].reg];
    base = (words[0] | static_cast<u64>(words[1] & 0xffff) << 32) & ~3ull;
    // This manual's "m_size = (m_stride == 0) ? 1 : m_num_records" has lost a factor; the formula is later manuals'
    // (RDNA3). Stride has 14 bits, the two above it are flags.
    const u32 stride = words[1] >> 16 & 0x3fff;
    bytes = static_cast<u64>(stride == 0 ? 1 : stride) * words[2];
  }
};

/// A base that is not a multiple of 4 is read as the one below, which no program means. True when there is none, or
/// when it has been reported.
[[gnu::always_inline]] inline bool baseChecked(Wave &w, const Inst *i, u32 bytes) {
  const u64 base = w.scalar64(i->src[0].reg);
  if (!(base & 3) || !w.check) [[likely]]
    return true;
  return w.misalignedScalar(i, base + offsetOf(w, i), bytes);
}

/// Arguments of other launches are none of this one's business. True when it is not about these, or when it has been
/// reported.
[[gnu::always_inline]] inline bool argumentsChecked(Wave &w, const Inst *i, u64 &address, u32 bytes) {
  if (address - w.argumentMemory >= w.argumentMemoryBytes) [[likely]]
    return true;
  return (address >= w.arguments && address + bytes <= w.argumentsEnd) || w.outsideArguments(i, address, bytes);
}

template <unsigned Dwords, unsigned SgprUnit = 1> const Inst *load(Wave &w, const Inst *i) {
  u64 address = addressOf<SgprUnit>(w, i);
  if (!baseChecked(w, i, Dwords * 4) || !argumentsChecked(w, i, address, Dwords * 4)) [[unlikely]]
    return nullptr;
  if (!w.accessible(i, address, Dwords * 4, false)) [[unlikely]]
    return w.memoryFault(i, address, false);
  const GuestCopy guest;
  memcpy(&w.s[i->dst], reinterpret_cast<const void *>(address), Dwords * 4);
  return i->next();
}

template <unsigned Dwords, unsigned SgprUnit = 1> const Inst *store(Wave &w, const Inst *i) {
  u64 address = addressOf<SgprUnit>(w, i);
  if (!w.accessible(i, address, Dwords * 4, true)) [[unlikely]]
    return w.memoryFault(i, address, true);
  const GuestCopy guest;
  memcpy(reinterpret_cast<void *>(address), &w.s[i->dst], Dwords * 4);
  return i->next();
}

/// Bytes and shorts need no more alignment than their own, none of the address' components.
template <class T> [[gnu::always_inline]] inline u64 smallOffset(const Wave &w, const Inst *i) {
  constexpr u64 kAlign = ~static_cast<u64>(sizeof(T) - 1);
  return (static_cast<u64>(static_cast<i64>(i->imm)) & kAlign) + (i->sdst != kNoScalar ? w.s[i->sdst] & kAlign : 0);
}

template <class T> const Inst *loadSmall(Wave &w, const Inst *i) {
  u64 address = (w.scalar64(i->src[0].reg) & ~static_cast<u64>(sizeof(T) - 1)) + smallOffset<T>(w, i);
  if (!w.accessible(i, address, sizeof(T), false)) [[unlikely]]
    return w.memoryFault(i, address, false);
  T value;
  {
    const GuestCopy guest;
    memcpy(&value, reinterpret_cast<const void *>(address), sizeof value);
  }
  w.s[i->dst] = static_cast<u32>(static_cast<i32>(value));
  return i->next();
}

template <class T> const Inst *bufferLoadSmall(Wave &w, const Inst *i) {
  const u32 *words = &w.s[i->src[0].reg];
  const u64 base = (words[0] | static_cast<u64>(words[1] & 0xffff) << 32) & ~static_cast<u64>(sizeof(T) - 1);
  const u64 offset = smallOffset<T>(w, i);
  T value = 0;
  if (offset < (Buffer(w, i).bytes & ~static_cast<u64>(sizeof(T) - 1))) {
    u64 address = base + offset;
    if (!w.accessible(i, address, sizeof(T), false)) [[unlikely]]
      return w.memoryFault(i, address, false);
    const GuestCopy guest;
    memcpy(&value, reinterpret_cast<const void *>(address), sizeof value);
  }
  w.s[i->dst] = static_cast<u32>(static_cast<i32>(value));
  return i->next();
}

/// Dwords of an access that lie within the buffer; those behind read as 0 and are not written.
template <unsigned Dwords> unsigned dwordsInside(const Buffer &buffer, u64 offset) {
  if (offset >= buffer.bytes)
    return 0;
  const u64 inside = (buffer.bytes - offset + 3) / 4;
  return inside < Dwords ? static_cast<unsigned>(inside) : Dwords;
}

template <unsigned Dwords> const Inst *bufferLoad(Wave &w, const Inst *i) {
  const Buffer buffer(w, i);
  const u64 offset = offsetOf(w, i);
  const unsigned inside = dwordsInside<Dwords>(buffer, offset);
  u64 address = buffer.base + offset;
  if (inside && !w.accessible(i, address, inside * 4, false)) [[unlikely]]
    return w.memoryFault(i, address, false);
  u32 data[Dwords] = {};
  {
    const GuestCopy guest;
    memcpy(data, reinterpret_cast<const void *>(address), inside * 4);
  }
  memcpy(&w.s[i->dst], data, sizeof data);
  return i->next();
}

template <unsigned Dwords> const Inst *bufferStore(Wave &w, const Inst *i) {
  const Buffer buffer(w, i);
  const u64 offset = offsetOf(w, i);
  const unsigned inside = dwordsInside<Dwords>(buffer, offset);
  u64 address = buffer.base + offset;
  if (inside && !w.accessible(i, address, inside * 4, true)) [[unlikely]]
    return w.memoryFault(i, address, true);
  const GuestCopy guest;
  memcpy(reinterpret_cast<void *>(address), &w.s[i->dst], inside * 4);
  return i->next();
}

const Inst *nothing(Wave &, const Inst *i) { return i->next(); }

/// The core clock counter: MI200's 1.7 GHz, at the resolution of the host's clock.
const Inst *s_memtime(Wave &w, const Inst *i) {
  constexpr u64 kTenthsOfGigahertz = 17;
  timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  const u64 nanoseconds = static_cast<u64>(now.tv_sec) * 1'000'000'000 + static_cast<u64>(now.tv_nsec);
  w.setScalar64(i->dst, nanoseconds * kTenthsOfGigahertz / 10);
  return i->next();
}

const Inst *s_get_waveid_in_workgroup(Wave &w, const Inst *i) {
  w.s[i->dst] = w.index;
  return i->next();
}

const Inst *s_memrealtime(Wave &w, const Inst *i) {
  w.setScalar64(i->dst, Wave::clock());
  return i->next();
}

/// Replaces memory by F(memory, data, compare) and returns what was there.
template <class T, auto F> T exchange(u64 address, const T *data) {
  T *place = reinterpret_cast<T *>(address);
  T old = __atomic_load_n(place, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(place, &old, F(old, data[0], data[1]), true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
    ;
  return old;
}

/// Atomics are naturally aligned, as vector atomics are. The data is in SDATA, compare-and-swap's comparand behind it;
/// GLC asks for the old value in SDATA.
template <class T, auto F, bool InBuffer> const Inst *atomic(Wave &w, const Inst *i) {
  T data[2] = {};
  memcpy(data, &w.s[i->dst], i->dst + sizeof data / 4 <= std::size(w.s) ? sizeof data : sizeof(T));
  T old = 0;
  u64 address;
  bool inside = true;
  if constexpr (InBuffer) {
    const Buffer buffer(w, i);
    const u64 offset = offsetOf(w, i);
    inside = dwordsInside<sizeof(T) / 4>(buffer, offset) == sizeof(T) / 4;
    address = buffer.base + offset;
  } else {
    address = addressOf(w, i);
  }
  address &= ~static_cast<u64>(sizeof(T) - 1);
  if (inside) {
    if (!w.accessible(i, address, sizeof(T), true)) [[unlikely]]
      return w.memoryFault(i, address, true);
    old = exchange<T, F>(address, data);
  }
  if (i->flags & kReturnsOld)
    memcpy(&w.s[i->dst], &old, sizeof old);
  return i->next();
}

constexpr auto kSwap = []<class T>(T, T data, T) { return data; };
constexpr auto kCmpSwap = []<class T>(T old, T data, T comparand) { return old == comparand ? data : old; };
constexpr auto kAdd = []<class T>(T old, T data, T) { return old + data; };
constexpr auto kSub = []<class T>(T old, T data, T) { return old - data; };
// The manual's 64-bit minima and maxima say "MEM[ADDR] -= ...": a slip, as their 32-bit forms show.
template <class T> using Signed = std::make_signed_t<T>;
constexpr auto kSmin = []<class T>(T old, T data, T) { return Signed<T>(data) < Signed<T>(old) ? data : old; };
constexpr auto kUmin = []<class T>(T old, T data, T) { return data < old ? data : old; };
constexpr auto kSmax = []<class T>(T old, T data, T) { return Signed<T>(data) > Signed<T>(old) ? data : old; };
constexpr auto kUmax = []<class T>(T old, T data, T) { return data > old ? data : old; };
constexpr auto kAnd = []<class T>(T old, T data, T) { return old & data; };
constexpr auto kOr = []<class T>(T old, T data, T) { return old | data; };
constexpr auto kXor = []<class T>(T old, T data, T) { return old ^ data; };
constexpr auto kInc = []<class T>(T old, T data, T) { return old >= data ? T(0) : T(old + 1); };
constexpr auto kDec = []<class T>(T old, T data, T) { return old == 0 || old > data ? data : T(old - 1); };

#define ATOMIC(name, operation)                                                                                        \
  plain("s_atomic_" name, atomic<u32, operation, false>),                                                              \
      plain("s_atomic_" name "_x2", atomic<u64, operation, false>), BUFFER_ATOMIC(name, operation)
#define MISPRINTED(name, operation)                                                                                    \
  plain("s_atomic_" name, atomic<u32, operation, false>),                                                              \
      plain("s_atomic_" name "_x2", atomic<u64, operation, false>).documented(why::kMisprint),                         \
      BUFFER_ATOMIC(name, operation)
#define BUFFER_ATOMIC(name, operation)                                                                                 \
  plain("s_buffer_atomic_" name, atomic<u32, operation, true>).documented(why::kScalarBufferRange),                    \
      plain("s_buffer_atomic_" name "_x2", atomic<u64, operation, true>).documented(why::kScalarBufferRange)

constexpr Row kRows[] = {
    straight<load<1>>("s_load_dword"),
    straight<load<2>>("s_load_dwordx2"),
    straight<load<3>>("s_load_b96"),
    plain("s_load_u8", loadSmall<u8>),
    plain("s_load_i8", loadSmall<i8>),
    plain("s_load_u16", loadSmall<u16>),
    plain("s_load_i16", loadSmall<i16>),
    straight<load<4>>("s_load_dwordx4"),
    straight<load<8>>("s_load_dwordx8"),
    straight<load<16>>("s_load_dwordx16"),
    plain("s_store_dword", store<1>),
    plain("s_store_dwordx2", store<2>),
    plain("s_store_dwordx4", store<4>),
    plain("s_scratch_load_dword", load<1, 64>),
    plain("s_scratch_load_dwordx2", load<2, 64>),
    plain("s_scratch_load_dwordx4", load<4, 64>),
    plain("s_scratch_store_dword", store<1, 64>),
    plain("s_scratch_store_dwordx2", store<2, 64>),
    plain("s_scratch_store_dwordx4", store<4, 64>),
    plain("s_buffer_load_dword", bufferLoad<1>).documented(why::kScalarBufferRange),
    plain("s_buffer_load_dwordx2", bufferLoad<2>).documented(why::kScalarBufferRange),
    plain("s_buffer_load_b96", bufferLoad<3>).documented(why::kScalarBufferRange),
    plain("s_buffer_load_u8", bufferLoadSmall<u8>),
    plain("s_buffer_load_i8", bufferLoadSmall<i8>),
    plain("s_buffer_load_u16", bufferLoadSmall<u16>),
    plain("s_buffer_load_i16", bufferLoadSmall<i16>),
    plain("s_buffer_load_dwordx4", bufferLoad<4>).documented(why::kScalarBufferRange),
    plain("s_buffer_load_dwordx8", bufferLoad<8>).documented(why::kScalarBufferRange),
    plain("s_buffer_load_dwordx16", bufferLoad<16>).documented(why::kScalarBufferRange),
    plain("s_buffer_store_dword", bufferStore<1>).documented(why::kScalarBufferRange),
    plain("s_buffer_store_dwordx2", bufferStore<2>).documented(why::kScalarBufferRange),
    plain("s_buffer_store_dwordx4", bufferStore<4>).documented(why::kScalarBufferRange),

    plain("s_dcache_inv", nothing).documented(why::kNoCache),
    plain("s_gl1_inv", nothing).documented(why::kNoCache),
    plain("s_prefetch_data", nothing).documented(why::kNoCache),
    plain("s_prefetch_data_pc_rel", nothing).documented(why::kNoCache),
    plain("s_buffer_prefetch_data", nothing).documented(why::kNoCache),
    plain("s_prefetch_inst", nothing).documented(why::kNoCache),
    plain("s_prefetch_inst_pc_rel", nothing).documented(why::kNoCache),
    plain("s_dcache_inv_vol", nothing).documented(why::kNoCache),
    plain("s_dcache_wb", nothing).documented(why::kNoCache),
    plain("s_dcache_wb_vol", nothing).documented(why::kNoCache),
    plain("s_dcache_discard", nothing).documented(why::kNoCache),
    plain("s_dcache_discard_x2", nothing).documented(why::kNoCache),
    plain("s_atc_probe", nothing).documented(why::kNoCache),
    plain("s_atc_probe_buffer", nothing).documented(why::kNoCache),
    plain("s_get_waveid_in_workgroup", s_get_waveid_in_workgroup),
    plain("s_memtime", s_memtime).chosen("the host's clock, at 1.7 GHz; time is not modelled"),
    plain("s_memrealtime", s_memrealtime).chosen("the host's clock, at 100 MHz; time is not modelled"),

    ATOMIC("swap", kSwap),
    ATOMIC("cmpswap", kCmpSwap),
    ATOMIC("add", kAdd),
    ATOMIC("sub", kSub),
    MISPRINTED("smin", kSmin),
    MISPRINTED("umin", kUmin),
    MISPRINTED("smax", kSmax),
    MISPRINTED("umax", kUmax),
    ATOMIC("and", kAnd),
    ATOMIC("or", kOr),
    ATOMIC("xor", kXor),
    ATOMIC("inc", kInc),
    ATOMIC("dec", kDec),
};

} // namespace

std::span<const Row> smemRows() { return kRows; }

} // namespace luthier::vgpu
