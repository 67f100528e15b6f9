// Target ids: what is understood has one spelling, which is understood the same. And names for the demangler.

#include "isa/target_id.h"
#include "support/demangle.h"

#include <cstdlib>

using namespace luthier;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  (void)luthier::demangle(text);
  const auto id = isa::TargetId::parse(text);
  if (!id)
    return 0;
  const auto again = isa::TargetId::parse(id->text());
  if (!again || !(*again == *id) || !compatible(*id, *again))
    abort();
  return 0;
}
