// Wrappers in ROCr's tables, without ROCr: the tables are made here.
#include "hsa/wrapped_tables.h"
#include "rocr_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace luthier::hsa::test {
namespace {

using testing::HasSubstr;

hsa_status_t rocrs() { return HSA_STATUS_SUCCESS; }
hsa_status_t rocrsOther() { return HSA_STATUS_INFO_BREAK; }
hsa_status_t ours() { return HSA_STATUS_ERROR; }
hsa_status_t anotherTools() { return HSA_STATUS_ERROR_INVALID_ARGUMENT; }

void *ourWrapper() { return reinterpret_cast<void *>(ours); }

class WrappedTablesTest : public testing::Test {
protected:
  WrappedTablesTest() {
    core_.hsa_init_fn = rocrs;
    core_.hsa_shut_down_fn = rocrsOther;
    tables_.wrappers().set<ApiId::hsa_init>(ours);
  }
  auto originalInit() const { return original_.get<ApiId::hsa_init>(); }

  RocrTables rocr_{kReleases[0]};
  HsaApiTable &table_ = *rocr_.root();
  CoreApiTable &core_ = *table_.core_;
  ApiFunctions original_;
  WrappedTables tables_{original_};
};

TEST_F(WrappedTablesTest, WrappersGoInAndOut) {
  ASSERT_TRUE(tables_.install(&table_));
  EXPECT_TRUE(tables_.installed());
  EXPECT_EQ(core_.hsa_init_fn, ours);
  EXPECT_EQ(core_.hsa_shut_down_fn, rocrsOther); // it has no wrapper
  EXPECT_EQ(originalInit(), rocrs);
  tables_.uninstall();
  EXPECT_FALSE(tables_.installed());
  EXPECT_EQ(core_.hsa_init_fn, rocrs);
  EXPECT_EQ(originalInit(), rocrs); // threads may be on their way
  tables_.uninstall();
}

TEST_F(WrappedTablesTest, WhatRocrDoesNotHaveIsLeftOut) {
  core_.hsa_init_fn = nullptr;
  ASSERT_TRUE(tables_.install(&table_));
  EXPECT_EQ(core_.hsa_init_fn, nullptr);
  EXPECT_EQ(originalInit(), nullptr);
}

TEST_F(WrappedTablesTest, GivenTwice) {
  ASSERT_TRUE(tables_.install(&table_));
  ASSERT_TRUE(tables_.install(&table_));
  EXPECT_EQ(originalInit(), rocrs); // and not our own wrapper
}

TEST_F(WrappedTablesTest, ToolsThatCameLaterStay) {
  ASSERT_TRUE(tables_.install(&table_));
  core_.hsa_init_fn = anotherTools;
  ASSERT_TRUE(tables_.install(&table_));
  EXPECT_EQ(core_.hsa_init_fn, anotherTools);
  EXPECT_EQ(originalInit(), rocrs);
  tables_.uninstall();
  EXPECT_EQ(core_.hsa_init_fn, anotherTools);
}

TEST_F(WrappedTablesTest, ToolsThatCameEarlierAreCalled) {
  core_.hsa_init_fn = anotherTools;
  ASSERT_TRUE(tables_.install(&table_));
  EXPECT_EQ(originalInit(), anotherTools);
}

TEST_F(WrappedTablesTest, WrongTablesAreErrors) {
  EXPECT_THAT(tables_.install(nullptr).error().message(), HasSubstr("missing"));
  for (const uint32_t major : {0u, 4u, 99u}) {
    table_.version.major_id = major;
    EXPECT_THAT(tables_.install(&table_).error().message(), HasSubstr("version " + std::to_string(major)));
  }
  table_.version.major_id = 1;
  rocr_.amdVersion().minor_id -= 8;
  EXPECT_THAT(tables_.install(&table_).error().message(), HasSubstr("AmdExtTable has 47 functions"));
  AmdExtTable *amd = std::exchange(table_.amd_ext_, nullptr);
  EXPECT_THAT(tables_.install(&table_).error().message(), HasSubstr("missing"));
  table_.amd_ext_ = amd;
  EXPECT_FALSE(tables_.installed());
  EXPECT_EQ(core_.hsa_init_fn, rocrs);
}

// One build for all: what is at a place depends on the release, and what is behind all known places is left alone.
TEST(WrappedTables, OfEveryRelease) {
  struct {
    ApiId id;
    int in5, in55, in6; ///< place in AmdExtTable of 48, 51, and 55 or more functions; -1: not there
  } amd[] = {{ApiId::hsa_amd_memory_async_copy, 15, 15, 15},
             {ApiId::hsa_amd_queue_set_priority, 37, 37, 39},
             {ApiId::hsa_amd_queue_cu_get_mask, 47, 50, 52},
             {ApiId::hsa_amd_queue_get_info, -1, -1, 68},
             {ApiId::hsa_amd_signal_wait_all, -1, -1, 71}};
  for (const Release &release : kReleases) {
    SCOPED_TRACE(release.name);
    RocrTables rocr(release);
    ApiFunctions original;
    WrappedTables tables(original);
    for (const auto &one : amd)
      tables.wrappers()[one.id] = ourWrapper();
    tables.wrappers()[ApiId::hsa_queue_create] = ourWrapper();
    tables.wrappers()[ApiId::hsa_ext_sampler_create_v2] = ourWrapper();
    ASSERT_TRUE(tables.install(rocr.root()));
    for (const auto &[id, in5, in55, in6] : amd) {
      const int place = release.amd == 48 ? in5 : release.amd == 51 ? in55 : in6;
      if (place < 0 || place >= static_cast<int>(release.amd)) {
        EXPECT_EQ(original[id], nullptr) << apiName(id);
        continue;
      }
      EXPECT_EQ(rocr.amd()[place], ourWrapper()) << apiName(id);
      EXPECT_EQ(original[id], &rocr.amd()[place]) << apiName(id);
    }
    const auto wrapped = [](void **table, size_t count) { return std::count(table, table + count, ourWrapper()); };
    EXPECT_EQ(wrapped(rocr.core(), release.core), 1);
    EXPECT_EQ(wrapped(rocr.amd(), release.amd), release.amd >= 72 ? 5 : release.amd >= 70 ? 4 : 3);
    EXPECT_EQ(wrapped(rocr.image(), release.image), release.image >= 14 ? 1 : 0);
    tables.uninstall();
    EXPECT_EQ(wrapped(rocr.core(), release.core) + wrapped(rocr.amd(), release.amd), 0);
  }
}

// Luthier needs nothing of images: one whose table is not known is not refused for it.
TEST(WrappedTables, UnknownTableOfImagesStaysAsItIs) {
  RocrTables rocr(kReleases[7]);
  rocr.imageVersion().major_id = 5;
  ApiFunctions original;
  WrappedTables tables(original);
  tables.wrappers()[ApiId::hsa_ext_sampler_create_v2] = tables.wrappers()[ApiId::hsa_init] = ourWrapper();
  ASSERT_TRUE(tables.install(rocr.root()));
  EXPECT_EQ(rocr.image()[13], &rocr.image()[13]);
  EXPECT_EQ(rocr.core()[0], ourWrapper());
}

TEST_F(WrappedTablesTest, LoadersExtensionIsWrappedAsFarAsItGoes) {
  const auto function = [](const void *, const void **) { return HSA_STATUS_SUCCESS; };
  const auto wrapper = [](const void *, const void **) { return HSA_STATUS_ERROR; };
  original_.set<ApiId::hsa_ven_amd_loader_query_host_address>(function);
  tables_.wrappers().set<ApiId::hsa_ven_amd_loader_query_host_address>(wrapper);
  struct {
    hsa_ven_amd_loader_1_03_pfn_t known = {};
    void *behind = ourWrapper(); ///< as a later version may have
  } loader;
  loader.known.hsa_ven_amd_loader_query_host_address = function;
  tables_.wrapLoader(&loader, 0);
  EXPECT_EQ(loader.known.hsa_ven_amd_loader_query_host_address, +function);
  tables_.wrapLoader(&loader, sizeof loader);
  EXPECT_EQ(loader.known.hsa_ven_amd_loader_query_host_address, +wrapper);
  EXPECT_EQ(loader.behind, ourWrapper());
}

} // namespace
} // namespace luthier::hsa::test
