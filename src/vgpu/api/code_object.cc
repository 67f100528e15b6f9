#include "vgpu/api/code_object.h"

#include <cstring>

namespace luthier::vgpu {

using object::RelocationType;

Result<object::CodeObject> parseFor(const isa::Target &target, std::span<const std::byte> elf) {
  object::CodeObject object = LUTHIER_TRY(object::CodeObject::parse(elf, "code object"));
  if (object.parsedTargetId().processor != target.name)
    return makeError("the code object is for {}, the GPU is a {}", object.targetId(), target.name);
  return object;
}

Result<void> placeAt(uint64_t base, const object::CodeObject &object) {
  for (const object::Segment &segment : object.segments())
    memcpy(reinterpret_cast<void *>(base + segment.address), segment.contents.data(), segment.contents.size());
  return relocate(base, object.relocations());
}

Result<void> relocate(uint64_t base, std::span<const object::Relocation> relocations) {
  for (const object::Relocation &r : relocations) {
    if (!r.defined && !r.weak)
      return makeError("the code object needs the symbol '{}', which is not in it", r.symbol);
    const uint64_t symbol = r.hasSymbol && r.defined ? base + r.symbolAddress : 0;
    const uint64_t place = base + r.address;
    const uint64_t absolute = symbol + static_cast<uint64_t>(r.addend);
    const uint64_t relative = absolute - place;
    auto store = [&](uint64_t value, unsigned bytes) { memcpy(reinterpret_cast<void *>(place), &value, bytes); };
    switch (static_cast<RelocationType>(r.type)) {
    case RelocationType::None:
      break;
    case RelocationType::Abs32:
    case RelocationType::Abs32Lo:
      store(absolute, 4);
      break;
    case RelocationType::Abs32Hi:
      store(absolute >> 32, 4);
      break;
    case RelocationType::Abs64:
      store(absolute, 8);
      break;
    case RelocationType::Rel32:
    case RelocationType::Rel32Lo:
      store(relative, 4);
      break;
    case RelocationType::Rel32Hi:
      store(relative >> 32, 4);
      break;
    case RelocationType::Rel64:
      store(relative, 8);
      break;
    case RelocationType::Relative64:
      store(base + static_cast<uint64_t>(r.addend), 8);
      break;
    default:
      return makeError("relocation type {} at {:#x} is not known", r.type, r.address);
    }
  }
  return {};
}

} // namespace luthier::vgpu
