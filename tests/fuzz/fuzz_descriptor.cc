// Kernel descriptors: any 64 bytes have a meaning on every target, and are written as they were.

#include "isa/target.h"
#include "object/kernel_descriptor.h"

#include <cstdlib>

using namespace luthier;
using namespace luthier::object;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < KernelDescriptor::kBytes + 2)
    return 0;
  const auto bytes = std::as_bytes(std::span(data, size)).first<KernelDescriptor::kBytes>();
  const KernelDescriptor descriptor = KernelDescriptor::read(bytes);
  std::array<std::byte, KernelDescriptor::kBytes> written;
  descriptor.write(written);
  if (std::memcmp(written.data(), bytes.data(), bytes.size()) != 0)
    abort();
  const uint32_t count = data[KernelDescriptor::kBytes] | data[KernelDescriptor::kBytes + 1] << 8;
  for (const isa::Target &target : isa::targets()) {
    const InitialSgprs sgprs = descriptor.initialSgprs(target);
    if (sgprs.user > sgprs.total || descriptor.vgprs(target) == 0 || descriptor.sgprs(target) == 0)
      abort();
    KernelDescriptor changed = descriptor;
    if (changed.setVgprs(target, count) && changed.vgprs(target) < count)
      abort();
    if (changed.setSgprs(target, count) && changed.sgprs(target) < count)
      abort();
    if (changed.setAccumOffset(count) && changed.accumOffset() != count)
      abort();
    if (changed.setUserSgprs(count) && changed.userSgprs() != count)
      abort();
  }
  return 0;
}
