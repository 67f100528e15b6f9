// `luthier new NAME`: a tool to start from. It builds outside of Luthier's tree, against the installation that this
// program belongs to, runs at once, and has a test.
//
// The files are those of src/cli/new/, with @NAME@, @PREFIX@ and @LLVM@ replaced.

#include <algorithm>
#include <filesystem>
#include <iostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/launch.h"
#include "cli/options.h"
#include "support/file.h"
#include "support/log.h"

#define LUTHIER_TEMPLATE(symbol, file)                                                                                 \
  asm(".section .rodata\n" #symbol ":\n.incbin \"" LUTHIER_NEW_FILES "/" file "\"\n.byte 0\n.text\n.globl " #symbol    \
      "\n.hidden " #symbol "\n");                                                                                      \
  extern "C" const char symbol[]

LUTHIER_TEMPLATE(luthierNewBuild, "CMakeLists.txt.in");
LUTHIER_TEMPLATE(luthierNewHooks, "tool.hip.in");
LUTHIER_TEMPLATE(luthierNewTool, "tool.cc.in");
LUTHIER_TEMPLATE(luthierNewExample, "example.hip.in");
LUTHIER_TEMPLATE(luthierNewTest, "test.cmake.in");
LUTHIER_TEMPLATE(luthierNewReadme, "README.md.in");

namespace luthier::cli {

namespace {

namespace fs = std::filesystem;

std::string replaced(std::string text, std::string_view key, std::string_view value) {
  for (size_t at = 0; (at = text.find(key, at)) != std::string::npos; at += value.size())
    text.replace(at, key.size(), value);
  return text;
}

/// It becomes the name of a library, of CMake targets and of a C++ header.
std::string validName(const std::string &name) {
  const bool good = !name.empty() &&
                    std::ranges::all_of(name, [](unsigned char c) { return isalnum(c) || c == '_'; }) &&
                    !isdigit(static_cast<unsigned char>(name.front()));
  return good ? ""
              : fmt::format("'{}' cannot be the name of a tool: expected letters, digits and _, as in branch_bias",
                            name);
}

Result<void> create(const std::string &name, const fs::path &folder) {
  std::error_code failed;
  if (fs::exists(folder, failed))
    return makeError("{} exists already: choose another name, or another folder with -d", folder.string());
  if (fs::create_directories(folder, failed); failed)
    return makeErrorCode(failed.value(), "cannot make the folder {}: {}", folder.string(), failed.message());
  const fs::path prefix = LUTHIER_TRY(programFolder()).parent_path();
  const std::pair<std::string, const char *> files[] = {
      {"CMakeLists.txt", luthierNewBuild}, {name + ".hip", luthierNewHooks}, {name + ".cc", luthierNewTool},
      {"example.hip", luthierNewExample},  {"test.cmake", luthierNewTest},   {"README.md", luthierNewReadme}};
  for (const auto &[file, text] : files)
    LUTHIER_TRY(
        replaceFile(folder / file, replaced(replaced(replaced(text, "@NAME@", name), "@PREFIX@", prefix.string()),
                                            "@LLVM@", LUTHIER_LLVM)));
  std::cout << fmt::format("{} has a tool that counts basic blocks. Build, test and use it:\n"
                           "  cd {}\n"
                           "  cmake -S . -B build -DCMAKE_PREFIX_PATH={} -DCMAKE_CXX_COMPILER=clang++-{}\n"
                           "  cmake --build build && ctest --test-dir build --output-on-failure\n"
                           "  {}/bin/luthier run --tool build/lib{}.so -- ./your_program\n",
                           folder.string(), folder.string(), prefix.string(), LUTHIER_LLVM, prefix.string(), name);
  return {};
}

} // namespace

void addNewCommand(CLI::App &root, Invocation &invocation) {
  CLI::App *command = root.add_subcommand("new", "Write the skeleton of a tool, with its build and its test");
  auto name = std::make_shared<std::string>(), folder = std::make_shared<std::string>();
  command->add_option("NAME", *name, "Of the tool: letters, digits and _")->required()->type_name("")->check(validName);
  command->add_option("-d,--directory", *folder, "Where to (default: a new folder NAME)")
      ->type_name("DIR")
      ->check(notEmpty);
  command->callback([name, folder, &invocation] {
    const Result<void> done = create(*name, folder->empty() ? *name : *folder);
    if (!done)
      log::error("{}", done.error().message());
    invocation.exitStatus = done ? exitSuccess : exitFailure;
  });
}

} // namespace luthier::cli
