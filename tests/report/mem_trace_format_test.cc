#include "luthier/mem_trace_format.h"

#include <gtest/gtest.h>

#include <random>

namespace luthier::mem_trace {
namespace {

std::span<const uint8_t> bytesOf(const std::string &text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

std::string described() {
  return Writer::header() + Writer::kernel({.number = 1, .name = "f(int*)", .symbol = "_Z1fPi"}) +
         Writer::site({.number = 7,
                       .kernel = 1,
                       .access = Access::Store,
                       .space = 3,
                       .second = true,
                       .bytes = 16,
                       .pc = (2ull << 48) + 0x1234,
                       .text = "global_store_dwordx4 v0, v[2:5], s[0:1]"});
}

void expectSame(const Record &read, const Record &written) {
  EXPECT_EQ(read.site, written.site);
  EXPECT_EQ(read.launch, written.launch);
  ASSERT_EQ(read.lanes, written.lanes);
  for (unsigned lane = 0; lane < 64; ++lane)
    if (written.lanes >> lane & 1)
      EXPECT_EQ(read.addresses[lane], written.addresses[lane]) << "lane " << lane;
}

TEST(MemTraceFormat, KeepsEverything) {
  std::mt19937_64 random(1);
  std::vector<Record> records;
  const uint64_t masks[] = {~0ull, 0xffff'ffff, 1, 0, 1ull << 63, 0x8000'0000'0000'0001, 0xaaaa'aaaa'aaaa'aaaa};
  for (unsigned n = 0; n < 2000; ++n) {
    Record record{.site = 7, .launch = random() % 5};
    record.lanes = n % 8 < 7 ? masks[n % 8] : random();
    const uint64_t base = random(), stride = n % 3 ? random() % 64 - 32 : random();
    for (unsigned lane = 0; lane < 64; ++lane)
      record.addresses[lane] = n % 5 ? base + stride * lane : random() >> (n % 64);
    records.push_back(record);
  }
  std::string file = described();
  Writer writer;
  for (size_t n = 0; n < records.size(); ++n) {
    writer.add(records[n]);
    if (n % 100 == 99)
      file += writer.takeAccesses();
  }
  EXPECT_EQ(writer.takeAccesses(), "");
  file += Writer::totals({.records = records.size(), .lost = 3, .final = true});

  Reader reader(bytesOf(file));
  Record record;
  for (const Record &expected : records) {
    ASSERT_TRUE(reader.next(record)) << reader.error();
    expectSame(record, expected);
  }
  EXPECT_FALSE(reader.next(record));
  EXPECT_EQ(reader.error(), "");
  EXPECT_FALSE(reader.cut());
  EXPECT_EQ(reader.totals().records, records.size());
  EXPECT_EQ(reader.totals().lost, 3u);
  EXPECT_EQ(reader.kernels().at(1).symbol, "_Z1fPi");
  const Site &site = reader.sites().at(7);
  EXPECT_EQ(site.access, Access::Store);
  EXPECT_EQ(site.space, 3);
  EXPECT_TRUE(site.second);
  EXPECT_EQ(site.bytes, 16u);
  EXPECT_EQ(site.pc, (2ull << 48) + 0x1234);
  EXPECT_EQ(site.text, "global_store_dwordx4 v0, v[2:5], s[0:1]");
}

TEST(MemTraceFormat, NeighboursTakeFewBytes) {
  Writer writer;
  for (unsigned n = 0; n < 1000; ++n) {
    Record record{.site = 7, .launch = 3, .lanes = ~0ull};
    for (unsigned lane = 0; lane < 64; ++lane)
      record.addresses[lane] = 0x7f12'3456'0000 + 256 * n + 4 * lane;
    writer.add(record);
  }
  EXPECT_LE(writer.pendingBytes(), 1000u * 6 + 8);
}

TEST(MemTraceFormat, EveryCutIsSeen) {
  std::string file = described();
  Writer writer;
  Record record{.site = 7, .launch = 1, .lanes = 0xf0f0};
  for (unsigned n = 0; n < 3; ++n)
    writer.add(record);
  file += writer.takeAccesses() + Writer::totals({.records = 3, .final = true});
  for (size_t size = 0; size < file.size(); ++size) {
    const std::string part = file.substr(0, size);
    Reader reader(bytesOf(part));
    unsigned records = 0;
    while (reader.next(record))
      ++records;
    EXPECT_TRUE(records == 0 || records == 3);
    EXPECT_EQ(reader.error().empty(), size >= kHeaderBytes) << size;
    EXPECT_TRUE(reader.cut()) << size;
  }
}

TEST(MemTraceFormat, DamageIsHarmless) {
  std::string file = described();
  Writer writer;
  for (unsigned n = 0; n < 20; ++n) {
    Record record{.site = 7, .launch = n, .lanes = 0x1234567890ull * n};
    for (unsigned lane = 0; lane < 64; ++lane)
      record.addresses[lane] = lane * lane * n;
    writer.add(record);
  }
  file += writer.takeAccesses() + Writer::totals({.records = 20, .final = true});
  std::mt19937 random(2);
  unsigned errors = 0;
  for (unsigned n = 0; n < 5000; ++n) {
    std::string damaged = file;
    for (unsigned flips = 0; flips <= n % 3; ++flips)
      damaged[random() % damaged.size()] ^= static_cast<char>(1 + random() % 255);
    Reader reader(bytesOf(damaged));
    Record record;
    size_t records = 0;
    while (reader.next(record))
      ASSERT_LE(++records, damaged.size());
    errors += !reader.error().empty();
  }
  EXPECT_GT(errors, 1000u);
}

TEST(MemTraceFormat, SaysWhatIsWrong) {
  const std::string other = "not a trace at all";
  EXPECT_EQ(Reader(bytesOf(other)).error(), "this is no trace of mem_trace");
  std::string later = described();
  later[8] = 9;
  EXPECT_EQ(Reader(bytesOf(later)).error(), "the trace has version 9; 1 can be read");
  Writer writer;
  writer.add({.site = 8});
  const std::string unknown = described() + writer.takeAccesses();
  Reader reader(bytesOf(unknown));
  Record record;
  EXPECT_FALSE(reader.next(record));
  EXPECT_TRUE(reader.error().starts_with("a record is of a site that is not described")) << reader.error();
}

} // namespace
} // namespace luthier::mem_trace
