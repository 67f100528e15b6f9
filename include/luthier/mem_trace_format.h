// The file that tool mem_trace writes and `luthier trace dump` reads: memory accesses of kernels, in few bytes each.
//
// A trace is written while the application runs, and by a process that may be killed: so it is a sequence of chunks
// that make sense one by one, what is described (kernels, sites) comes before the accesses that refer to it, and totals
// are repeated now and then. All numbers are little-endian; "varint" is LEB128, "zigzag" a varint of (n << 1) ^ (n >>
// 63).
//
//   file    "LUTHMEM\x1a", u32 version (1), u32 0, then chunks
//   chunk   u32 kind, u32 bytes that follow, payload
//
//   kind 1, a kernel     varint number, string name, string symbol     (string: varint bytes, then these)
//   kind 2, a site       varint number, varint kernel, u8 access (Access), u8 space (luthier::MemorySpace), u8 which
//   (1:
//                        the second access of ds_read2_b32 and its like), varint bytes per lane, varint pc (address in
//                        the code object's file, the object's number from bit 48 on), string assembly
//   kind 3, accesses     records up to the chunk's end
//   kind 4, totals       varint records, varint lost (records for which there was no room), u8 final
//
//   record  u8 form, varint site, varint launch, [u64 lanes,] addresses
//     form bits 0-1      lanes: 0 given as a mask, 1 all of 64, 2 all of 32, 3 lane 0 alone
//     form bit 2         addresses: 0 zigzag first - last record's first (0 in front of a chunk's first record), zigzag
//                        stride: lane L is at first + stride * (L - first lane); 1 the same first, then for each
//                        further lane of the mask zigzag difference from the lane before
//
// Most records take 6 to 10 bytes. Scalar accesses (s_load_dword) are one access of lane 0. Nothing here depends on the
// rest of Luthier but for the numbers of luthier/property.h.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace luthier::mem_trace {

inline constexpr char kMagic[8] = {'L', 'U', 'T', 'H', 'M', 'E', 'M', '\x1a'};
inline constexpr uint32_t kVersion = 1;
inline constexpr size_t kHeaderBytes = 16;

enum class Chunk : uint32_t { Kernel = 1, Site = 2, Accesses = 3, Totals = 4 };
enum class Access : uint8_t { Load = 0, Store = 1, Atomic = 2 };

struct Kernel {
  uint64_t number = 0;
  std::string name, symbol;
};
struct Site {
  uint64_t number = 0, kernel = 0;
  Access access = Access::Load;
  uint8_t space = 0; ///< luthier::MemorySpace
  bool second = false;
  uint32_t bytes = 0; ///< per lane
  uint64_t pc = 0;
  std::string text;
};
/// What one wave did at a site, once.
struct Record {
  uint64_t site = 0, launch = 0;
  uint64_t lanes = 0;
  uint64_t addresses[64] = {}; ///< by lane; those not in `lanes` mean nothing
};
struct Totals {
  uint64_t records = 0, lost = 0;
  bool final = false; ///< nothing follows: the trace is complete but for what was lost
};

/// Makes chunks, to be written to a file as they are.
class Writer {
public:
  static std::string header() {
    std::string out(kMagic, sizeof kMagic);
    fixed(out, kVersion, 4);
    fixed(out, 0, 4);
    return out;
  }
  static std::string kernel(const Kernel &kernel) {
    std::string payload;
    varint(payload, kernel.number);
    text(payload, kernel.name);
    text(payload, kernel.symbol);
    return chunk(Chunk::Kernel, payload);
  }
  static std::string site(const Site &site) {
    std::string payload;
    varint(payload, site.number);
    varint(payload, site.kernel);
    payload += static_cast<char>(site.access);
    payload += static_cast<char>(site.space);
    payload += static_cast<char>(site.second);
    varint(payload, site.bytes);
    varint(payload, site.pc);
    text(payload, site.text);
    return chunk(Chunk::Site, payload);
  }
  static std::string totals(const Totals &totals) {
    std::string payload;
    varint(payload, totals.records);
    varint(payload, totals.lost);
    payload += static_cast<char>(totals.final);
    return chunk(Chunk::Totals, payload);
  }

  /// Records are gathered until `takeAccesses`.
  void add(const Record &record) {
    const unsigned firstLane = record.lanes ? static_cast<unsigned>(std::countr_zero(record.lanes)) : 0;
    const uint64_t first = record.lanes ? record.addresses[firstLane] : 0;
    const uint64_t others = record.lanes & (record.lanes - 1);
    uint64_t stride = 0;
    bool affine = true;
    if (others) {
      const unsigned next = static_cast<unsigned>(std::countr_zero(others));
      const int64_t distance = static_cast<int64_t>(record.addresses[next] - first);
      stride = static_cast<uint64_t>(distance / static_cast<int64_t>(next - firstLane));
      for (uint64_t rest = others; rest && affine; rest &= rest - 1) {
        const unsigned lane = static_cast<unsigned>(std::countr_zero(rest));
        affine = record.addresses[lane] == first + stride * (lane - firstLane);
      }
    }
    const unsigned lanes = record.lanes == ~0ull ? 1 : record.lanes == 0xffff'ffffull ? 2 : record.lanes == 1 ? 3 : 0;
    accesses_ += static_cast<char>(lanes | (affine ? 0u : 4u));
    varint(accesses_, record.site);
    varint(accesses_, record.launch);
    if (lanes == 0)
      fixed(accesses_, record.lanes, 8);
    zigzag(accesses_, first - last_);
    last_ = first;
    if (affine) {
      zigzag(accesses_, stride);
      return;
    }
    uint64_t before = first;
    for (uint64_t rest = others; rest; rest &= rest - 1) {
      const uint64_t address = record.addresses[std::countr_zero(rest)];
      zigzag(accesses_, address - before);
      before = address;
    }
  }
  size_t pendingBytes() const { return accesses_.size(); }
  /// The chunk of all that was added; empty when that is nothing.
  std::string takeAccesses() {
    if (accesses_.empty())
      return {};
    std::string out = chunk(Chunk::Accesses, accesses_);
    accesses_.clear();
    last_ = 0;
    return out;
  }

private:
  static void fixed(std::string &out, uint64_t value, unsigned bytes) {
    for (unsigned n = 0; n < bytes; ++n)
      out += static_cast<char>(value >> (8 * n));
  }
  static void varint(std::string &out, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      out += static_cast<char>(value | 0x80);
    out += static_cast<char>(value);
  }
  static void zigzag(std::string &out, uint64_t difference) {
    varint(out, (difference << 1) ^ static_cast<uint64_t>(static_cast<int64_t>(difference) >> 63));
  }
  static void text(std::string &out, std::string_view text) {
    varint(out, text.size());
    out += text;
  }
  static std::string chunk(Chunk kind, const std::string &payload) {
    std::string out;
    out.reserve(8 + payload.size());
    fixed(out, static_cast<uint32_t>(kind), 4);
    fixed(out, payload.size(), 4);
    return out += payload;
  }

  std::string accesses_;
  uint64_t last_ = 0;
};

/// Reads a whole trace that is in memory (or mapped). Foreign bytes: whatever they are, an error says what is wrong.
class Reader {
public:
  explicit Reader(std::span<const uint8_t> file) : rest_(file), size_(file.size()) {
    if (file.size() < kHeaderBytes || std::memcmp(file.data(), kMagic, sizeof kMagic) != 0) {
      fail("this is no trace of mem_trace");
      return;
    }
    rest_ = rest_.subspan(sizeof kMagic);
    if (const uint64_t version = fixed(rest_, 4); version != kVersion)
      fail("the trace has version " + std::to_string(version) + "; " + std::to_string(kVersion) + " can be read");
    (void)fixed(rest_, 4);
  }

  /// The next record; false at the end, or when something is wrong (`error`).
  bool next(Record &record) {
    while (error_.empty()) {
      if (!accesses_.empty())
        return readRecord(record);
      if (rest_.empty())
        return false;
      if (!readChunk())
        return false;
    }
    return false;
  }

  const std::string &error() const { return error_; }
  /// The file ends in the middle of a chunk, or without final totals: the application was killed.
  bool cut() const { return cut_ || !totals_.final; }
  const Totals &totals() const { return totals_; } ///< those read last
  /// Kernels and sites read so far, by number: all that the records read so far refer to.
  const std::map<uint64_t, Kernel> &kernels() const { return kernels_; }
  const std::map<uint64_t, Site> &sites() const { return sites_; }

private:
  using Bytes = std::span<const uint8_t>;

  bool readChunk() {
    if (rest_.size() < 8)
      return endEarly();
    const uint64_t kind = fixed(rest_, 4), bytes = fixed(rest_, 4);
    if (rest_.size() < bytes)
      return endEarly();
    Bytes payload = rest_.first(bytes);
    chunkAt_ = size_ - rest_.size();
    rest_ = rest_.subspan(bytes);
    switch (static_cast<Chunk>(kind)) {
    case Chunk::Kernel: {
      Kernel kernel;
      kernel.number = varint(payload);
      kernel.name = text(payload);
      kernel.symbol = text(payload);
      kernels_[kernel.number] = std::move(kernel);
      break;
    }
    case Chunk::Site: {
      Site site;
      site.number = varint(payload);
      site.kernel = varint(payload);
      site.access = static_cast<Access>(fixed(payload, 1));
      site.space = static_cast<uint8_t>(fixed(payload, 1));
      site.second = fixed(payload, 1) != 0;
      site.bytes = static_cast<uint32_t>(varint(payload));
      site.pc = varint(payload);
      site.text = text(payload);
      if (error_.empty() && site.access > Access::Atomic)
        fail("a site has an unknown kind of access");
      else if (error_.empty() && !kernels_.contains(site.kernel))
        fail("a site belongs to a kernel that is not described");
      sites_[site.number] = std::move(site);
      break;
    }
    case Chunk::Accesses:
      accesses_ = payload;
      last_ = 0;
      break;
    case Chunk::Totals:
      totals_.records = varint(payload);
      totals_.lost = varint(payload);
      totals_.final = fixed(payload, 1) != 0;
      break;
    default: // of a later minor version
      break;
    }
    return error_.empty();
  }

  bool readRecord(Record &record) {
    const uint64_t form = fixed(accesses_, 1);
    record.site = varint(accesses_);
    record.launch = varint(accesses_);
    switch (form & 3) {
    case 0:
      record.lanes = fixed(accesses_, 8);
      break;
    case 1:
      record.lanes = ~0ull;
      break;
    case 2:
      record.lanes = 0xffff'ffff;
      break;
    default:
      record.lanes = 1;
    }
    last_ += zigzag(accesses_);
    uint64_t rest = record.lanes;
    if (rest) {
      const unsigned firstLane = static_cast<unsigned>(std::countr_zero(rest));
      record.addresses[firstLane] = last_;
      rest &= rest - 1;
      const uint64_t stride = form & 4 ? 0 : zigzag(accesses_);
      uint64_t address = last_;
      for (; rest && error_.empty(); rest &= rest - 1) {
        const unsigned lane = static_cast<unsigned>(std::countr_zero(rest));
        address = form & 4 ? address + zigzag(accesses_) : last_ + stride * (lane - firstLane);
        record.addresses[lane] = address;
      }
    } else if (!(form & 4)) {
      (void)zigzag(accesses_);
    }
    if (error_.empty() && form > 7)
      fail("a record has an unknown form");
    if (error_.empty() && !sites_.contains(record.site))
      fail("a record is of a site that is not described");
    return error_.empty();
  }

  uint64_t fixed(Bytes &from, unsigned bytes) {
    if (from.size() < bytes) {
      fail("a chunk ends in the middle of a number");
      from = {};
      return 0;
    }
    uint64_t value = 0;
    for (unsigned n = 0; n < bytes; ++n)
      value |= static_cast<uint64_t>(from[n]) << (8 * n);
    from = from.subspan(bytes);
    return value;
  }
  uint64_t varint(Bytes &from) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      if (from.empty())
        break;
      const uint8_t byte = from.front();
      from = from.subspan(1);
      if (shift < 64)
        value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (!(byte & 0x80))
        return value;
    }
    fail("a chunk has a number without an end");
    return 0;
  }
  uint64_t zigzag(Bytes &from) {
    const uint64_t value = varint(from);
    return (value >> 1) ^ (0 - (value & 1));
  }
  std::string text(Bytes &from) {
    const uint64_t bytes = varint(from);
    if (bytes > from.size()) {
      fail("a chunk has a text longer than itself");
      return {};
    }
    std::string result(reinterpret_cast<const char *>(from.data()), bytes);
    from = from.subspan(bytes);
    return result;
  }
  void fail(const std::string &what) {
    if (error_.empty())
      error_ = what + (chunkAt_ ? " (in the chunk at offset " + std::to_string(chunkAt_) + ")" : std::string());
  }
  bool endEarly() {
    cut_ = true;
    rest_ = {};
    return false;
  }

  Bytes rest_, accesses_;
  size_t size_ = 0, chunkAt_ = 0;
  uint64_t last_ = 0;
  bool cut_ = false;
  Totals totals_;
  std::map<uint64_t, Kernel> kernels_;
  std::map<uint64_t, Site> sites_;
  std::string error_;
};

} // namespace luthier::mem_trace
