// A file mapped into memory for reading: what is not looked at is not read.
#pragma once

#include "object/bytes.h"
#include "support/result.h"

#include <string>

namespace luthier::object {

class MappedFile {
public:
  static Result<MappedFile> open(const std::string &path);

  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  ~MappedFile();

  ByteSpan bytes() const { return {data_, size_}; }

  /// Lets the operating system have these pages back; they are read again from the file when they are needed. Listing a
  /// library of a gigabyte would otherwise keep every page that it touched.
  void forget(ByteSpan part) const;

private:
  MappedFile() = default;

  const std::byte *data_ = nullptr;
  size_t size_ = 0;
};

} // namespace luthier::object
