#include "cli/check_account.h"

#include "temp_folder.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace luthier::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CheckAccount, NamesWhatHasNoHooks) {
  const TempFolder records;
  std::ofstream(records.path() / "1.account") << R"({"account": {"kernels": [
    {"name": "whole", "instrumented": true, "sites_asked": 4, "sites_rejected": {}, "launches": 2, "launches_instrumented": 2},
    {"name": "partly", "instrumented": true, "sites_asked": 4, "sites_rejected": {"no registers": 3}, "launches": 1, "launches_instrumented": 1},
    {"name": "large", "instrumented": true, "sites_asked": 4, "sites_rejected": {}, "launches": 5, "launches_instrumented": 2},
    {"name": "unknown", "instrumented": false, "skipped": "its code object is not known", "sites_asked": 0, "sites_rejected": {}, "launches": 1, "launches_instrumented": 0},
    {"name": "refused", "instrumented": false, "skipped": "the file is odd", "sites_asked": 2, "sites_rejected": {"the file is odd": 2}, "launches": 1, "launches_instrumented": 0},
    {"name": "without memory", "instrumented": false, "skipped": "its launches are only observed", "sites_asked": 0, "sites_rejected": {}, "launches": 1, "launches_instrumented": 0}]}})";
  std::ofstream(records.path() / "findings") << "not an account";
  EXPECT_THAT(notInstrumented(records.path()), ElementsAre("large: 3 of its 5 launches, which ran without hooks",
                                                           "partly: 3 of its 4 accesses to memory: no registers",
                                                           "refused: 2 of its 2 accesses to memory: the file is odd",
                                                           "unknown: its code object is not known"));
}

TEST(CheckAccount, NamesProcessesThatHaveLeftNone) {
  const TempFolder records;
  EXPECT_THAT(notInstrumented(records.path()), IsEmpty()); // where the virtual GPU checks
  std::ofstream(records.path() / "7.account") << "{";
  EXPECT_THAT(notInstrumented(records.path()), ElementsAre("process 7: it has left no account of its kernels"));
}

} // namespace
} // namespace luthier::cli
