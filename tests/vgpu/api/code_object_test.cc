// The reader of code objects: relocations by hand, and files that are cut or bent.

#include "vgpu/api/code_object.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

namespace luthier::vgpu {
namespace {

std::vector<std::byte> readFile(const char *path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::byte> bytes(text.size());
  memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

const isa::Target &gfx90a() { return *isa::findTarget("gfx90a"); }

TEST(CodeObject, TakesApartWhatClangLinks) {
  for (const char *path : {API_KERNELS_V4, API_KERNELS_V5}) {
    const std::vector<std::byte> file = readFile(path);
    auto object = CodeObject::parse(file, gfx90a());
    ASSERT_TRUE(object) << object.error().message();
    EXPECT_GE(object->segments.size(), 3u);
    EXPECT_EQ(object->kernels.size(), 10u);
    EXPECT_EQ(object->relocations.size(), 2u);
  }
}

TEST(CodeObject, EveryTruncationIsNoticed) {
  const std::vector<std::byte> file = readFile(API_KERNELS_V5);
  for (size_t size = 0; size < file.size(); size += size < 1024 ? 1 : 97) {
    auto object = CodeObject::parse(std::span(file).first(size), gfx90a());
    EXPECT_FALSE(object) << size;
  }
}

TEST(CodeObject, BentFilesDoNoHarm) {
  const std::vector<std::byte> file = readFile(API_KERNELS_V5);
  uint32_t random = 12345;
  for (int n = 0; n < 3000; ++n) {
    std::vector<std::byte> bent = file;
    for (int change = 0; change < 4; ++change) {
      random = random * 1664525 + 1013904223;
      bent[(random >> 4) % (n % 2 ? 2048 : bent.size())] = static_cast<std::byte>(random >> 24);
    }
    auto object = CodeObject::parse(bent, gfx90a());
    if (!object || object->bytes > 1 << 20)
      continue;
    std::vector<uint64_t> image(object->bytes / 8 + 2);
    (void)object->placeAt(reinterpret_cast<uint64_t>(image.data()));
  }
}

struct Case {
  uint32_t type;
  unsigned bytes;
  uint64_t expected;
};

TEST(CodeObject, Relocations) {
  alignas(8) uint8_t image[64];
  const auto base = reinterpret_cast<uint64_t>(image);
  const uint64_t symbol = base + 32, place = base + 8, addend = 5;
  const Case cases[] = {
      {0, 8, 0xaaaaaaaaaaaaaaaa},                      // NONE
      {1, 4, (symbol + addend) & 0xffffffff},          // ABS32_LO
      {2, 4, (symbol + addend) >> 32},                 // ABS32_HI
      {3, 8, symbol + addend},                         // ABS64
      {4, 4, (symbol + addend - place) & 0xffffffff},  // REL32
      {5, 8, symbol + addend - place},                 // REL64
      {6, 4, (symbol + addend) & 0xffffffff},          // ABS32
      {10, 4, (symbol + addend - place) & 0xffffffff}, // REL32_LO
      {11, 4, (symbol + addend - place) >> 32},        // REL32_HI
      {13, 8, base + addend},                          // RELATIVE64
  };
  for (const Case &c : cases) {
    SCOPED_TRACE(c.type);
    memset(image, 0xaa, sizeof image);
    CodeObject object;
    object.bytes = sizeof image;
    object.symbols = {{}, {.name = "there", .address = 32, .bytes = 4, .defined = true}};
    object.relocations = {{8, c.type, 1, static_cast<int64_t>(addend)}};
    ASSERT_TRUE(object.placeAt(base));
    uint64_t value = 0, rest = 0;
    memcpy(&value, image + 8, c.bytes);
    EXPECT_EQ(value, c.expected);
    memcpy(&rest, image + 8 + c.bytes, 4);
    EXPECT_EQ(rest, 0xaaaaaaaa); // no more than that
  }
}

TEST(CodeObject, UndefinedSymbolsAreNamedUnlessWeak) {
  alignas(8) uint8_t image[64] = {};
  CodeObject object;
  object.bytes = sizeof image;
  object.symbols = {{}, {.name = "elsewhere"}};
  object.relocations = {{8, 3, 1, 0}};
  auto placed = object.placeAt(reinterpret_cast<uint64_t>(image));
  ASSERT_FALSE(placed);
  EXPECT_NE(placed.error().message().find("elsewhere"), std::string::npos);
  object.symbols[1].weak = true;
  EXPECT_TRUE(object.placeAt(reinterpret_cast<uint64_t>(image)));
}

TEST(CodeObject, UnknownRelocationsAreErrors) {
  alignas(8) uint8_t image[64] = {};
  CodeObject object;
  object.bytes = sizeof image;
  object.symbols = {{}};
  object.relocations = {{8, 99, 0, 0}};
  EXPECT_FALSE(object.placeAt(reinterpret_cast<uint64_t>(image)));
}

} // namespace
} // namespace luthier::vgpu
