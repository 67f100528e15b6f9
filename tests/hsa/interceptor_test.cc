// Callbacks around HSA's functions, the loader extension, installing and uninstalling.
#include "fixture.h"
#include "hsa/callback_scope.h"

#include <atomic>
#include <thread>

namespace luthier::hsa::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class InterceptorTest : public HsaTest {
protected:
  static Interceptor &interceptor() { return Interceptor::instance(); }
};

TEST_F(InterceptorTest, ArgumentsCanBeChanged) {
  auto subscription = interceptor().before<ApiId::hsa_signal_create>(
      [](hsa_signal_value_t &initial, uint32_t &, const hsa_agent_t *&, hsa_signal_t *&) { initial *= 2; });
  EXPECT_EQ(AppSignal(21).load(), 42);
  subscription.cancel();
  EXPECT_EQ(AppSignal(21).load(), 21);
}

TEST_F(InterceptorTest, ResultsCanBeChanged) {
  auto status = interceptor().after<ApiId::hsa_agent_get_info>(
      [](hsa_status_t &result, hsa_agent_t &, hsa_agent_info_t &attribute, void *&answer) {
        if (attribute == HSA_AGENT_INFO_NODE)
          *static_cast<uint32_t *>(answer) += 100;
        else
          result = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
      });
  uint32_t node = 0;
  EXPECT_EQ(hsa_agent_get_info(gpu().raw(), HSA_AGENT_INFO_NODE, &node), HSA_STATUS_SUCCESS);
  EXPECT_EQ(node, 101u);
  EXPECT_EQ(hsa_agent_get_info(gpu().raw(), HSA_AGENT_INFO_QUEUES_MAX, &node), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  // Luthier's own calls do not pass here.
  EXPECT_EQ(value(gpu().node()), 1u);
}

TEST_F(InterceptorTest, FunctionsWithoutAStatus) {
  const AppSignal signal(1);
  std::vector<std::string> order;
  auto before = interceptor().before<ApiId::hsa_signal_store_relaxed>([&](hsa_signal_t &, hsa_signal_value_t &stored) {
    order.push_back("before");
    stored += 1;
  });
  auto after =
      interceptor().after<ApiId::hsa_signal_store_relaxed>([&](hsa_signal_t &given, hsa_signal_value_t &stored) {
        order.push_back("after");
        EXPECT_EQ(stored, 11);
        EXPECT_EQ(Signal(given).load(), 11);
      });
  auto loaded = interceptor().after<ApiId::hsa_signal_load_relaxed>(
      [](hsa_signal_value_t &result, hsa_signal_t &) { result = -result; });
  hsa_signal_store_relaxed(signal, 10);
  EXPECT_THAT(order, ElementsAre("before", "after"));
  EXPECT_EQ(hsa_signal_load_relaxed(signal), -11);
}

TEST_F(InterceptorTest, EveryCallIsRecorded) {
  std::vector<CallRecord> records;
  auto subscription = calls::every().subscribe([&](const CallRecord &record) { records.push_back(record); });
  const AppSignal signal(5);
  uint32_t node = 0;
  hsa_agent_get_info(gpu().raw(), HSA_AGENT_INFO_NODE, &node);
  EXPECT_EQ(hsa_agent_get_info({0}, HSA_AGENT_INFO_NODE, &node), HSA_STATUS_ERROR_INVALID_AGENT);
  signal.store(3);
  EXPECT_EQ(signal.load(), 3);
  subscription.cancel();
  ASSERT_EQ(records.size(), 5u);
  EXPECT_EQ(records[0].id, ApiId::hsa_signal_create);
  EXPECT_THAT(records[0].arguments, HasSubstr("initial_value=5, num_consumers=0, consumers=null, signal=0x"));
  EXPECT_EQ(records[1].result, "HSA_STATUS_SUCCESS");
  EXPECT_EQ(records[2].result, "HSA_STATUS_ERROR_INVALID_AGENT");
  EXPECT_THAT(records[2].arguments, HasSubstr("agent=0x0, attribute=16"));
  EXPECT_EQ(records[3].id, ApiId::hsa_signal_store_screlease);
  EXPECT_EQ(records[3].result, "");
  EXPECT_EQ(records[4].result, "3");
  for (const CallRecord &record : records)
    EXPECT_LE(record.begin, record.end);
}

TEST_F(InterceptorTest, CallsOfCallbacksAreNotReported) {
  int calls = 0;
  auto subscription = interceptor().before<ApiId::hsa_agent_get_info>([&](auto &&...) {
    ++calls;
    uint32_t node = 0;
    EXPECT_EQ(hsa_agent_get_info(gpu().raw(), HSA_AGENT_INFO_NODE, &node), HSA_STATUS_SUCCESS);
    EXPECT_TRUE(CallbackScope::inside());
  });
  uint32_t node = 0;
  EXPECT_EQ(hsa_agent_get_info(gpu().raw(), HSA_AGENT_INFO_NODE, &node), HSA_STATUS_SUCCESS);
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(CallbackScope::inside());
}

TEST_F(InterceptorTest, LoaderExtensionIsWrapped) {
  int queries = 0;
  auto subscription = interceptor().after<ApiId::hsa_ven_amd_loader_query_host_address>(
      [&](hsa_status_t &status, const void *&, const void **&) {
        ++queries;
        status = HSA_STATUS_INFO_BREAK;
      });
  const void *host = nullptr;
  hsa_ven_amd_loader_1_03_pfn_t table = {};
  ASSERT_EQ(hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER, 1, sizeof table, &table),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(table.hsa_ven_amd_loader_query_host_address(this, &host), HSA_STATUS_INFO_BREAK);
  ASSERT_NE(table.hsa_ven_amd_loader_iterate_executables, nullptr);
  EXPECT_NE(table.hsa_ven_amd_loader_iterate_executables, original<ApiId::hsa_ven_amd_loader_iterate_executables>());
  // Of an older version: only its own entries are written.
  struct {
    hsa_ven_amd_loader_1_00_pfn_t table = {};
    uint64_t behind = 0x5555;
  } small;
  ASSERT_EQ(hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER, 1, sizeof small.table, &small.table),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(small.table.hsa_ven_amd_loader_query_host_address(this, &host), HSA_STATUS_INFO_BREAK);
  EXPECT_EQ(small.behind, 0x5555u);
  EXPECT_EQ(queries, 2);
  EXPECT_EQ(hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER, 77, sizeof table, &table), HSA_STATUS_ERROR);
}

TEST_F(InterceptorTest, DeprecatedWayToTheLoaderExtension) {
  int queries = 0;
  auto subscription = interceptor().before<ApiId::hsa_ven_amd_loader_query_executable>([&](auto &&...) { ++queries; });
  hsa_ven_amd_loader_1_01_pfn_t table = {};
  ASSERT_EQ(hsa_system_get_extension_table(HSA_EXTENSION_AMD_LOADER, 1, 0, &table), HSA_STATUS_SUCCESS);
  hsa_executable_t executable = {};
  EXPECT_EQ(table.hsa_ven_amd_loader_query_executable(this, &executable), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(queries, 1);
}

TEST_F(InterceptorTest, TableMayComeTwice) {
  int calls = 0;
  auto subscription = interceptor().before<ApiId::hsa_agent_get_info>([&](auto &&...) { ++calls; });
  succeed(interceptor().install(receivedTable()));
  uint32_t node = 0;
  EXPECT_EQ(hsa_agent_get_info(gpu().raw(), HSA_AGENT_INFO_NODE, &node), HSA_STATUS_SUCCESS);
  EXPECT_EQ(calls, 1);
}

// Another tool that came later, and then the table once more.
decltype(&hsa_agent_get_info) beneath = nullptr;
int otherCalls = 0;

TEST_F(InterceptorTest, TableMayComeTwiceWithAnotherToolOnTop) {
  auto &entry = receivedTable()->core_->hsa_agent_get_info_fn;
  beneath = entry;
  otherCalls = 0;
  entry = [](hsa_agent_t agent, hsa_agent_info_t attribute, void *answer) {
    ++otherCalls;
    return otherCalls < 10 ? beneath(agent, attribute, answer) : HSA_STATUS_ERROR;
  };
  int calls = 0;
  auto subscription = interceptor().before<ApiId::hsa_agent_get_info>([&](auto &&...) { ++calls; });
  succeed(interceptor().install(receivedTable()));
  uint32_t node = 0;
  EXPECT_EQ(hsa_agent_get_info(gpu().raw(), HSA_AGENT_INFO_NODE, &node), HSA_STATUS_SUCCESS);
  EXPECT_EQ(otherCalls, 1);
  EXPECT_EQ(calls, 1);
  entry = beneath;
}

TEST_F(InterceptorTest, WrongTablesAreErrors) {
  EXPECT_THAT(errorOf(interceptor().install(nullptr)), HasSubstr("missing"));
  HsaApiTable other = *receivedTable();
  other.version.major_id = 99;
  EXPECT_THAT(errorOf(interceptor().install(&other)), HasSubstr("version 99"));
  other = *receivedTable();
  other.core_ = nullptr;
  EXPECT_THAT(errorOf(interceptor().install(&other)), HasSubstr("missing"));
  EXPECT_TRUE(interceptor().installed());
}

TEST_F(InterceptorTest, UninstallPutsBackWhatWasThere) {
  HsaApiTable *table = receivedTable();
  int calls = 0;
  auto subscription = interceptor().before<ApiId::hsa_agent_get_info>([&](auto &&...) { ++calls; });
  const Agent agent = gpu();
  interceptor().uninstall();
  interceptor().uninstall();
  EXPECT_FALSE(interceptor().installed());
  EXPECT_EQ(table->core_->hsa_agent_get_info_fn, original<ApiId::hsa_agent_get_info>());
  EXPECT_EQ(table->core_->hsa_signal_store_screlease_fn, original<ApiId::hsa_signal_store_screlease>());
  // The first of its table in every ROCr.
  EXPECT_EQ(table->amd_ext_->hsa_amd_coherency_get_type_fn, original<ApiId::hsa_amd_coherency_get_type>());
  uint32_t node = 0;
  EXPECT_EQ(hsa_agent_get_info(agent.raw(), HSA_AGENT_INFO_NODE, &node), HSA_STATUS_SUCCESS);
  EXPECT_EQ(calls, 0);
  succeed(interceptor().install(table));
  EXPECT_EQ(hsa_agent_get_info(agent.raw(), HSA_AGENT_INFO_NODE, &node), HSA_STATUS_SUCCESS);
  EXPECT_EQ(calls, 1);
}

// A queue from before goes on, as does one created after.
TEST_F(InterceptorTest, QueuesWorkAfterReinstallation) {
  std::atomic<int> shown = 0;
  auto subscription = interceptor().packets().subscribe([&](PacketBatch &) { ++shown; });
  HsaApiTable *table = receivedTable();
  interceptor().uninstall();
  succeed(interceptor().install(table));
  AppQueue queue(gpu(), 64);
  const AppSignal done(1);
  queue.submit(barrier({}, done));
  ASSERT_TRUE(done.waitFor(0));
  EXPECT_EQ(shown, 1);
}

TEST_F(InterceptorTest, SubscriptionsComeAndGoWhileCallsAreMade) {
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> seen = 0;
  std::vector<std::thread> callers;
  const Agent agent = gpu();
  for (int n = 0; n < 3; ++n)
    callers.emplace_back([&] {
      uint32_t node = 0;
      while (!stop)
        EXPECT_EQ(hsa_agent_get_info(agent.raw(), HSA_AGENT_INFO_NODE, &node), HSA_STATUS_SUCCESS);
    });
  for (int n = 0; n < 200; ++n) {
    auto one = interceptor().before<ApiId::hsa_agent_get_info>([&](auto &&...) { ++seen; });
    auto two = interceptor().after<ApiId::hsa_agent_get_info>([&](auto &&...) { ++seen; });
    const uint64_t before = seen;
    while (seen == before)
      std::this_thread::yield();
  }
  stop = true;
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_GE(seen, 200u);
}

} // namespace
} // namespace luthier::hsa::test
