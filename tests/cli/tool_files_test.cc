#include "cli/tool_files.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "temp_folder.h"

namespace luthier::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class ToolFiles : public testing::Test {
protected:
  void SetUp() override { unsetenv("LUTHIER_TOOL_PATH"); }
  void TearDown() override { unsetenv("LUTHIER_TOOL_PATH"); }
  std::vector<std::filesystem::path> folders() const { return toolFolders(prefix_.path() / "bin"); }
  static std::vector<std::string> names(const std::vector<ToolFile> &tools) {
    std::vector<std::string> names;
    for (const ToolFile &tool : tools)
      names.push_back(tool.name);
    return names;
  }

  TempFolder prefix_;
};

TEST_F(ToolFiles, Folders) {
  EXPECT_THAT(folders(), ElementsAre(prefix_.path() / "lib/luthier/tools", prefix_.path() / "tools"));
  setenv("LUTHIER_TOOL_PATH", "/a::/b c/", 1);
  EXPECT_THAT(folders(), ElementsAre("/a", "/b c/", prefix_.path() / "lib/luthier/tools", prefix_.path() / "tools"));
}

TEST_F(ToolFiles, AreListedOnceByName) {
  prefix_.write("tools/libone.so", "");
  prefix_.write("tools/libtwo.so", "");
  prefix_.write("tools/libnot.txt", "");
  prefix_.write("tools/other.so", "");
  prefix_.write("tools/libfolder.so/x", "");
  const auto own = prefix_.write("own/libone.so", "");
  EXPECT_THAT(names(listTools(folders())), ElementsAre("one", "two"));
  setenv("LUTHIER_TOOL_PATH", own.parent_path().c_str(), 1);
  EXPECT_THAT(names(listTools(folders())), ElementsAre("one", "two"));
  EXPECT_EQ(listTools(folders())[0].file, own) << "the user's comes first";
}

TEST_F(ToolFiles, AreFoundByNameAndPath) {
  const auto file = prefix_.write("tools/libone.so", "");
  const auto byName = findTool("one", folders());
  ASSERT_TRUE(byName) << byName.error().message();
  EXPECT_EQ(byName->name, "one");
  EXPECT_EQ(byName->file, file);
  const auto byPath = findTool(std::filesystem::relative(file).string(), {});
  ASSERT_TRUE(byPath) << byPath.error().message();
  EXPECT_EQ(byPath->name, "one");
  EXPECT_EQ(byPath->file, file) << "absolute: the application may change its folder";
}

TEST_F(ToolFiles, UnknownOnes) {
  EXPECT_THAT(
      findTool("three", folders()).error().message(),
      AllOf(HasSubstr("unknown tool 'three'; there is none in " + (prefix_.path() / "lib/luthier/tools").string()),
            HasSubstr("LUTHIER_TOOL_PATH")));
  prefix_.write("tools/libone.so", "");
  prefix_.write("lib/luthier/tools/libtwo.so", "");
  EXPECT_EQ(findTool("three", folders()).error().message(), "unknown tool 'three'; known: one, two");
  EXPECT_EQ(findTool("/no/libthree.so", folders()).error().message(), "there is no tool /no/libthree.so: no such file");
  EXPECT_FALSE(findTool("", folders()));
}

TEST(ToolOptions, AreTakenOut) {
  std::vector<std::string> arguments = {"--one.per=block", "--one.flag",   "--two.x=a=b.c", "--one.e=", "-x.y=1",
                                        "--.z=1",          "--plain=v1.0", "word",          "a.b"};
  EXPECT_THAT(takeToolOptions(arguments), ElementsAre(Pair("one.e", ""), Pair("one.flag", std::nullopt),
                                                      Pair("one.per", "block"), Pair("two.x", "a=b.c")));
  EXPECT_THAT(arguments, ElementsAre("-x.y=1", "--.z=1", "--plain=v1.0", "word", "a.b"));
}

TEST(Output, IsAbsoluteAndKeepsItsKeys) {
  TempFolder folder;
  const std::string pattern = (folder.path() / "r-%pid%.json").string();
  EXPECT_EQ(*prepareOutput(pattern), pattern);
  EXPECT_EQ((*prepareOutput("r-%pid%.json")).front(), '/');
  EXPECT_EQ(*prepareOutput("/dev/stdout"), "/dev/stdout");
}

TEST(Output, OldResultsAreRemoved) {
  TempFolder folder;
  const auto old = folder.write("r-" + std::to_string(getpid()) + ".json", "{}");
  ASSERT_TRUE(prepareOutput((folder.path() / "r-%pid%.json").string()));
  EXPECT_FALSE(std::filesystem::exists(old));
}

TEST(Output, WhatCannotBeWritten) {
  TempFolder folder;
  EXPECT_THAT(prepareOutput((folder.path() / "no/r.json").string()).error().message(),
              HasSubstr("no/r.json: No such file or directory"));
  EXPECT_THAT(prepareOutput(folder.path().string()).error().message(), HasSubstr("Is a directory"));
  EXPECT_THAT(prepareOutput((folder.path() / "%what%").string()).error().message(), HasSubstr("%what% is not a key"));
}

} // namespace
} // namespace luthier::cli
