#include "support/file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

namespace luthier {
namespace {

namespace fs = std::filesystem;

class FileTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "luthier-file-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }
  static std::span<const std::byte> bytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

  fs::path folder_;
};

TEST_F(FileTest, WhatIsWrittenCanBeRead) {
  const fs::path path = folder_ / "a";
  ASSERT_TRUE(replaceFile(path, bytesOf("one")));
  ASSERT_TRUE(replaceFile(path, bytesOf(std::string_view("t\0wo", 4))));
  const auto text = readFile(path);
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, std::string_view("t\0wo", 4));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1); // nothing is left behind
}

TEST_F(FileTest, FailureLeavesEverythingAsItWas) {
  const fs::path path = folder_ / "folder";
  fs::create_directory(path);
  fs::create_directory(path / "inside");
  EXPECT_FALSE(replaceFile(path, bytesOf("text"))); // a folder is in the way
  EXPECT_TRUE(fs::is_directory(path / "inside"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
  const auto nowhere = replaceFile(folder_ / "no" / "where", bytesOf("text"));
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().message().find("No such file"), std::string::npos) << nowhere.error().message();
}

TEST_F(FileTest, WhatCannotBeReadIsNamed) {
  for (const fs::path &path : {folder_, folder_ / "missing"}) {
    const auto text = readFile(path);
    ASSERT_FALSE(text);
    EXPECT_NE(text.error().message().find(path.string()), std::string::npos);
  }
}

} // namespace
} // namespace luthier
