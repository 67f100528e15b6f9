// Which bytes nobody has written: memory of the application, LDS and scratch, a bit per byte.
//
// Everything counts as written unless somebody says that it is not: what is not known of, and what the host can write
// unseen, is never called undefined. Memory of GPUs is kept by page in a table: no entry stands for a page that is
// written as a whole, one shared page of ones for one of which nothing is, so that large allocations cost a pointer per
// page until a kernel writes parts of them. LDS and scratch are small and belong to one thread: there it is an array.
//
// Undefined values that were stored bring a number along that says where they came from, for a line of 64 bytes each; 0
// says that nobody has written there.
//
// Kernels race with each other by mistake or by design, and their shadows with them. Words are changed atomically, so
// that neighbours in one word do no harm to each other; an order between a store and its shadow there is not.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace luthier::vgpu {

/// Memory of GPUs, by address.
class UndefinedMemory {
public:
  UndefinedMemory();
  ~UndefinedMemory();
  UndefinedMemory(const UndefinedMemory &) = delete;
  UndefinedMemory &operator=(const UndefinedMemory &) = delete;

  void undefine(uint64_t begin, uint64_t size);
  void define(uint64_t begin, uint64_t size);
  /// What `size` bytes at `from` are, those at `to` are now.
  void copy(uint64_t to, uint64_t from, uint64_t size);

  /// Whether any byte of [begin, end) is undefined.
  bool anyIn(uint64_t begin, uint64_t end) const;
  /// Bit n: byte `address` + n is undefined, of at most 64 bytes.
  uint64_t at(uint64_t address, unsigned bytes) const;
  void set(uint64_t address, unsigned bytes, uint64_t undefined, uint32_t origin = 0);
  uint32_t originAt(uint64_t address) const;

private:
  static constexpr unsigned kLevelBits = 12;
  static constexpr uint64_t kPage = 4096, kEntries = 1ull << kLevelBits, kLineBytes = 64, kLines = kPage / kLineBytes;

  struct Page {
    std::atomic<uint64_t> lines[kLines]; ///< a bit per byte
    std::atomic<uint32_t> origins[kLines];
  };
  struct Leaf {
    std::atomic<Page *> pages[kEntries];
  };
  struct Node {
    std::atomic<Leaf *> leaves[kEntries];
  };

  const Page *pageOf(uint64_t address) const;
  std::atomic<Page *> *entryOf(uint64_t address) const;
  std::atomic<Page *> &makeEntry(uint64_t address);
  Page *pageToWrite(std::atomic<Page *> &entry);
  void replace(std::atomic<Page *> &entry, Page *page);
  void change(uint64_t begin, uint64_t size, bool undefined);
  void setInLine(uint64_t address, uint64_t mask, uint64_t undefined, uint32_t origin);

  std::vector<std::atomic<Node *>> root_;
  Page nothing_; ///< of which no byte is written
  std::mutex mutex_;
  std::deque<Page *> unused_; ///< oldest first: whoever still had one in hand when it went has long let go of it
};

/// Memory that one thread at a time uses: `size` bytes, by offset. What is beyond counts as written.
class UndefinedBytes {
public:
  void reset(uint64_t size);
  uint64_t size() const { return size_; }

  bool anyIn(uint64_t begin, uint64_t end) const;
  uint64_t at(uint64_t offset, unsigned bytes) const;
  void set(uint64_t offset, unsigned bytes, uint64_t undefined, uint32_t origin = 0);
  uint32_t originAt(uint64_t offset) const { return offset < size_ ? origins_[offset / 64] : 0; }

private:
  uint64_t size_ = 0;
  std::vector<uint64_t> lines_; ///< a bit per byte, and one line more
  std::vector<uint32_t> origins_;
};

} // namespace luthier::vgpu
