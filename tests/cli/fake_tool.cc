// A tool as the command sees it. FAKE_TOOL_THROWS and FAKE_TOOL_ENDS make it fail.
#include <luthier/abi.h>

#include <cstdlib>
#include <stdexcept>

extern "C" {
void fakeOption(const char *name, const char *type, const char *byDefault, const char *help);

[[gnu::visibility("default")]] extern const char luthierToolDescription[];
const char luthierToolDescription[] = "Pretends to count";

[[gnu::visibility("default")]] extern const luthier::ToolAbi luthierToolAbi;
const luthier::ToolAbi luthierToolAbi;

[[gnu::visibility("default")]] void *luthierCreateTool() {
  if (std::getenv("FAKE_TOOL_THROWS"))
    throw std::runtime_error("it was asked to");
  if (const char *how = std::getenv("FAKE_TOOL_ENDS"))
    how[0] == 'e' ? std::exit(0) : std::abort();
  fakeOption("per", "choice launch,block", "launch", "what a row is of");
  fakeOption("quiet", "flag", "no", "say nothing");
  fakeOption("slots", "number 1 64", "16", "how many");
  fakeOption("pc", "addresses", "", "where");
  fakeOption("file", "output-file", "fake.bin", "where to");
  fakeOption("title", "text", "", "a name");
  return nullptr;
}
}
