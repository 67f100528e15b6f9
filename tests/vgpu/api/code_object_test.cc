// The loader of code objects: relocations by hand, and files that are bent.

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

TEST(CodeObject, LoadsWhatClangLinks) {
  for (const char *path : {API_KERNELS_V4, API_KERNELS_V5}) {
    const std::vector<std::byte> file = readFile(path);
    auto object = parseFor(gfx90a(), file);
    ASSERT_TRUE(object) << object.error().message();
    EXPECT_EQ(object->kernels().size(), 10u);
    EXPECT_EQ(object->relocations().size(), 2u);
    std::vector<uint64_t> image(object->imageSize() / 8 + 1);
    EXPECT_TRUE(placeAt(reinterpret_cast<uint64_t>(image.data()), *object));
    EXPECT_EQ(memcmp(image.data(), file.data(), 16), 0); // the first segment begins with the file's header
  }
}

TEST(CodeObject, RefusesOtherTargets) {
  const std::vector<std::byte> file = readFile(API_KERNELS_V5);
  auto object = parseFor(*isa::findTarget("gfx908"), file);
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().message(), "the code object is for gfx90a, the GPU is a gfx908");
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
    auto object = parseFor(gfx90a(), bent);
    if (!object || object->imageSize() > 1 << 20)
      continue;
    std::vector<uint64_t> image(object->imageSize() / 8 + 1);
    (void)placeAt(reinterpret_cast<uint64_t>(image.data()), *object);
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
    object::Relocation relocation{.address = 8, .type = c.type, .addend = static_cast<int64_t>(addend)};
    if (c.type != static_cast<uint32_t>(object::RelocationType::Relative64)) {
      relocation.hasSymbol = true;
      relocation.symbolAddress = 32;
    }
    ASSERT_TRUE(relocate(base, {&relocation, 1}));
    uint64_t value = 0, rest = 0;
    memcpy(&value, image + 8, c.bytes);
    EXPECT_EQ(value, c.expected);
    memcpy(&rest, image + 8 + c.bytes, 4);
    EXPECT_EQ(rest, 0xaaaaaaaa); // no more than that
  }
}

TEST(CodeObject, UndefinedSymbolsAreNamedUnlessWeak) {
  alignas(8) uint8_t image[64] = {};
  object::Relocation relocation{.address = 8, .type = 3, .hasSymbol = true, .symbol = "elsewhere", .defined = false};
  auto placed = relocate(reinterpret_cast<uint64_t>(image), {&relocation, 1});
  ASSERT_FALSE(placed);
  EXPECT_NE(placed.error().message().find("elsewhere"), std::string::npos);
  relocation.weak = true;
  EXPECT_TRUE(relocate(reinterpret_cast<uint64_t>(image), {&relocation, 1}));
}

TEST(CodeObject, UnknownRelocationsAreErrors) {
  alignas(8) uint8_t image[64] = {};
  const object::Relocation relocation{.address = 8, .type = 99};
  EXPECT_FALSE(relocate(reinterpret_cast<uint64_t>(image), {&relocation, 1}));
}

} // namespace
} // namespace luthier::vgpu
