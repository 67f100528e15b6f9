#include "support/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace luthier {
namespace {

using testing::HasSubstr;

class ReplaceFile : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "luthier-test-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const char *name) const { return (folder_ / name).string(); }
  static std::string read(const std::string &file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  size_t files() const { return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {})); }

  std::filesystem::path folder_;
};

TEST_F(ReplaceFile, MakesAndReplaces) {
  ASSERT_TRUE(replaceFile(path("a"), "first"));
  EXPECT_EQ(read(path("a")), "first");
  ASSERT_TRUE(replaceFile(path("a"), "2nd"));
  EXPECT_EQ(read(path("a")), "2nd");
  EXPECT_EQ(files(), 1u) << "nothing temporary is left";
}

TEST_F(ReplaceFile, KeepsTheModeOfAnExistingFile) {
  ASSERT_TRUE(replaceFile(path("a"), "first"));
  ASSERT_EQ(::chmod(path("a").c_str(), 0600), 0);
  ASSERT_TRUE(replaceFile(path("a"), "second"));
  struct stat status;
  ASSERT_EQ(::stat(path("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
}

TEST_F(ReplaceFile, ALinkStaysALink) {
  ASSERT_TRUE(replaceFile(path("target"), "first"));
  std::filesystem::create_symlink("target", path("link"));
  ASSERT_TRUE(replaceFile(path("link"), "second"));
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(read(path("target")), "second");
}

TEST_F(ReplaceFile, ALinkToNothingGetsItsTarget) {
  std::filesystem::create_symlink("target", path("link"));
  ASSERT_TRUE(replaceFile(path("link"), "first"));
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(read(path("target")), "first");
}

/// What somebody else has put where the temporary file would be, in a folder that others can write to.
TEST_F(ReplaceFile, PlantedLinksAreNotFollowed) {
  ASSERT_TRUE(replaceFile(path("precious"), "precious"));
  for (unsigned n = 0; n < 300; ++n) // names that earlier versions used
    std::filesystem::create_symlink("precious",
                                    path("a") + "." + std::to_string(getpid()) + "." + std::to_string(n) + ".tmp");
  ASSERT_TRUE(replaceFile(path("a"), "new"));
  EXPECT_EQ(read(path("a")), "new");
  EXPECT_FALSE(std::filesystem::is_symlink(path("a")));
  EXPECT_EQ(read(path("precious")), "precious");
}

TEST_F(ReplaceFile, InAFolderNothingIsFollowed) {
  ASSERT_TRUE(replaceFile(path("precious"), "precious"));
  std::filesystem::create_symlink("precious", path("a"));
  const int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_TRUE(replaceFileAt(folder, "a", "new", 0600));
  ::close(folder);
  EXPECT_FALSE(std::filesystem::is_symlink(path("a")));
  EXPECT_EQ(read(path("a")), "new");
  EXPECT_EQ(read(path("precious")), "precious");
  struct stat status;
  ASSERT_EQ(::stat(path("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  EXPECT_EQ(files(), 2u);
}

TEST_F(ReplaceFile, APipeIsWrittenTo) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = read(path("pipe")); });
  EXPECT_TRUE(replaceFile(path("pipe"), "through"));
  reader.join();
  EXPECT_EQ(got, "through");
  EXPECT_TRUE(std::filesystem::is_fifo(path("pipe")));
}

TEST_F(ReplaceFile, AReaderOfTheOldFileKeepsIt) {
  ASSERT_TRUE(replaceFile(path("a"), "old"));
  std::ifstream reader(path("a"));
  ASSERT_TRUE(replaceFile(path("a"), "new"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(reader), {}), "old");
}

TEST_F(ReplaceFile, FailuresNameTheFileAndLeaveTheOldOne) {
  EXPECT_THAT(replaceFile(path("no/such"), "x").error().message(), HasSubstr("no/such: No such file or directory"));
  EXPECT_THAT(replaceFile(folder_.string(), "x").error().message(), HasSubstr("Is a directory"));
  EXPECT_THAT(replaceFile("/dev/full", "x").error().message(), HasSubstr("/dev/full: No space left on device"));
  EXPECT_EQ(files(), 0u);
}

TEST_F(ReplaceFile, WhatIsWrittenCanBeRead) {
  ASSERT_TRUE(replaceFile(path("a"), std::string_view("t\0wo", 4)));
  const auto text = readFile(path("a"));
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, std::string_view("t\0wo", 4));
  for (const std::string &missing : {folder_.string(), path("missing")}) {
    const auto nothing = readFile(missing);
    ASSERT_FALSE(nothing);
    EXPECT_THAT(nothing.error().message(), HasSubstr(missing));
  }
}

} // namespace
} // namespace luthier
