// Wrappers in ROCr's tables, without ROCr: the tables are made here.
#include "hsa/wrapped_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace luthier::hsa::test {
namespace {

using testing::HasSubstr;

hsa_status_t rocrs() { return HSA_STATUS_SUCCESS; }
hsa_status_t rocrsOther() { return HSA_STATUS_INFO_BREAK; }
hsa_status_t ours() { return HSA_STATUS_ERROR; }
hsa_status_t anotherTools() { return HSA_STATUS_ERROR_INVALID_ARGUMENT; }

class WrappedTablesTest : public testing::Test {
protected:
  WrappedTablesTest() {
    table_.version = {HSA_API_TABLE_MAJOR_VERSION, sizeof table_, 0, 0};
    table_.core_ = &core_;
    table_.amd_ext_ = &amd_;
    core_.version = {HSA_CORE_API_TABLE_MAJOR_VERSION, sizeof core_, 0, 0};
    amd_.version = {HSA_AMD_EXT_API_TABLE_MAJOR_VERSION, sizeof amd_, 0, 0};
    core_.hsa_init_fn = rocrs;
    core_.hsa_shut_down_fn = rocrsOther;
    tables_.wrappers().core.hsa_init_fn = ours;
  }

  CoreApiTable core_ = {};
  AmdExtTable amd_ = {};
  HsaApiTable table_ = {};
  WrappedTables tables_;
};

TEST_F(WrappedTablesTest, WrappersGoInAndOut) {
  ASSERT_TRUE(tables_.install(&table_));
  EXPECT_TRUE(tables_.installed());
  EXPECT_EQ(core_.hsa_init_fn, ours);
  EXPECT_EQ(core_.hsa_shut_down_fn, rocrsOther); // it has no wrapper
  EXPECT_EQ(tables_.original().core.hsa_init_fn, rocrs);
  tables_.uninstall();
  EXPECT_FALSE(tables_.installed());
  EXPECT_EQ(core_.hsa_init_fn, rocrs);
  EXPECT_EQ(tables_.original().core.hsa_init_fn, rocrs); // threads may be on their way
  tables_.uninstall();
}

TEST_F(WrappedTablesTest, WhatRocrDoesNotHaveIsLeftOut) {
  core_.hsa_init_fn = nullptr;
  ASSERT_TRUE(tables_.install(&table_));
  EXPECT_EQ(core_.hsa_init_fn, nullptr);
  EXPECT_EQ(tables_.original().core.hsa_init_fn, nullptr);
}

// minor_id is the size of ROCr's table; what is behind it is not ROCr's.
TEST_F(WrappedTablesTest, OlderTablesAreShorter) {
  core_.version.minor_id = sizeof(ApiTableVersion);
  ASSERT_TRUE(tables_.install(&table_));
  EXPECT_EQ(core_.hsa_init_fn, rocrs);
  core_.version.minor_id = 0;
  ASSERT_TRUE(tables_.install(&table_));
  EXPECT_EQ(core_.hsa_init_fn, rocrs);
  table_.amd_ext_ = nullptr;
  core_.version.minor_id = sizeof core_;
  ASSERT_TRUE(tables_.install(&table_));
  EXPECT_EQ(core_.hsa_init_fn, ours);
}

TEST_F(WrappedTablesTest, GivenTwice) {
  ASSERT_TRUE(tables_.install(&table_));
  ASSERT_TRUE(tables_.install(&table_));
  EXPECT_EQ(tables_.original().core.hsa_init_fn, rocrs); // and not our own wrapper
}

TEST_F(WrappedTablesTest, ToolsThatCameLaterStay) {
  ASSERT_TRUE(tables_.install(&table_));
  core_.hsa_init_fn = anotherTools;
  ASSERT_TRUE(tables_.install(&table_));
  EXPECT_EQ(core_.hsa_init_fn, anotherTools);
  EXPECT_EQ(tables_.original().core.hsa_init_fn, rocrs);
  tables_.uninstall();
  EXPECT_EQ(core_.hsa_init_fn, anotherTools);
}

TEST_F(WrappedTablesTest, ToolsThatCameEarlierAreCalled) {
  core_.hsa_init_fn = anotherTools;
  ASSERT_TRUE(tables_.install(&table_));
  EXPECT_EQ(tables_.original().core.hsa_init_fn, anotherTools);
}

TEST_F(WrappedTablesTest, WrongTablesAreErrors) {
  EXPECT_THAT(tables_.install(nullptr).error().message(), HasSubstr("missing"));
  table_.version.major_id = 99;
  EXPECT_THAT(tables_.install(&table_).error().message(), HasSubstr("version 99"));
  EXPECT_FALSE(tables_.installed());
  EXPECT_EQ(core_.hsa_init_fn, rocrs);
}

TEST_F(WrappedTablesTest, LoadersExtensionIsWrappedAsFarAsItGoes) {
  const auto function = [](const void *, const void **) { return HSA_STATUS_SUCCESS; };
  const auto wrapper = [](const void *, const void **) { return HSA_STATUS_ERROR; };
  hsa_ven_amd_loader_1_03_pfn_t loader = {};
  tables_.original().loader.hsa_ven_amd_loader_query_host_address = function;
  tables_.wrappers().loader.hsa_ven_amd_loader_query_host_address = wrapper;
  loader.hsa_ven_amd_loader_query_host_address = function;
  tables_.wrapLoader(&loader, 0);
  EXPECT_EQ(loader.hsa_ven_amd_loader_query_host_address, +function);
  tables_.wrapLoader(&loader, sizeof loader);
  EXPECT_EQ(loader.hsa_ven_amd_loader_query_host_address, +wrapper);
}

} // namespace
} // namespace luthier::hsa::test
