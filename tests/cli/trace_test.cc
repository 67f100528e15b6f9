// `luthier trace dump`.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <luthier/property.h>

#include "luthier/mem_trace_format.h"
#include "run_luthier.h"
#include "support/access_sum.h"
#include "temp_folder.h"

namespace luthier::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

using mem_trace::Access;
using mem_trace::Record;
using mem_trace::Site;
using mem_trace::Writer;

std::string trace(bool end, uint64_t lost = 0) {
  std::string file = Writer::header() + Writer::kernel({1, "saxpy(float*, int)", "_Z5saxpyPfi"});
  const auto site = [](uint64_t number, Access access, MemorySpace space, uint32_t bytes, uint64_t pc,
                       const char *text) {
    Site result;
    result.number = number;
    result.kernel = 1;
    result.access = access;
    result.space = static_cast<uint8_t>(space);
    result.bytes = bytes;
    result.pc = pc;
    result.text = text;
    return Writer::site(result);
  };
  file += site(1, Access::Load, MemorySpace::Global, 4, 0x0002'0000'0000'1a40, "global_load_dword v1, v0, s[0:1]");
  file += site(2, Access::Store, MemorySpace::Lds, 8, 0x0002'0000'0000'1a48, "ds_write_b64 v0, v[2:3]");
  Writer writer;
  Record even;
  even.site = 1;
  even.launch = 7;
  even.lanes = 0xf;
  for (unsigned lane = 0; lane < 4; ++lane)
    even.addresses[lane] = 0x7f00'0000'1000 + 4 * lane;
  writer.add(even);
  Record uneven;
  uneven.site = 2;
  uneven.launch = 8;
  uneven.lanes = 0x8000'0000'0000'0005;
  uneven.addresses[0] = 16;
  uneven.addresses[2] = 8;
  uneven.addresses[63] = 1024;
  writer.add(uneven);
  file += writer.takeAccesses();
  return end ? file + Writer::totals({2, lost, true}) : file;
}

TEST(TraceDump, Csv) {
  TempFolder folder;
  const Outcome outcome = runLuthier("trace dump -f csv " + folder.write("t", trace(true)).string());
  EXPECT_EQ(outcome.exitCode, 0);
  EXPECT_EQ(outcome.output,
            "launch,kernel,object,pc,access,space,bytes,lanes,addresses,instruction\n"
            "7,\"saxpy(float*, int)\",2,0x1a40,load,global,4,0xf,0x7f0000001000 0x7f0000001004 0x7f0000001008 "
            "0x7f000000100c,\"global_load_dword v1, v0, s[0:1]\"\n"
            "8,\"saxpy(float*, int)\",2,0x1a48,store,lds,8,0x8000000000000005,0x10 0x8 0x400,\"ds_write_b64 v0, "
            "v[2:3]\"\n");
}

TEST(TraceSum, AddsUpPerLaunchAndInstruction) {
  TempFolder folder;
  const Outcome outcome = runLuthier("trace sum " + folder.write("t", trace(true)).string());
  EXPECT_EQ(outcome.exitCode, 0);
  AccessSum even, uneven;
  uint64_t addresses[64] = {};
  for (unsigned lane = 0; lane < 4; ++lane)
    addresses[lane] = 0x7f00'0000'1000 + 4 * lane;
  even.add(0xf, addresses);
  addresses[0] = 16;
  addresses[2] = 8;
  addresses[63] = 1024;
  uneven.add(0x8000'0000'0000'0005, addresses);
  EXPECT_EQ(
      outcome.output,
      fmt::format("launch,kernel,object,pc,access,space,bytes,second,executed,lanes,mask_sum,address_sum,instruction\n"
                  "7,_Z5saxpyPfi,2,0x1a40,load,global,4,0,1,4,{:#018x},{:#018x},\"global_load_dword v1, v0, s[0:1]\"\n"
                  "8,_Z5saxpyPfi,2,0x1a48,store,lds,8,0,1,3,{:#018x},{:#018x},\"ds_write_b64 v0, v[2:3]\"\n",
                  even.masks, even.addresses, uneven.masks, uneven.addresses));
}

TEST(TraceDump, Text) {
  TempFolder folder;
  EXPECT_EQ(runLuthier("trace dump " + folder.write("t", trace(true)).string()).output,
            "launch 7: saxpy(float*, int)\n"
            "      1a40  load   global    4 bytes  lanes 000000000000000f  7f0000001000, 4 apart  ; global_load_dword "
            "v1, v0, s[0:1]\n"
            "\n"
            "launch 8: saxpy(float*, int)\n"
            "      1a48  store  lds       8 bytes  lanes 8000000000000005  10 8 400  ; ds_write_b64 v0, v[2:3]\n"
            "\n"
            "2 records, 0 lost\n");
}

TEST(TraceDump, SaysWhatIsMissing) {
  TempFolder folder;
  const std::string cut = runLuthier("trace dump " + folder.write("t", trace(false)).string()).output;
  EXPECT_THAT(cut, HasSubstr("the end is missing"));
  EXPECT_THAT(cut, HasSubstr("launch 8"));
  EXPECT_THAT(runLuthier("trace dump -f csv " + folder.write("t", trace(true, 3)).string()).output,
              HasSubstr("3 records were lost"));
}

TEST(TraceDump, BadFiles) {
  TempFolder folder;
  const Outcome none = runLuthier("trace dump /no/such/file");
  EXPECT_EQ(none.exitCode, 1);
  EXPECT_THAT(none.output, StartsWith("luthier: error: cannot open /no/such/file"));
  for (const std::string &text : {std::string(), std::string("{}"), std::string(100, 'x')}) {
    const Outcome other = runLuthier("trace dump " + folder.write("t", text).string());
    EXPECT_EQ(other.exitCode, 1);
    EXPECT_THAT(other.output, HasSubstr("this is no trace of mem_trace"));
  }
  std::string bad = trace(true);
  bad.insert(mem_trace::kHeaderBytes, Writer::site({9, 5, Access::Load, 0, false, 4, 0, "x"}));
  const Outcome outcome = runLuthier("trace dump " + folder.write("t", bad).string());
  EXPECT_EQ(outcome.exitCode, 1);
  EXPECT_THAT(outcome.output, HasSubstr("a site belongs to a kernel that is not described"));
  EXPECT_EQ(runLuthier("trace").exitCode, 2);
  EXPECT_EQ(runLuthier("trace dump").exitCode, 2);
  EXPECT_EQ(runLuthier("trace dump -f json x").exitCode, 2);
}

} // namespace
} // namespace luthier::cli
