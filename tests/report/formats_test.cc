// Formats with launches and code: HTML, the database, the trace.

#include "report/places.h"
#include "report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sqlite3.h>

#include <map>
#include <string_view>

namespace luthier::report {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char *kName = "ns::operator+(float*, </script>)"; // as nasty as names are

Cell number(std::string text) { return {std::move(text), true}; }

Results results() {
  KernelCode code;
  code.lines = {{"/no/such/file.hip", 12}};
  code.functions = {{kName,
                     "_Zx",
                     4096,
                     {{0, "s_nop 0", 0, 1}, {4, "v_add_u32 v0, v0, v1", 0, 1}, {12, "s_endpgm", 1, 0}},
                     {{0, {1, 0}}, {2, {}}}},
                    {"callee()", "_Z6calleev", 8192, {{0, "s_setpc_b64 s[30:31]", 0, 0}}, {{0, {}}}}};
  Results all;
  KernelAccount kernel;
  kernel.id = 1;
  kernel.name = kName;
  kernel.symbol = "_Zx";
  kernel.digest = "0123456789abcdef";
  kernel.instrumented = true;
  kernel.launches = 3;
  kernel.launchesInstrumented = kernel.launchesTimed = 2;
  kernel.nanoseconds = 500;
  kernel.sitesAsked = 4;
  kernel.sitesPlaced = 1;
  kernel.rejected = {{"no register is free", 3}};
  kernel.rejectedSites = {{std::string(kName) + " +4: v_add_u32 v0, v0, v1", "no register is free"}};
  KernelAccount left;
  left.id = 2;
  left.name = "fill";
  left.skipped = kLeftOut;
  left.launches = 1;
  all.account = {{kernel, left}, 7, 0.5, {"a message"}};
  const Cell named{kName, false, 1};
  all.tables = {{"instr_count",
                 {"kernel", "instruction", "instructions"},
                 {{named, {std::string(kName) + " +4: v_add_u32 v0, v0, v1"}, number("18446744073709551615")},
                  {named, {"callee() +0x0"}, number("9")},
                  {named, {"callee() +4"}, number("1.5")}}},
                {"Kernel_ID", {"kernel_id", "KERNEL_ID"}, {{{"x"}, {"y"}}}}};
  all.details.process = {42, "node", "3", {"./app", "--size"}};
  all.details.launches = {{1, 1, 5, 0, {64, 1, 1}, {64, 1, 1}, 1000, 1300, true},
                          {1, 2, 5, 0, {64, 1, 1}, {64, 1, 1}, 1100, 1500, true},
                          {2, 1, 6, 0, {64, 1, 1}, {64, 1, 1}, 0, 0, false}};
  all.details.copies = {{"hsa_amd_memory_async_copy", 4096, 900}};
  all.details.code[1] = std::make_shared<const KernelCode>(std::move(code));
  return all;
}

TEST(Places, AreThoseOfTheKernelsCode) {
  const Results all = results();
  const auto of = [&](size_t row) { return placeOf(all.tables[0].rows[row], all.details); };
  ASSERT_TRUE(of(0));
  EXPECT_EQ(of(0)->function, 0u);
  EXPECT_EQ(of(0)->offset, 4u);
  ASSERT_TRUE(of(1));
  EXPECT_EQ(of(1)->function, 1u);
  EXPECT_FALSE(of(2)) << "there is no instruction";
  EXPECT_FALSE(placeOf(all.tables[1].rows[0], all.details)) << "no kernel is named";
}

json dataOf(const std::string &html) {
  constexpr std::string_view kBegin = "<script id=\"data\" type=\"application/json\">";
  const size_t begin = html.find(kBegin) + kBegin.size();
  return json::parse(html.substr(begin, html.find("</script>", begin) - begin), nullptr, false);
}

TEST(Html, TheDataIsInThePage) {
  const std::string html = toHtml(results());
  EXPECT_THAT(html, testing::StartsWith("<!doctype html>"));
  EXPECT_THAT(html, testing::EndsWith("</html>\n"));
  std::string text = html;
  constexpr std::string_view kNamespace = "http://www.w3.org/2000/svg"; // a name, which nothing loads
  ASSERT_NE(text.find(kNamespace), text.npos);
  text.erase(text.find(kNamespace), kNamespace.size());
  for (const char *key : {"@STYLE@", "@DATA@", "@SCRIPT@", "http:", "https:", "src=", "@import", "url("})
    EXPECT_EQ(text.find(key), text.npos) << key << ": the page needs nothing but itself";
  const json data = dataOf(html);
  ASSERT_TRUE(data.is_object());
  EXPECT_EQ(data["version"], 1);
  EXPECT_EQ(data["process"]["rank"], "3");
  EXPECT_EQ(data["ids"], (json{1, 2}));
  EXPECT_EQ(data["account"]["kernels"][0]["name"], kName);
  const json &table = data["tools"][0];
  EXPECT_EQ(table["kernels"], (json{1, 1, 1}));
  EXPECT_EQ(table["places"], json::parse("[[0,4],[1,0],null]"));
  EXPECT_EQ(table["rows"][0][2], "18446744073709551615") << "no number of JavaScript's";
  EXPECT_EQ(table["rows"][1][2], 9);
  EXPECT_EQ(data["launches"]["rows"][1][4], 100) << "times count from the first launch";
  EXPECT_TRUE(data["launches"]["rows"][2][4].is_null());
  EXPECT_EQ(data["code"]["1"]["functions"][0]["instrs"][1], json::parse(R"([4,"v_add_u32 v0, v0, v1",0,1])"));
  EXPECT_EQ(data["code"]["1"]["functions"][0]["blocks"], json::parse("[[0,[1,0]],[2,[]]]"));
  EXPECT_EQ(data["code"]["1"]["lines"][0], json::parse("[0,12,null]"));
}

TEST(Html, NothingInItIsAnEmptyReport) {
  const json data = dataOf(toHtml({}));
  ASSERT_TRUE(data.is_object());
  EXPECT_TRUE(data["tools"].empty());
}

/// The fields of a message, in their order: varints as numbers, everything else as bytes.
struct Field {
  uint64_t number = 0, value = 0;
  std::string bytes;
};
std::vector<Field> fieldsOf(std::string_view text) {
  std::vector<Field> fields;
  const auto varint = [&] {
    uint64_t value = 0;
    for (unsigned shift = 0; !text.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(text.front());
      text.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (!(byte & 0x80))
        break;
    }
    return value;
  };
  while (!text.empty()) {
    const uint64_t key = varint();
    Field &field = fields.emplace_back();
    field.number = key >> 3;
    EXPECT_TRUE((key & 7) == 0 || (key & 7) == 2) << key;
    const uint64_t value = varint();
    if ((key & 7) == 0)
      field.value = value;
    else {
      EXPECT_LE(value, text.size());
      field.bytes = text.substr(0, value);
      text.remove_prefix(std::min<size_t>(value, text.size()));
    }
  }
  return fields;
}
std::map<uint64_t, Field> byNumber(std::string_view text) {
  std::map<uint64_t, Field> fields;
  for (const Field &field : fieldsOf(text))
    fields[field.number] = field;
  return fields;
}

TEST(Pftrace, LaunchesAreSlicesThatNest) {
  std::map<uint64_t, std::vector<std::pair<uint64_t, uint64_t>>> byTrack; // time, type
  std::map<uint64_t, std::string> tracks;
  std::vector<std::string> names;
  for (const Field &each : fieldsOf(toPftrace(results()))) {
    ASSERT_EQ(each.number, 1u); // TracePacket
    auto packet = byNumber(each.bytes);
    EXPECT_EQ(packet[10].value, 1u); // trusted_packet_sequence_id
    if (packet.contains(60)) {
      auto track = byNumber(packet[60].bytes);
      tracks[track[1].value] = track[2].bytes;
      continue;
    }
    auto event = byNumber(packet[11].bytes);
    byTrack[event[11].value].push_back({packet[8].value, event[9].value});
    if (event.contains(23))
      names.push_back(event[23].bytes);
  }
  EXPECT_THAT(names, ElementsAre(kName, kName, "hsa_amd_memory_async_copy"));
  using Events = std::vector<std::pair<uint64_t, uint64_t>>;
  EXPECT_EQ(byTrack[2], (Events{{900, 3}}));
  // They overlap: each has a track of its own.
  EXPECT_EQ(byTrack[3], (Events{{1000, 1}, {1300, 2}}));
  EXPECT_EQ(byTrack[4], (Events{{1100, 1}, {1500, 2}}));
  EXPECT_EQ(tracks[3], "GPU 0 queue 5");
  EXPECT_EQ(tracks[4], "GPU 0 queue 5");
  EXPECT_EQ(tracks.size(), 4u);
}

class DatabaseTest : public testing::Test {
protected:
  void SetUp() override {
    const auto bytes = toDatabase(results());
    ASSERT_TRUE(bytes) << bytes.error().message();
    auto *copy = static_cast<unsigned char *>(sqlite3_malloc64(bytes->size()));
    std::copy(bytes->begin(), bytes->end(), copy);
    ASSERT_EQ(sqlite3_open(":memory:", &handle_), SQLITE_OK);
    ASSERT_EQ(sqlite3_deserialize(handle_, "main", copy, static_cast<sqlite3_int64>(bytes->size()),
                                  static_cast<sqlite3_int64>(bytes->size()), SQLITE_DESERIALIZE_FREEONCLOSE),
              SQLITE_OK);
  }
  void TearDown() override { sqlite3_close(handle_); }

  /// Rows, their cells separated by '|'.
  std::vector<std::string> query(const std::string &text) {
    std::vector<std::string> rows;
    char *error = nullptr;
    sqlite3_exec(
        handle_, text.c_str(),
        [](void *all, int count, char **cells, char **) {
          std::string row;
          for (int n = 0; n < count; ++n)
            row += std::string(n ? "|" : "") + (cells[n] ? cells[n] : "NULL");
          static_cast<std::vector<std::string> *>(all)->push_back(row);
          return 0;
        },
        &rows, &error);
    EXPECT_EQ(error, nullptr) << text << ": " << error;
    sqlite3_free(error);
    return rows;
  }

  sqlite3 *handle_ = nullptr;
};

TEST_F(DatabaseTest, HasEverything) {
  EXPECT_THAT(query("PRAGMA integrity_check"), ElementsAre("ok"));
  EXPECT_THAT(query("PRAGMA foreign_key_check"), ElementsAre());
  EXPECT_THAT(query("SELECT value FROM metadata WHERE key = 'records_lost'"), ElementsAre("7"));
  EXPECT_THAT(query("SELECT pid, hostname, rank, command FROM processes"), ElementsAre("42|node|3|./app --size"));
  EXPECT_THAT(query("SELECT name, launch, duration, grid_x FROM kernels ORDER BY id"),
              ElementsAre(std::string(kName) + "|1|300|64", std::string(kName) + "|2|400|64", "fill|1|NULL|64"));
  EXPECT_THAT(query("SELECT instrumented, skipped, duration, vgprs_before FROM kernel_accounts ORDER BY id"),
              ElementsAre("1|NULL|500|0", "0|left out, as asked|0|NULL"));
  EXPECT_THAT(query("SELECT sum(sites) FROM rejected_sites"), ElementsAre("3")) << "with and without a place";
  EXPECT_THAT(query("SELECT name, size FROM memory_copies"), ElementsAre("hsa_amd_memory_async_copy|4096"));
  EXPECT_THAT(query("SELECT text FROM messages"), ElementsAre("a message"));
  EXPECT_THAT(query("SELECT from_block, to_block FROM edges ORDER BY 1, 2"), ElementsAre("0|0", "0|1"));
}

TEST_F(DatabaseTest, ToolsJoinTheCode) {
  EXPECT_THAT(query("SELECT i.text, t.instructions, typeof(t.instructions) FROM tool_instr_count t JOIN instructions i "
                    "USING (function_id, offset) ORDER BY 1"),
              ElementsAre("s_setpc_b64 s[30:31]|9|integer", "v_add_u32 v0, v0, v1|18446744073709551615|text"));
  EXPECT_THAT(query("SELECT instructions FROM tool_instr_count WHERE offset IS NULL"), ElementsAre("1.5"));
  EXPECT_THAT(query("SELECT \"kernel_id 2\", \"KERNEL_ID 3\" FROM tool_Kernel_ID"), ElementsAre("x|y"));
}

} // namespace
} // namespace luthier::report
