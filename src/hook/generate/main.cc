// luthier-hook-handles: writes the typed handles of a file of hooks (hook/handles.h) when a tool is built. Called by
// luthier_add_tool (cmake/LuthierTool.cmake).
//
// All that is wrong with the hooks as such is an error here: who builds the tool sees it, not who runs it.

#include "hook/handles.h"
#include "support/file.h"

#include <fmt/format.h>

#include <filesystem>

namespace {

using luthier::Result;

Result<void> generate(const std::string &input, const std::string &origin, const std::string &header,
                      const std::string &source) {
  const std::string bitcode = LUTHIER_TRY(luthier::readFile(input));
  const auto bytes = std::as_bytes(std::span(bitcode));
  const auto module = LUTHIER_TRY(luthier::hook::HookModule::load(bytes, origin, /*cache=*/{}));
  LUTHIER_TRY(luthier::replaceFile(header, LUTHIER_TRY(luthier::hook::handlesHeader(*module))));
  if (!source.empty())
    LUTHIER_TRY(luthier::replaceFile(
        source, luthier::hook::handlesSource(*module, bytes, std::filesystem::path(header).filename().string())));
  return {};
}

} // namespace

int main(int argc, char **argv) {
  std::string input, header, source, origin;
  for (int n = 1; n < argc; ++n) {
    const std::string_view word = argv[n];
    std::string *value = word == "-o" ? &header : word == "--source" ? &source : word == "--origin" ? &origin : nullptr;
    if (value && n + 1 < argc)
      *value = argv[++n];
    else if (!value && input.empty() && !word.starts_with('-'))
      input = word;
    else
      input.clear(), n = argc;
  }
  if (input.empty() || header.empty()) {
    fmt::print(stderr, "usage: luthier-hook-handles HOOKS.bc -o NAME_hooks.h [--source NAME_hooks.cc] [--origin NAME]\n"
                       "Writes C++ handles of the hooks and variables in a file of hooks; --source: its bytes to link\n"
                       "into the tool; --origin: what messages call the file.\n");
    return 2;
  }
  if (origin.empty())
    origin = std::filesystem::path(input).filename().string();
  if (auto done = generate(input, origin, header, source); !done) {
    fmt::print(stderr, "error: {}\n", done.error().message());
    return 1;
  }
  return 0;
}
