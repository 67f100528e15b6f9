#include "fixture.h"

#include <unordered_set>

namespace luthier::hsa::test {
namespace {

using testing::HasSubstr;

class AgentTest : public HsaTest {};

TEST_F(AgentTest, EveryAgentIsACpuOrAGpu) {
  const auto all = value(Agent::all()), cpus = value(Agent::cpus()), gpus = value(Agent::gpus());
  EXPECT_EQ(gpus.size(), 1u);
  EXPECT_GE(cpus.size(), 1u);
  EXPECT_EQ(all.size(), cpus.size() + gpus.size());
  EXPECT_TRUE(value(gpus[0].isGpu()));
  EXPECT_FALSE(value(cpus[0].isGpu()));
  EXPECT_EQ(value(cpus[0].deviceType()), HSA_DEVICE_TYPE_CPU);
}

TEST_F(AgentTest, ValuesCompareAndHash) {
  const auto all = value(Agent::all());
  const Agent copy = all[0];
  EXPECT_EQ(copy, all[0]);
  EXPECT_NE(all[0], all[1]);
  EXPECT_TRUE((all[0] < all[1]) != (all[1] < all[0]));
  const std::unordered_set<Agent> set(all.begin(), all.end());
  EXPECT_EQ(set.size(), all.size());
  EXPECT_TRUE(set.contains(copy));
  EXPECT_TRUE(static_cast<bool>(copy));
  EXPECT_FALSE(static_cast<bool>(Agent()));
  EXPECT_EQ(sizeof(Agent), sizeof(hsa_agent_t) + (lifetime::kChecked ? sizeof(uint64_t) : 0));
}

TEST_F(AgentTest, GpuSaysWhatTheTopologyHas) {
  EXPECT_EQ(value(gpu().name()), "gfx90a");
  EXPECT_EQ(value(gpu().vendor()), "AMD");
  EXPECT_EQ(value(gpu().profile()), HSA_PROFILE_BASE);
  EXPECT_EQ(value(gpu().waveSize()), 64u);
  EXPECT_EQ(value(gpu().computeUnits()), 104u);
  EXPECT_EQ(value(gpu().simdsPerComputeUnit()), 4u);
  EXPECT_GT(value(gpu().maxWavesPerComputeUnit()), 4u);
  EXPECT_EQ(value(gpu().maxWorkgroupSize()), 1024u);
  EXPECT_EQ(value(gpu().maxWorkgroup())[0], 1024u);
  EXPECT_GE(value(gpu().maxGrid()).y, 65535u); // that of ROCr 7; UINT32_MAX before
  EXPECT_EQ(value(gpu().node()), 1u);
}

TEST_F(AgentTest, CpuIsNoGpu) {
  EXPECT_EQ(value(cpu().vendor()), "CPU");
  EXPECT_EQ(value(cpu().waveSize()), 0u);
  EXPECT_EQ(value(cpu().node()), 0u);
  EXPECT_TRUE(value(cpu().isas()).empty());
  EXPECT_THAT(errorOf(cpu().isa()), HasSubstr("has no ISA"));
  EXPECT_THAT(errorOf(cpu().target()), HasSubstr("has no ISA"));
}

TEST_F(AgentTest, ErrorsCarryRocrsText) {
  const Result<std::string> name = Agent().name();
  ASSERT_FALSE(name);
  EXPECT_EQ(name.error().code(), HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(name.error().message(), "hsa_agent_get_info: HSA_STATUS_ERROR_INVALID_AGENT: The agent is invalid.");
  EXPECT_THAT(errorOf(Agent().isas()), HasSubstr("hsa_agent_iterate_isas: HSA_STATUS_ERROR_INVALID_AGENT"));
  EXPECT_THAT(errorOf(Agent().memoryPools()), HasSubstr("HSA_STATUS_ERROR_INVALID_AGENT"));
}

TEST_F(AgentTest, IsaLeadsToTheTarget) {
  const Isa isa = value(gpu().isa());
  EXPECT_EQ(value(isa.name()), "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-");
  EXPECT_EQ(value(isa.targetId()), "gfx90a:sramecc+:xnack-");
  const luthier::isa::Target *target = value(isa.target());
  EXPECT_EQ(target->name, "gfx90a");
  EXPECT_EQ(value(gpu().target()), target);
  EXPECT_EQ(value(isa.maxWorkgroupSize()), 1024u);
  EXPECT_EQ(value(isa.maxWorkgroup())[2], 1024u);
  EXPECT_GE(value(isa.maxGrid()).x, uint32_t(INT32_MAX)); // that of ROCr 7; UINT32_MAX before
}

TEST_F(AgentTest, NoIsaIsAnError) { EXPECT_THAT(errorOf(Isa().name()), HasSubstr("HSA_STATUS_ERROR_INVALID_ISA")); }

} // namespace
} // namespace luthier::hsa::test
