// What is told of loaded code, and when, and the loader's extension as applications get it; without ROCr.
#include "fake_rocr.h"
#include "hsa/code_loading.h"
#include "hsa/loader_extension.h"
#include "hsa/table_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace luthier::hsa::test {
namespace {

using testing::ElementsAre;

constexpr hsa_executable_t kExecutable = {0x11};
constexpr hsa_loaded_code_object_t kLoaded = {0x22};
constexpr uint64_t kBase = 0x10000, kSize = 0x100;
const std::byte kFile[16] = {};
hsa_status_t freezeStatus = HSA_STATUS_SUCCESS;

class CodeLoadingTest : public testing::Test {
protected:
  CodeLoadingTest() {
    freezeStatus = HSA_STATUS_SUCCESS;
    rocr.provide<ApiId::hsa_executable_load_agent_code_object>([](auto...) { return HSA_STATUS_SUCCESS; });
    rocr.provide<ApiId::hsa_executable_freeze>([](auto...) { return freezeStatus; });
    rocr.provide<ApiId::hsa_executable_destroy>([](auto...) { return HSA_STATUS_SUCCESS; });
    rocr.provide<ApiId::hsa_ven_amd_loader_executable_iterate_loaded_code_objects>(
        [](hsa_executable_t executable, auto visit, void *data) { return visit(executable, kLoaded, data); });
    rocr.provide<ApiId::hsa_ven_amd_loader_loaded_code_object_get_info>(
        [](hsa_loaded_code_object_t, hsa_ven_amd_loader_loaded_code_object_info_t attribute, void *value) {
          const auto answer = [&](auto what) { memcpy(value, &what, sizeof what); };
          switch (attribute) {
          case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT:
            answer(FakeRocr::kGpu);
            break;
          case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE:
            answer(reinterpret_cast<uint64_t>(kFile));
            break;
          case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE:
            answer(uint64_t(sizeof kFile));
            break;
          case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE:
          case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA:
            answer(kBase);
            break;
          case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE:
            answer(kSize);
            break;
          case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI_LENGTH:
            answer(uint32_t(4));
            break;
          case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI:
            memcpy(value, "file", 4);
            break;
          default:
            return HSA_STATUS_ERROR_INVALID_ARGUMENT;
          }
          return HSA_STATUS_SUCCESS;
        });
    subscriptions.push_back(
        events.codeLoaded.subscribe([this](const SharedCode &one) { told.push_back("loaded " + one->uri()); }));
    subscriptions.push_back(events.executableFrozen.subscribe([this](hsa_executable_t) { told.push_back("frozen"); }));
    subscriptions.push_back(events.executableDestroyed.subscribe([this](hsa_executable_t executable) {
      told.push_back("goes, with " + std::to_string(code.of(executable).size()));
    }));
  }

  FakeRocr rocr;
  Events events;
  CodeCapture code{events};
  Linker linker{events, code};
  CodeLoading loading{events, code, linker};
  std::vector<std::string> told;
  std::vector<Subscription> subscriptions;
};

TEST_F(CodeLoadingTest, LifeOfLoadedCode) {
  EXPECT_EQ(rocr.app<ApiId::hsa_executable_load_agent_code_object>()(kExecutable, FakeRocr::kGpu, {}, nullptr, nullptr),
            HSA_STATUS_SUCCESS);
  const SharedCode found = code.find(kBase + kSize - 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->agent().handle, FakeRocr::kGpu.handle);
  EXPECT_EQ(code.find(kBase + kSize), nullptr);
  EXPECT_EQ(rocr.app<ApiId::hsa_executable_freeze>()(kExecutable, nullptr), HSA_STATUS_SUCCESS);
  EXPECT_EQ(rocr.app<ApiId::hsa_executable_destroy>()(kExecutable), HSA_STATUS_SUCCESS);
  EXPECT_EQ(code.find(kBase), nullptr);
  EXPECT_THAT(told, ElementsAre("loaded file", "frozen", "goes, with 1"));
  EXPECT_EQ(found->storage().size(), sizeof kFile); // who holds it goes on reading it
}

// By a function that Luthier does not replace.
TEST_F(CodeLoadingTest, CodeThatWasLoadedInAnotherWayIsFoundWhenItIsFrozen) {
  EXPECT_EQ(rocr.app<ApiId::hsa_executable_freeze>()(kExecutable, nullptr), HSA_STATUS_SUCCESS);
  EXPECT_THAT(told, ElementsAre("loaded file", "frozen"));
}

TEST_F(CodeLoadingTest, WhatRocrDoesNotFreezeIsNotTold) {
  freezeStatus = HSA_STATUS_ERROR_FROZEN_EXECUTABLE;
  EXPECT_EQ(rocr.app<ApiId::hsa_executable_freeze>()(kExecutable, nullptr), HSA_STATUS_ERROR_FROZEN_EXECUTABLE);
  EXPECT_THAT(told, ElementsAre("loaded file"));
}

TEST(LoaderExtensionTest, ApplicationsGetWrappers) {
  static int placeholders[16]; // stand for ROCr's functions
  FakeRocr rocr;
  WrappedTables tables(originalFunctions());
  tables.wrappers() = calls::wrappers();
  LoaderExtension loader(tables);
  rocr.provide<ApiId::hsa_system_get_major_extension_table>([](uint16_t, uint16_t, size_t bytes, void *table) {
    for (size_t n = 0; n < bytes / sizeof(void *); ++n)
      static_cast<void **>(table)[n] = &placeholders[n];
    return HSA_STATUS_SUCCESS;
  });
  loader.start();
  const std::vector<ApiId> layout = loaderLayout();
  EXPECT_EQ(originalFunctions()[layout[2]], &placeholders[2]);
  void *table[3] = {};
  const auto get = rocr.app<ApiId::hsa_system_get_major_extension_table>();
  EXPECT_EQ(get(HSA_EXTENSION_AMD_LOADER, 1, 2 * sizeof(void *), table), HSA_STATUS_SUCCESS);
  EXPECT_THAT(table, ElementsAre(tables.wrappers()[layout[0]], tables.wrappers()[layout[1]], nullptr));
  // Those of other extensions are not ours.
  EXPECT_EQ(get(HSA_EXTENSION_IMAGES, 1, sizeof table, table), HSA_STATUS_SUCCESS);
  EXPECT_EQ(table[0], &placeholders[0]);
}

} // namespace
} // namespace luthier::hsa::test
