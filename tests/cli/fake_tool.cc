// A tool as the command sees it. FAKE_TOOL_THROWS makes it fail.
#include <luthier/abi.h>

#include <cstdlib>
#include <stdexcept>

extern "C" {
void fakeOption(const char *name, const char *byDefault, const char *help);

[[gnu::visibility("default")]] extern const char luthierToolDescription[];
const char luthierToolDescription[] = "Pretends to count";

[[gnu::visibility("default")]] extern const luthier::ToolAbi luthierToolAbi;
const luthier::ToolAbi luthierToolAbi;

[[gnu::visibility("default")]] void *luthierCreateTool() {
  if (std::getenv("FAKE_TOOL_THROWS"))
    throw std::runtime_error("it was asked to");
  fakeOption("per", "launch", "what a row is of");
  fakeOption("quiet", "", "say nothing");
  return nullptr;
}
}
