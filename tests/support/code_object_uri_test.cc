#include "support/code_object_uri.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sys/mman.h>
#include <unistd.h>

namespace luthier {
namespace {

using testing::HasSubstr;

TEST(CodeObjectUri, Files) {
  const auto whole = CodeObjectUri::parse("file:///a%20b/c%23.hsaco");
  ASSERT_TRUE(whole);
  EXPECT_FALSE(whole->inMemory);
  EXPECT_EQ(whole->path, "/a b/c#.hsaco");
  EXPECT_EQ(whole->offset, 0u);
  EXPECT_EQ(whole->size, std::nullopt);
  for (const char *text : {"file:///x#offset=0x2000&size=3000", "file:///x?offset=8192&size=0XBB8"}) {
    const auto part = CodeObjectUri::parse(text);
    ASSERT_TRUE(part);
    EXPECT_EQ(part->path, "/x");
    EXPECT_EQ(part->offset, 0x2000u);
    EXPECT_EQ(part->size, 3000u);
  }
  // "offset=" in a path is a path.
  EXPECT_EQ(CodeObjectUri::parse("file:///offset=5")->offset, 0u);
}

TEST(CodeObjectUri, Memory) {
  const auto uri = CodeObjectUri::parse("memory://1234#offset=0x20000&size=3000");
  ASSERT_TRUE(uri);
  EXPECT_TRUE(uri->inMemory);
  EXPECT_EQ(uri->offset, 0x20000u);
  EXPECT_EQ(uri->size, 3000u);
  for (const char *text : {"memory://1234", "memory://1234#offset=5", "http://x#offset=1&size=2", ""})
    EXPECT_FALSE(CodeObjectUri::parse(text)) << text;
}

TEST(CodeObjectUri, ReadsWhatIsThere) {
  const std::string path = testing::TempDir() + "/uri test " + std::to_string(getpid());
  std::ofstream(path) << "0123456789";
  CodeObjectUri uri{.path = path, .offset = 3, .size = 4};
  auto bytes = uri.read();
  ASSERT_TRUE(bytes) << bytes.error().message();
  EXPECT_EQ(std::memcmp(bytes->data(), "3456", 4), 0);
  uri.size.reset();
  EXPECT_EQ(uri.read()->size(), 7u);
  uri.size = 8;
  EXPECT_THAT(uri.read().error().message(), HasSubstr("no 8 bytes at 0x3"));
  uri.offset = 100;
  EXPECT_FALSE(uri.read());
  unlink(path.c_str());
  EXPECT_THAT(uri.read().error().message(), HasSubstr("No such file"));
}

TEST(CodeObjectUri, MemoryThatHasGoneIsAnError) {
  void *memory = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memcpy(memory, "code", 4);
  const CodeObjectUri uri{.inMemory = true, .path = {}, .offset = reinterpret_cast<uint64_t>(memory), .size = 8192};
  auto bytes = uri.read();
  ASSERT_TRUE(bytes);
  EXPECT_EQ(std::memcmp(bytes->data(), "code", 4), 0);
  munmap(memory, 8192);
  EXPECT_FALSE(uri.read());
  EXPECT_FALSE(readOwnMemory(8, bytes->data(), 8));
}

} // namespace
} // namespace luthier
