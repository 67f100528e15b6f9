// What stands where in the tables of each ROCr, without ROCr.
#include "hsa/table_layout.h"
#include "rocr_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace luthier::hsa::test {
namespace {

using testing::HasSubstr;

ApiTableVersion version(uint32_t major, size_t functions) {
  return {major, static_cast<uint32_t>(sizeof(ApiTableVersion) + functions * sizeof(void *)), 0, 0};
}

/// -1 when the table does not have it.
int placeOf(ApiId id, ApiTable table, const ApiTableVersion &of) {
  const auto layout = layoutOf(table, of);
  EXPECT_TRUE(layout) << layout.error().message();
  const auto found = std::ranges::find(*layout, id);
  return found == layout->end() ? -1 : static_cast<int>(found - layout->begin());
}

class OfRelease : public testing::TestWithParam<Release> {};
INSTANTIATE_TEST_SUITE_P(Releases, OfRelease, testing::ValuesIn(kReleases), [](const auto &info) {
  std::string name = info.param.name;
  std::ranges::replace_if(name, [](char c) { return !isalnum(c); }, '_');
  return name;
});

TEST_P(OfRelease, EveryKnownTableIsUnderstood) {
  const auto [name, rootMajor, major, core, amd, image] = GetParam();
  EXPECT_EQ(layoutOf(ApiTable::core, version(major, core))->size(), 125u);
  EXPECT_EQ(layoutOf(ApiTable::amd, version(major, amd))->size(), std::min<size_t>(amd, 76));
  EXPECT_EQ(layoutOf(ApiTable::image, version(major, image))->size(), std::min<size_t>(image, 14));
}

TEST(TableLayout, EntriesAreFoundWhereTheReleaseHasThem) {
  constexpr uint32_t kFunctions = 69; // as ROCr 6.1 has, two of them in front of the one that is asked for
  struct {
    ApiTableVersion version;
    uintptr_t entries[kFunctions];
  } table{};
  table.version = version(2, kFunctions);
  for (uintptr_t n = 0; n < kFunctions; ++n)
    table.entries[n] = 1000 + n;
  EXPECT_EQ(entryOf(ApiTable::amd, table.version, ApiId::hsa_amd_pointer_info), reinterpret_cast<void *>(1028));
  EXPECT_EQ(entryOf(ApiTable::amd, table.version, ApiId::hsa_amd_enable_logging), nullptr);
  table.version.major_id = 9; // unknown
  EXPECT_EQ(entryOf(ApiTable::amd, table.version, ApiId::hsa_amd_pointer_info), nullptr);
}

// Places as the headers of each release have them: offsets into AmdExtTable, without its version.
TEST(TableLayout, PlacesOfFunctionsThatHaveMoved) {
  struct {
    ApiId id;
    int in523, in551, in571, in724;
  } moved[] = {
      {ApiId::hsa_amd_coherency_get_type, 0, 0, 0, 0},
      {ApiId::hsa_amd_memory_async_copy, 15, 15, 15, 15},
      {ApiId::hsa_amd_memory_async_copy_on_engine, -1, -1, 16, 16},
      {ApiId::hsa_amd_agent_memory_pool_get_info, 16, 16, 18, 18},
      {ApiId::hsa_amd_queue_intercept_register, 36, 36, 38, 38},
      {ApiId::hsa_amd_queue_set_priority, 37, 37, 39, 39},
      {ApiId::hsa_amd_spm_acquire, -1, 47, 49, 49},
      {ApiId::hsa_amd_queue_cu_get_mask, 47, 50, 52, 52},
      {ApiId::hsa_amd_portable_close_dmabuf, -1, -1, 54, 54},
      {ApiId::hsa_amd_queue_get_info, -1, -1, -1, 68},
      {ApiId::hsa_amd_signal_wait_all, -1, -1, -1, 71},
      {ApiId::hsa_amd_ais_file_read, -1, -1, -1, 75},
  };
  for (const auto &[id, in523, in551, in571, in724] : moved) {
    EXPECT_EQ(placeOf(id, ApiTable::amd, version(1, 48)), in523) << apiName(id);
    EXPECT_EQ(placeOf(id, ApiTable::amd, version(1, 51)), in551) << apiName(id);
    EXPECT_EQ(placeOf(id, ApiTable::amd, version(1, 55)), in571) << apiName(id);
    EXPECT_EQ(placeOf(id, ApiTable::amd, version(2, 76)), in724) << apiName(id);
    EXPECT_EQ(placeOf(id, ApiTable::amd, version(2, 1000)), in724) << apiName(id);
  }
}

// What the compiler knows of the installed headers is what the list says.
TEST(TableLayout, InstalledHeadersAgree) {
  const auto place = [](size_t offset) {
    return static_cast<int>((offset - sizeof(ApiTableVersion)) / sizeof(void *));
  };
  const ApiTableVersion amd = {HSA_AMD_EXT_API_TABLE_MAJOR_VERSION, sizeof(AmdExtTable), 0, 0};
  const ApiTableVersion core = {HSA_CORE_API_TABLE_MAJOR_VERSION, sizeof(CoreApiTable), 0, 0};
  EXPECT_EQ(placeOf(ApiId::hsa_amd_queue_cu_get_mask, ApiTable::amd, amd),
            place(offsetof(AmdExtTable, hsa_amd_queue_cu_get_mask_fn)));
  EXPECT_EQ(placeOf(ApiId::hsa_amd_queue_set_priority, ApiTable::amd, amd),
            place(offsetof(AmdExtTable, hsa_amd_queue_set_priority_fn)));
  EXPECT_EQ(placeOf(ApiId::hsa_signal_store_screlease, ApiTable::core, core),
            place(offsetof(CoreApiTable, hsa_signal_store_screlease_fn)));
}

TEST(TableLayout, UnknownOnesAreRefusedByName) {
  EXPECT_THAT(layoutOf(ApiTable::amd, version(3, 76)).error().message(), HasSubstr("AmdExtTable has version 3"));
  EXPECT_THAT(layoutOf(ApiTable::core, version(0, 125)).error().message(), HasSubstr("CoreApiTable has version 0"));
  // Between those of 5.2, 5.5 and 5.6, and shorter than all.
  for (const size_t functions : {0u, 1u, 47u, 49u, 50u, 52u, 54u})
    EXPECT_THAT(layoutOf(ApiTable::amd, version(1, functions)).error().message(),
                HasSubstr("AmdExtTable has " + std::to_string(functions) + " functions"));
  EXPECT_THAT(layoutOf(ApiTable::core, {1, 0, 0, 0}).error().message(), HasSubstr("CoreApiTable has 0 functions"));
}

} // namespace
} // namespace luthier::hsa::test
