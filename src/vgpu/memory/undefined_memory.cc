#include "vgpu/memory/undefined_memory.h"

#include <algorithm>

namespace luthier::vgpu {

namespace {

/// Pages that are out of use before the first of them is used again.
constexpr size_t kMostUnused = 1024;

constexpr uint64_t lowBits(uint64_t count) { return count >= 64 ? ~0ull : (1ull << count) - 1; }

} // namespace

UndefinedMemory::UndefinedMemory() : root_(kEntries) {
  for (auto &line : nothing_.lines)
    line.store(~0ull, std::memory_order_relaxed);
  for (auto &origin : nothing_.origins)
    origin.store(0, std::memory_order_relaxed);
}

UndefinedMemory::~UndefinedMemory() {
  for (auto &slot : root_) {
    Node *node = slot.load();
    if (!node)
      continue;
    for (auto &leafSlot : node->leaves) {
      Leaf *leaf = leafSlot.load();
      if (!leaf)
        continue;
      for (auto &page : leaf->pages)
        if (page.load() != &nothing_)
          delete page.load();
      delete leaf;
    }
    delete node;
  }
  for (Page *page : unused_)
    delete page;
}

std::atomic<UndefinedMemory::Page *> *UndefinedMemory::entryOf(uint64_t address) const {
  const uint64_t page = address / kPage;
  if (page >> (3 * kLevelBits))
    return nullptr;
  const Node *node = root_[page >> (2 * kLevelBits)].load(std::memory_order_acquire);
  Leaf *leaf = node ? node->leaves[(page >> kLevelBits) % kEntries].load(std::memory_order_acquire) : nullptr;
  return leaf ? &leaf->pages[page % kEntries] : nullptr;
}

const UndefinedMemory::Page *UndefinedMemory::pageOf(uint64_t address) const {
  const auto *entry = entryOf(address);
  return entry ? entry->load(std::memory_order_acquire) : nullptr;
}

std::atomic<UndefinedMemory::Page *> &UndefinedMemory::makeEntry(uint64_t address) {
  const uint64_t page = address / kPage;
  auto &slot = root_[(page >> (2 * kLevelBits)) % kEntries];
  Node *node = slot.load(std::memory_order_acquire);
  if (!node) {
    auto fresh = std::make_unique<Node>();
    if (slot.compare_exchange_strong(node, fresh.get(), std::memory_order_acq_rel))
      node = fresh.release();
  }
  auto &leafSlot = node->leaves[(page >> kLevelBits) % kEntries];
  Leaf *leaf = leafSlot.load(std::memory_order_acquire);
  if (!leaf) {
    auto fresh = std::make_unique<Leaf>();
    if (leafSlot.compare_exchange_strong(leaf, fresh.get(), std::memory_order_acq_rel))
      leaf = fresh.release();
  }
  return leaf->pages[page % kEntries];
}

/// The page of an entry as one of its own.
UndefinedMemory::Page *UndefinedMemory::pageToWrite(std::atomic<Page *> &entry) {
  Page *old = entry.load(std::memory_order_acquire);
  if (old && old != &nothing_)
    return old;
  Page *fresh = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (unused_.size() > kMostUnused) {
      fresh = unused_.front();
      unused_.pop_front();
    }
  }
  if (!fresh)
    fresh = new Page;
  do {
    if (old && old != &nothing_) { // another thread was faster
      std::lock_guard lock(mutex_);
      unused_.push_back(fresh);
      return old;
    }
    for (auto &line : fresh->lines)
      line.store(old ? ~0ull : 0, std::memory_order_relaxed);
    for (auto &origin : fresh->origins)
      origin.store(0, std::memory_order_relaxed);
  } while (!entry.compare_exchange_weak(old, fresh, std::memory_order_acq_rel));
  return fresh;
}

/// By no page, or by the shared one.
void UndefinedMemory::replace(std::atomic<Page *> &entry, Page *page) {
  Page *old = entry.exchange(page, std::memory_order_acq_rel);
  if (!old || old == &nothing_)
    return;
  std::lock_guard lock(mutex_);
  unused_.push_back(old);
}

void UndefinedMemory::setInLine(uint64_t address, uint64_t mask, uint64_t undefined, uint32_t origin) {
  if (address / kPage >> (3 * kLevelBits))
    return; // nobody can access it
  const Page *known = pageOf(address);
  const uint64_t number = address % kPage / kLineBytes;
  const uint64_t old = known ? known->lines[number].load(std::memory_order_relaxed) : 0;
  const bool sameOrigin =
      !(mask & undefined) || (known && known->origins[number].load(std::memory_order_relaxed) == origin);
  if ((old & mask) == (undefined & mask) && sameOrigin)
    return;
  Page *page = pageToWrite(makeEntry(address));
  if (!sameOrigin)
    page->origins[number].store(origin, std::memory_order_relaxed);
  auto &line = page->lines[number];
  if (mask == ~0ull) {
    line.store(undefined, std::memory_order_relaxed);
    return;
  }
  if (const uint64_t defined = mask & ~undefined)
    line.fetch_and(~defined, std::memory_order_relaxed);
  if (const uint64_t set = mask & undefined)
    line.fetch_or(set, std::memory_order_relaxed);
}

void UndefinedMemory::change(uint64_t begin, uint64_t size, bool undefined) {
  for (const uint64_t end = begin + size; begin < end;) {
    const uint64_t pageEnd = std::min(end, (begin / kPage + 1) * kPage);
    if (pageEnd - begin == kPage) {
      if (undefined)
        replace(makeEntry(begin), &nothing_);
      else if (auto *entry = entryOf(begin); entry && entry->load(std::memory_order_relaxed))
        replace(*entry, nullptr);
      begin = pageEnd;
      continue;
    }
    if (!undefined && !pageOf(begin)) {
      begin = pageEnd;
      continue;
    }
    while (begin < pageEnd) {
      const uint64_t count = std::min(pageEnd, (begin / kLineBytes + 1) * kLineBytes) - begin;
      setInLine(begin, lowBits(count) << begin % kLineBytes, undefined ? ~0ull : 0, 0);
      begin += count;
    }
  }
}

void UndefinedMemory::undefine(uint64_t begin, uint64_t size) { change(begin, size, true); }
void UndefinedMemory::define(uint64_t begin, uint64_t size) { change(begin, size, false); }

void UndefinedMemory::copy(uint64_t to, uint64_t from, uint64_t size) {
  if (!anyIn(from, from + size))
    return define(to, size);
  const auto move = [&](uint64_t at) {
    const auto bytes = static_cast<unsigned>(std::min(kLineBytes, size - at));
    set(to + at, bytes, this->at(from + at, bytes), originAt(from + at));
  };
  if (to <= from)
    for (uint64_t at = 0; at < size; at += kLineBytes)
      move(at);
  else
    for (uint64_t at = (size - 1) / kLineBytes * kLineBytes + kLineBytes; at; at -= kLineBytes)
      move(at - kLineBytes);
}

bool UndefinedMemory::anyIn(uint64_t begin, uint64_t end) const {
  while (begin < end) {
    const uint64_t pageEnd = std::min(end, (begin / kPage + 1) * kPage);
    if (const Page *page = pageOf(begin); page == &nothing_) {
      return true;
    } else if (page) {
      const uint64_t first = begin % kPage / kLineBytes, last = (pageEnd - 1) % kPage / kLineBytes;
      for (uint64_t n = first; n <= last; ++n) {
        uint64_t line = page->lines[n].load(std::memory_order_relaxed);
        if (n == first)
          line &= ~0ull << begin % kLineBytes;
        if (n == last)
          line &= lowBits((pageEnd - 1) % kLineBytes + 1);
        if (line)
          return true;
      }
    }
    begin = pageEnd;
  }
  return false;
}

uint64_t UndefinedMemory::at(uint64_t address, unsigned bytes) const {
  const auto line = [&](uint64_t where) {
    const Page *page = pageOf(where);
    return page ? page->lines[where % kPage / kLineBytes].load(std::memory_order_relaxed) : 0;
  };
  const unsigned shift = address % kLineBytes;
  uint64_t found = line(address) >> shift;
  if (shift + bytes > kLineBytes)
    found |= line(address + kLineBytes) << (kLineBytes - shift);
  return found & lowBits(bytes);
}

void UndefinedMemory::set(uint64_t address, unsigned bytes, uint64_t undefined, uint32_t origin) {
  const unsigned shift = address % kLineBytes;
  setInLine(address, lowBits(bytes) << shift, undefined << shift, origin);
  if (shift + bytes > kLineBytes)
    setInLine(address + kLineBytes, lowBits(bytes) >> (kLineBytes - shift), undefined >> (kLineBytes - shift), origin);
}

uint32_t UndefinedMemory::originAt(uint64_t address) const {
  const Page *page = pageOf(address);
  return page ? page->origins[address % kPage / kLineBytes].load(std::memory_order_relaxed) : 0;
}

void UndefinedBytes::reset(uint64_t size) {
  size_ = size;
  lines_.assign(size / 64 + 2, ~0ull);
  origins_.assign(size / 64 + 2, 0);
}

bool UndefinedBytes::anyIn(uint64_t begin, uint64_t end) const {
  end = std::min(end, size_);
  if (begin >= end)
    return false;
  const uint64_t first = begin / 64, last = (end - 1) / 64;
  for (uint64_t n = first; n <= last; ++n) {
    uint64_t line = lines_[n];
    if (n == first)
      line &= ~0ull << begin % 64;
    if (n == last)
      line &= lowBits((end - 1) % 64 + 1);
    if (line)
      return true;
  }
  return false;
}

uint64_t UndefinedBytes::at(uint64_t offset, unsigned bytes) const {
  if (offset >= size_ || bytes > size_ - offset)
    return 0;
  const unsigned shift = offset % 64;
  uint64_t found = lines_[offset / 64] >> shift;
  if (shift + bytes > 64)
    found |= lines_[offset / 64 + 1] << (64 - shift);
  return found & lowBits(bytes);
}

void UndefinedBytes::set(uint64_t offset, unsigned bytes, uint64_t undefined, uint32_t origin) {
  if (offset >= size_ || bytes > size_ - offset)
    return;
  const auto put = [&](uint64_t n, uint64_t mask, uint64_t value) { lines_[n] = (lines_[n] & ~mask) | (value & mask); };
  const unsigned shift = offset % 64;
  put(offset / 64, lowBits(bytes) << shift, undefined << shift);
  if (shift + bytes > 64)
    put(offset / 64 + 1, lowBits(bytes) >> (64 - shift), undefined >> (64 - shift));
}

} // namespace luthier::vgpu
