#include "memcheck/hooks/range_table.h"

#include <algorithm>
#include <atomic>

namespace luthier::memcheck {

using memory_check::Range;
using memory_check::Table;

bool RangeTable::allows(uint64_t address) const {
  const auto has = [address](const Range &range) { return address >= range.begin && address < range.end; };
  return std::ranges::any_of(allowed_, has) || std::ranges::any_of(passing_, has);
}

void RangeTable::allowForNow(uint64_t address, uint64_t begin, uint64_t end) {
  constexpr uint64_t kPage = PageGuards::kPageSize;
  for (const Allocations::Range &range : allocations_.ranges())
    if (range.begin > address)
      end = std::min(end, range.begin / kPage * kPage);
    else
      begin = std::max(begin, (range.end + kPage - 1) / kPage * kPage);
  if (begin <= address && address < end)
    passing_.push_back({begin, end, 0});
}

bool RangeTable::refresh() {
  std::vector<Range> all;
  for (const Allocations::Range &range : allocations_.ranges())
    all.push_back({range.begin, range.end, range.mayBeKernarg});
  const auto isTaken = [&](const Range &range) {
    // Registered memory may overlap, so that ends are not in order; but it was never the runtime's.
    // away.
    const auto behind = std::ranges::lower_bound(all, range.end, {}, &Range::begin);
    return behind != all.begin() && std::prev(behind)->end > range.begin;
  };
  std::erase_if(allowed_, isTaken);
  std::erase_if(passing_, isTaken);
  all.insert(all.end(), allowed_.begin(), allowed_.end());
  all.insert(all.end(), passing_.begin(), passing_.end());
  std::ranges::sort(all, {}, &Range::begin);
  const std::atomic_ref<uint64_t> current(shared_.current);
  Table &table = shared_.tables[current.load() == reinterpret_cast<uint64_t>(&shared_.tables[0])];
  uint64_t count = 0;
  bool whole = true;
  for (const Range &range : all)
    if (count && range.begin < table.ranges[count - 1].end) { // registered memory may overlap
      table.ranges[count - 1].end = std::max(table.ranges[count - 1].end, range.end);
      table.ranges[count - 1].arguments |= range.arguments;
    } else if (count < memory_check::kMostRanges) {
      table.ranges[count++] = range;
    } else {
      whole = false;
    }
  // What was there before must not be found by a hint.
  std::fill(table.ranges + count, table.ranges + std::max(count, table.count), Range{});
  table.count = count;
  current.store(reinterpret_cast<uint64_t>(&table), std::memory_order_release);
  return whole;
}

} // namespace luthier::memcheck
