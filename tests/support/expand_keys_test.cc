#include "support/expand_keys.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace luthier {
namespace {

TEST(Keys, AreReplaced) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  setenv("LUTHIER_TEST_KEY", "7", 1);
  unsetenv("LUTHIER_TEST_NONE");
  EXPECT_EQ(*expandKeys("/r/%hostname%-%pid%.json"),
            std::string("/r/") + host + "-" + std::to_string(getpid()) + ".json");
  EXPECT_EQ(*expandKeys("rank%env{LUTHIER_TEST_KEY}%-%env{LUTHIER_TEST_NONE}%."), "rank7-.");
}

// The launcher's variable counts; SLURM's is inherited by what mpirun starts inside a job step.
TEST(Keys, RankIsTheLaunchers) {
  for (const char *name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    unsetenv(name);
  EXPECT_EQ(*expandKeys("r%rank%"), "r0");
  setenv("SLURM_PROCID", "12", 1);
  EXPECT_EQ(*expandKeys("r%rank%"), "r12");
  setenv("PMI_RANK", "", 1);
  EXPECT_EQ(*expandKeys("r%rank%"), "r12");
  setenv("PMIX_RANK", "4", 1);
  setenv("PMI_RANK", "5", 1);
  EXPECT_EQ(*expandKeys("r%rank%"), "r4");
  setenv("OMPI_COMM_WORLD_RANK", "../3", 1);
  EXPECT_EQ(*expandKeys("r%rank%"), "r4") << "a rank is a number";
  setenv("OMPI_COMM_WORLD_RANK", "3", 1);
  EXPECT_EQ(*expandKeys("r%rank%"), "r3");
  for (const char *name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    unsetenv(name);
}

TEST(Keys, OrdinaryPercentSigns) {
  for (const char *text : {"", "100%", "a%%b", "50% of 60%", "%", "%env{A"})
    EXPECT_EQ(*expandKeys(text), text);
  for (const char *text : {"%x%", "%PID%", "%env{}%", "%env{A B}%"})
    EXPECT_FALSE(expandKeys(text)) << text;
}

} // namespace
} // namespace luthier
