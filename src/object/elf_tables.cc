#include "object/elf_tables.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>

namespace luthier::object {

namespace {

/// System V ABI, "Hash Table".
uint32_t sysvHash(std::string_view name) {
  uint32_t hash = 0;
  for (const char c : name) {
    hash = (hash << 4) + static_cast<uint8_t>(c);
    const uint32_t high = hash & 0xf0000000;
    hash ^= high >> 24;
    hash &= ~high;
  }
  return hash;
}

uint32_t gnuHash(std::string_view name) {
  uint32_t hash = 5381;
  for (const char c : name)
    hash = hash * 33 + static_cast<uint8_t>(c);
  return hash;
}

template <class T> void append(std::vector<std::byte> &to, const T &value) {
  const auto *bytes = reinterpret_cast<const std::byte *>(&value);
  to.insert(to.end(), bytes, bytes + sizeof value);
}
template <class T> void append(std::vector<std::byte> &to, const std::vector<T> &values) {
  const auto *bytes = reinterpret_cast<const std::byte *>(values.data());
  to.insert(to.end(), bytes, bytes + values.size() * sizeof(T));
}

using Order = std::vector<uint32_t>;

std::vector<std::byte> encodeHash(const std::vector<WriterSymbol> &symbols, const Order &order) {
  const auto count = static_cast<uint32_t>(order.size());
  std::vector<uint32_t> buckets(std::max<uint32_t>(1, count)), chains(count);
  for (uint32_t at = 1; at < count; ++at) {
    uint32_t &bucket = buckets[sysvHash(symbols[order[at]].name) % buckets.size()];
    chains[at] = bucket;
    bucket = at;
  }
  std::vector<std::byte> bytes;
  append(bytes, static_cast<uint32_t>(buckets.size()));
  append(bytes, count);
  append(bytes, buckets);
  append(bytes, chains);
  return bytes;
}

uint32_t gnuBuckets(size_t hashed) { return static_cast<uint32_t>(std::max<size_t>(1, hashed / 4)); }

/// `first`: of the symbols in `order` that are hashed, which are sorted by bucket.
std::vector<std::byte> encodeGnuHash(const std::vector<WriterSymbol> &symbols, const Order &order, uint32_t first) {
  constexpr uint32_t kShift = 26;
  const size_t hashed = order.size() - first;
  // About twelve bits of the filter per symbol.
  std::vector<uint64_t> filter(std::bit_ceil(std::max<size_t>(1, hashed * 12 / 64)));
  std::vector<uint32_t> buckets(gnuBuckets(hashed)), chains(hashed);
  for (size_t n = 0; n < hashed; ++n) {
    const uint32_t hash = gnuHash(symbols[order[first + n]].name);
    filter[hash / 64 % filter.size()] |= uint64_t{1} << hash % 64 | uint64_t{1} << (hash >> kShift) % 64;
    uint32_t &bucket = buckets[hash % buckets.size()];
    if (bucket == 0)
      bucket = static_cast<uint32_t>(first + n);
    const bool last =
        n + 1 == hashed || gnuHash(symbols[order[first + n + 1]].name) % buckets.size() != hash % buckets.size();
    chains[n] = (hash & ~1u) | last;
  }
  std::vector<std::byte> bytes;
  append(bytes, static_cast<uint32_t>(buckets.size()));
  append(bytes, first);
  append(bytes, static_cast<uint32_t>(filter.size()));
  append(bytes, kShift);
  append(bytes, filter);
  append(bytes, buckets);
  append(bytes, chains);
  return bytes;
}

} // namespace

StringTable::StringTable(ByteSpan old) : text_(reinterpret_cast<const char *>(old.data()), old.size()) {
  if (text_.empty() || text_.back() != '\0')
    text_.push_back('\0');
  for (size_t at = 0, end; at < text_.size(); at = end + 1) {
    end = text_.find('\0', at);
    offsets_.emplace(text_.substr(at, end - at), static_cast<uint32_t>(at));
  }
}

uint32_t StringTable::add(std::string_view text) {
  if (text.empty())
    return 0;
  const auto [it, fresh] = offsets_.emplace(text, static_cast<uint32_t>(text_.size()));
  if (fresh)
    text_.append(text).push_back('\0');
  return it->second;
}

std::vector<std::byte> StringTable::bytes() const {
  const auto *begin = reinterpret_cast<const std::byte *>(text_.data());
  return {begin, begin + text_.size()};
}

EncodedSymbols encodeSymbols(const std::vector<WriterSymbol> &symbols, StringTable &strings, bool dynamic) {
  Order order(symbols.size());
  std::iota(order.begin(), order.end(), 0u);
  // Local ones (the null symbol is one), then the others; of dynamic ones, first what .gnu.hash does not list.
  auto rank = [&](uint32_t n) {
    return symbols[n].binding() == STB_LOCAL ? 0 : !dynamic || !symbols[n].defined() ? 1 : 2;
  };
  const auto hashed = static_cast<size_t>(std::ranges::count(order, 2, rank));
  const uint32_t buckets = gnuBuckets(hashed);
  std::ranges::sort(order, {}, [&](uint32_t n) {
    return std::tuple(rank(n), rank(n) == 2 ? gnuHash(symbols[n].name) % buckets : 0, n);
  });

  EncodedSymbols encoded;
  encoded.firstGlobal = static_cast<uint32_t>(std::ranges::count(order, 0, rank));
  encoded.places.resize(symbols.size());
  for (uint32_t at = 0; at < order.size(); ++at) {
    encoded.places[order[at]] = at;
    Elf64_Sym entry = symbols[order[at]].entry;
    entry.st_name = strings.add(symbols[order[at]].name);
    append(encoded.bytes, entry);
  }
  if (dynamic) {
    encoded.hash = encodeHash(symbols, order);
    encoded.gnuHash = encodeGnuHash(symbols, order, static_cast<uint32_t>(order.size() - hashed));
  }
  return encoded;
}

} // namespace luthier::object
