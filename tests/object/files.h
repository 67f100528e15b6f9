// The files that tests/object/CMakeLists.txt makes, read whole.
#pragma once

#include "object/code_object.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace luthier::object {

inline std::string testFile(const std::string &name) { return std::string(OBJECT_TEST_FILES) + "/" + name; }

inline std::vector<std::byte> bytesOf(std::string_view text) {
  const auto *begin = reinterpret_cast<const std::byte *>(text.data());
  return {begin, begin + text.size()};
}

inline std::vector<std::byte> readTestFile(const std::string &name) {
  std::ifstream file(testFile(name), std::ios::binary);
  EXPECT_TRUE(file) << name;
  return bytesOf(std::string((std::istreambuf_iterator<char>(file)), {}));
}

/// A code object with the bytes it views.
struct ObjectFile {
  std::vector<std::byte> bytes;
  Result<CodeObject> object;

  explicit ObjectFile(const std::string &name) : bytes(readTestFile(name)), object(CodeObject::parse(bytes, name)) {
    EXPECT_TRUE(object) << object.error().message();
  }
  const CodeObject *operator->() const { return &*object; }
  const CodeObject &operator*() const { return *object; }
};

} // namespace luthier::object
