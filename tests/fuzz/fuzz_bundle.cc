// Files that hold code objects: host files, bundles, compressed bundles, offload binaries.

#include "object/container.h"

using namespace luthier::object;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const Container::Options options{.limits = {.bytes = 16 << 20}};
  const auto container = Container::parse(std::as_bytes(std::span(data, size)), "input", options);
  if (!container)
    return 0;
  for (const ImageGroup &group : container->groups())
    if (const auto images = container->images(group))
      for (const Image &image : *images)
        if (const auto object = image.codeObject())
          (void)object->metadata(MetadataParts::WithoutArguments);
  return 0;
}
