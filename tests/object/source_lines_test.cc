// Lines of kernels.hip, by the comments in it.

#include "object/source_lines.h"

#include "files.h"

#include <gmock/gmock.h>

#include <set>

namespace luthier::object {
namespace {

/// The number of the first line with this text in kernels.hip.
uint32_t lineWith(const std::string &text) {
  std::ifstream file(OBJECT_TEST_SOURCE);
  std::string line;
  for (uint32_t number = 1; std::getline(file, line); ++number)
    if (line.find(text) != std::string::npos)
      return number;
  return 0;
}

TEST(SourceLines, EveryInstructionOfAFunctionIsInItsFile) {
  const ObjectFile file("kernels_v5.co");
  auto lines = SourceLines::of(*file);
  ASSERT_TRUE(lines) << lines.error().message();
  for (const Symbol &symbol : file->symbols()) {
    if (!symbol.function())
      continue;
    auto first = lines->at(symbol.address);
    ASSERT_TRUE(first) << symbol.name;
    EXPECT_THAT(first->file, testing::EndsWith("tests/object/kernels.hip"));
    EXPECT_EQ(first->function, symbol.name);
    EXPECT_GT(first->line, 0u);
  }
}

TEST(SourceLines, InlinedFramesAndColumns) {
  const ObjectFile file("kernels_v5.co");
  auto lines = SourceLines::of(*file);
  ASSERT_TRUE(lines);
  const Symbol &scale = *file->find("_Z5scalePffi");
  bool found = false;
  for (uint64_t address = scale.address; address < scale.end(); address += 4) {
    const std::vector<SourceLocation> frames = lines->framesAt(address);
    if (frames.size() != 2)
      continue;
    found = true;
    EXPECT_EQ(frames[0].line, lineWith("// in scale"));
    EXPECT_GT(frames[0].column, 0u);
    EXPECT_EQ(frames[1].line, lineWith("inlined(data[i])"));
    EXPECT_EQ(frames[1].function, scale.name);
    EXPECT_EQ(lines->at(address), frames[0]);
  }
  EXPECT_TRUE(found);
}

TEST(SourceLines, OutsideOfCodeThereIsNothing) {
  const ObjectFile file("kernels_v5.co");
  auto lines = SourceLines::of(*file);
  ASSERT_TRUE(lines);
  EXPECT_FALSE(lines->at(0));
  EXPECT_FALSE(lines->at(UINT64_MAX));
}

TEST(SourceLines, ObjectsWithoutThemSaySo) {
  const ObjectFile file("kernels_v4.co");
  auto lines = SourceLines::of(*file);
  ASSERT_FALSE(lines);
  EXPECT_EQ(lines.error().message(), "kernels_v4.co: no line tables (compile with -g)");
}

TEST(SourceLines, DamagedTablesDoNoHarm) {
  const std::vector<std::byte> whole = readTestFile("kernels_v5.co");
  const auto elf = ElfFile::parse(whole);
  ASSERT_TRUE(elf);
  for (const char *name : {".debug_line", ".debug_info", ".debug_abbrev"}) {
    const Section *section = elf->section(name);
    ASSERT_NE(section, nullptr) << name;
    for (uint64_t at = 0; at < section->size; at += 3) {
      std::vector<std::byte> bent = whole;
      bent[section->offset + at] ^= std::byte{0x55};
      auto object = CodeObject::parse(bent, "bent");
      ASSERT_TRUE(object);
      auto lines = SourceLines::of(*object);
      if (!lines)
        continue;
      for (const Symbol &symbol : object->symbols())
        if (symbol.function())
          (void)lines->framesAt(symbol.address + 8);
    }
  }
}

} // namespace
} // namespace luthier::object
