#include "report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace luthier::report {
namespace {

using nlohmann::json;
using testing::HasSubstr;

Cell number(std::string text) { return {std::move(text), true}; }

Table counts() {
  return {"instr_count",
          {"kernel", "launch", "instructions"},
          {{{"saxpy(float*)"}, number("1"), number("18446744073709551615")}, {{"k"}, number("12"), number("7")}}};
}

Account account() {
  KernelAccount done;
  done.name = "saxpy(float*)";
  done.symbol = "_Z5saxpyPf";
  done.object = "file:///tmp/a.out#offset=1";
  done.instrumented = true;
  done.sitesAsked = 12;
  done.sitesPlaced = 9;
  done.rejected = {{"inside a clause", 2}};
  done.sgprsBefore = 16;
  done.sgprsAfter = 24;
  done.vgprsBefore = done.vgprsAfter = 8;
  done.scratchBefore = 0;
  done.scratchAfter = 64;
  done.wavesBefore = done.wavesAfter = 8;
  done.codeBefore = 400;
  done.codeAfter = 900;
  done.seconds = 0.0125;
  done.launches = 5;
  done.launchesInstrumented = 4;
  done.launchesTimed = 4;
  done.nanoseconds = 1'500'000;
  KernelAccount left;
  left.name = "other()";
  left.skipped = "its code cannot be decoded";
  left.sitesAsked = 3;
  left.launches = 2;
  return {{done, left}, 17, 0.25, {"no profile of gfx1030"}};
}

TEST(Text, TablesAreAligned) {
  EXPECT_THAT(toText({counts()}, {}), testing::StartsWith("instr_count:\n"
                                                          "kernel         launch          instructions\n"
                                                          "saxpy(float*)       1  18446744073709551615\n"
                                                          "k                  12                     7\n"
                                                          "\n"
                                                          "kernels: 0 seen, 0 instrumented, 0 skipped\n"));
}

TEST(Text, ALongNameDoesNotWidenItsColumn) {
  const std::string name(100, 'x');
  const Table table{"t", {"kernel", "n"}, {{{name}, number("1")}, {{"k"}, number("22")}}};
  EXPECT_THAT(toText({table}, {}), testing::StartsWith("t:\n"
                                                       "kernel   n\n" +
                                                       name + "\n" +
                                                       "         1\n"
                                                       "k       22\n"));
}

TEST(Text, ALongNameIsNotRepeated) {
  const std::string name(100, 'x'), other(100, 'y');
  const Table table{"t",
                    {"kernel", "n"},
                    {{{name}, number("1")},
                     {{name}, number("22")},
                     {{other}, number("3")},
                     {{"k"}, number("4")},
                     {{"k"}, number("5")}}};
  EXPECT_THAT(toText({table}, {}), testing::StartsWith("t:\n"
                                                       "kernel   n\n" +
                                                       name + "\n" +
                                                       "         1\n"
                                                       "        22\n" +
                                                       other + "\n" +
                                                       "         3\n"
                                                       "k        4\n"
                                                       "k        5\n"));
}

TEST(Text, CellsStayOnTheirLine) {
  const Table table{"t", {"a", "b"}, {{{"x\ny\x1b"}, {"\xc3\xa4"}}, {{""}, {"b"}}}};
  EXPECT_THAT(toText({table}, {}), testing::StartsWith("t:\n"
                                                       "a         b\n"
                                                       "x\\ny\\x1b  \xc3\xa4\n"
                                                       "          b\n"));
}

TEST(Text, Account) {
  EXPECT_EQ(
      toText({}, account()),
      "kernels: 2 seen, 1 instrumented, 1 skipped\n"
      "  1 x its code cannot be decoded\n"
      "sites: 15 asked, 9 placed, 6 rejected\n"
      "  2 x inside a clause\n"
      "  3 x kernel skipped: its code cannot be decoded\n"
      "  1 x no reason given\n"
      "launches: 4 instrumented, 3 not\n"
      "records lost: 17\n"
      "time spent instrumenting: 0.250 s\n"
      "note: no profile of gfx1030\n"
      "\n"
      "kernel         launches  GPU ms    sites     SGPRs  VGPRs  scratch bytes  waves/SIMD  code bytes  rewrite ms\n"
      "saxpy(float*)    4 of 5   1.500  9 of 12  16 -> 24      8        0 -> 64           8  400 -> 900        12.5\n"
      "\n"
      "kernel   launches  not instrumented because\n"
      "other()         2  its code cannot be decoded\n");
}

// There may be hundreds of them, and the user knows.
TEST(Text, WhatTheUserLeftOutIsOnlyCounted) {
  Account all = account();
  for (unsigned n = 0; n < 200; ++n) {
    KernelAccount &kernel = all.kernels.emplace_back();
    kernel.name = "unwanted()";
    kernel.skipped = kLeftOut;
    kernel.launches = 1;
  }
  const std::string text = toText({}, all);
  EXPECT_THAT(text, testing::HasSubstr("kernels: 202 seen, 1 instrumented, 201 skipped\n"
                                       "  1 x its code cannot be decoded\n"
                                       "  200 x left out, as asked\n"));
  EXPECT_THAT(text, testing::HasSubstr("launches: 4 instrumented, 203 not\n"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("unwanted")));
  EXPECT_THAT(text, testing::EndsWith("other()         2  its code cannot be decoded\n"));
  EXPECT_EQ(json::parse(toJson({}, all))["account"]["kernels"].size(), 202u);
}

TEST(Csv, OneTableIsPlain) {
  EXPECT_EQ(toCsv({counts()}), "kernel,launch,instructions\n"
                               "saxpy(float*),1,18446744073709551615\n"
                               "k,12,7\n");
}

TEST(Csv, Quoting) {
  const Table table{"t", {"a,b", "c"}, {{{"say \"x\""}, {"two\nlines"}}, {{""}, {""}}, {{" x"}, number("-1.5")}}};
  EXPECT_EQ(toCsv({table}), "\"a,b\",c\n"
                            "\"say \"\"x\"\"\",\"two\nlines\"\n"
                            "\"\",\n"
                            "\" x\",-1.5\n");
}

TEST(Csv, SeveralTablesHaveTitles) {
  EXPECT_EQ(toCsv({{"one", {"a"}, {{number("1")}}}, {"two", {"b"}, {}}}), "# one\na\n1\n\n# two\nb\n");
  EXPECT_EQ(toCsv({}), "");
}

TEST(Csv, RowsOfOtherLengthsLoseNothing) {
  EXPECT_EQ(toCsv({{"t", {"a"}, {{number("1"), number("2")}, {number("3")}}}}), "a,column 2\n1,2\n3,\n");
}

TEST(Json, NumbersAreExact) {
  const Table table{
      "t",
      {"n"},
      {{number("18446744073709551615")}, {number("-9223372036854775808")}, {number("0.1")}, {number("nan")}, {{"12"}}}};
  const json rows = json::parse(toJson({table}, {}))["tools"][0]["rows"];
  EXPECT_EQ(rows[0]["n"].get<uint64_t>(), UINT64_MAX);
  EXPECT_TRUE(rows[0]["n"].is_number_unsigned());
  EXPECT_EQ(rows[1]["n"].get<int64_t>(), INT64_MIN);
  EXPECT_EQ(rows[2]["n"].get<double>(), 0.1);
  EXPECT_EQ(rows[3]["n"], "nan");
  EXPECT_EQ(rows[4]["n"], "12") << "text that looks like a number stays text";
}

TEST(Json, ColumnsOfOneNameAreBothThere) {
  const json row = json::parse(toJson({{"t", {"a", "a"}, {{number("1"), number("2")}}}}, {}))["tools"][0]["rows"][0];
  EXPECT_EQ(row, (json{{"a", 1}, {"a 2", 2}}));
}

TEST(Json, Account) {
  const json all = json::parse(toJson({counts()}, account()));
  EXPECT_EQ(all["version"], 1);
  EXPECT_EQ(all["tools"][0]["tool"], "instr_count");
  EXPECT_EQ(all["tools"][0]["columns"], (json{"kernel", "launch", "instructions"}));
  const json &run = all["account"];
  EXPECT_EQ(run["kernels_seen"], 2);
  EXPECT_EQ(run["kernels_instrumented"], 1);
  EXPECT_EQ(run["kernels_skipped"], 1);
  EXPECT_EQ(run["skipped_because"], (json{{"its code cannot be decoded", 1}}));
  EXPECT_EQ(run["sites_asked"], 15);
  EXPECT_EQ(run["sites_placed"], 9);
  EXPECT_EQ(run["sites_rejected"], 6);
  EXPECT_EQ(run["rejected_because"],
            (json{{"inside a clause", 2}, {"no reason given", 1}, {"kernel skipped: its code cannot be decoded", 3}}));
  EXPECT_EQ(run["launches"], 7);
  EXPECT_EQ(run["launches_instrumented"], 4);
  EXPECT_EQ(run["launches_not_instrumented"], 3);
  EXPECT_EQ(run["records_lost"], 17);
  EXPECT_EQ(run["seconds"], 0.25);
  EXPECT_EQ(run["messages"], json{"no profile of gfx1030"});
  const json &kernel = run["kernels"][0];
  EXPECT_EQ(kernel["symbol"], "_Z5saxpyPf");
  EXPECT_EQ(kernel["sgprs"], (json{{"before", 16}, {"after", 24}}));
  EXPECT_EQ(kernel["scratch_bytes"], (json{{"before", 0}, {"after", 64}}));
  EXPECT_EQ(kernel["waves_per_simd"], (json{{"before", 8}, {"after", 8}}));
  EXPECT_EQ(kernel["code_bytes"], (json{{"before", 400}, {"after", 900}}));
  EXPECT_EQ(kernel["seconds"], 0.0125);
  EXPECT_FALSE(kernel.contains("skipped"));
  EXPECT_EQ(run["kernels"][1]["skipped"], "its code cannot be decoded");
}

TEST(Json, BytesThatAreNoTextAreReplaced) {
  const json all = json::parse(toJson({{"t", {"a"}, {{{"x\xff"}}}}}, {}));
  EXPECT_EQ(all["tools"][0]["rows"][0]["a"], "x\xef\xbf\xbd");
}

TEST(WriteFile, Whole) {
  std::string pattern = (std::filesystem::temp_directory_path() / "luthier-test-XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(pattern.data());
  ASSERT_TRUE(writeFile(folder / "r.csv", "a\n"));
  std::ifstream file(folder / "r.csv");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "a\n");
  EXPECT_THAT(writeFile(folder / "no/r.csv", "a\n").error().message(), HasSubstr("no/r.csv"));
  std::filesystem::remove_all(folder);
}

} // namespace
} // namespace luthier::report
