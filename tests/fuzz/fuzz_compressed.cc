// Compressed bundles: the input is what follows the magic number.

#include "object/decompress.h"

#include <vector>

using namespace luthier::object;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<std::byte> bytes;
  for (char c : {'C', 'C', 'O', 'B'})
    bytes.push_back(static_cast<std::byte>(c));
  for (size_t n = 0; n < size; ++n)
    bytes.push_back(static_cast<std::byte>(data[n]));
  const auto header = readCompressedHeader(bytes, {.bytes = 16 << 20});
  if (!header)
    return 0;
  const auto unpacked = unpack(bytes, *header);
  if (unpacked && (unpacked->bundle.bytes().size() != header->unpackedSize || unpacked->consumed > bytes.size()))
    abort();
  return 0;
}
