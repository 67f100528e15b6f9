// The metadata note: what can be read can be written, and is read the same again.

#include "object/metadata.h"

#include <cstdlib>

using namespace luthier::object;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const ByteSpan input = std::as_bytes(std::span(data, size));
  (void)parseMetadata(input, MetadataParts::WithoutArguments);
  const auto first = parseMetadata(input);
  if (!first)
    return 0;
  const std::vector<std::byte> written = serialise(*first);
  const auto second = parseMetadata(written);
  if (!second)
    abort();
  if (serialise(*second) != written)
    abort();
  for (const KernelMetadata &kernel : second->kernels) {
    (void)kernel.explicitArgumentBytes();
    (void)second->kernel(kernel.symbol);
  }
  return 0;
}
