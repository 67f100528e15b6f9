#include "isa/target_id.h"

#include "isa/generic_processor.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace luthier::isa {

namespace {

struct Processor {
  uint8_t machine; ///< EF_AMDGPU_MACH
  std::string_view name;
  bool xnack = false, sramecc = false; ///< the processor has the feature
};

// All processors that LLVM 19 to 21 give a machine number, so that code for those without a row in isa/ can still be
// named.
constexpr Processor kProcessors[] = {
    {0x20, "gfx600"},
    {0x21, "gfx601"},
    {0x22, "gfx700"},
    {0x23, "gfx701"},
    {0x24, "gfx702"},
    {0x25, "gfx703"},
    {0x26, "gfx704"},
    {0x28, "gfx801", true},
    {0x29, "gfx802"},
    {0x2a, "gfx803"},
    {0x2b, "gfx810", true},
    {0x2c, "gfx900", true},
    {0x2d, "gfx902", true},
    {0x2e, "gfx904", true},
    {0x2f, "gfx906", true, true},
    {0x30, "gfx908", true, true},
    {0x31, "gfx909", true},
    {0x32, "gfx90c", true},
    {0x33, "gfx1010", true},
    {0x34, "gfx1011", true},
    {0x35, "gfx1012", true},
    {0x36, "gfx1030"},
    {0x37, "gfx1031"},
    {0x38, "gfx1032"},
    {0x39, "gfx1033"},
    {0x3a, "gfx602"},
    {0x3b, "gfx705"},
    {0x3c, "gfx805"},
    {0x3d, "gfx1035"},
    {0x3e, "gfx1034"},
    {0x3f, "gfx90a", true, true},
    {0x40, "gfx940", true, true},
    {0x41, "gfx1100"},
    {0x42, "gfx1013", true},
    {0x43, "gfx1150"},
    {0x44, "gfx1103"},
    {0x45, "gfx1036"},
    {0x46, "gfx1101"},
    {0x47, "gfx1102"},
    {0x48, "gfx1200"},
    {0x49, "gfx1250"},
    {0x4a, "gfx1151"},
    {0x4b, "gfx941", true, true},
    {0x4c, "gfx942", true, true},
    {0x4e, "gfx1201"},
    {0x4f, "gfx950", true, true},
    {0x51, "gfx9-generic", true},
    {0x52, "gfx10-1-generic", true},
    {0x53, "gfx10-3-generic"},
    {0x54, "gfx11-generic"},
    {0x55, "gfx1152"},
    {0x58, "gfx1153"},
    {0x59, "gfx12-generic"},
    {0x5f, "gfx9-4-generic", true, true},
};

const Processor *findProcessor(uint32_t machine) {
  const auto *it = std::ranges::find(kProcessors, machine, &Processor::machine);
  return it == std::end(kProcessors) ? nullptr : it;
}

const Processor *findProcessor(std::string_view name) {
  const auto *it = std::ranges::find(kProcessors, name, &Processor::name);
  return it == std::end(kProcessors) ? nullptr : it;
}

Feature featureOf(bool has, bool on) { return !has ? Feature::Unsupported : on ? Feature::On : Feature::Off; }

void append(std::string &text, std::string_view name, Feature feature) {
  if (feature == Feature::On || feature == Feature::Off)
    text += fmt::format(":{}{}", name, feature == Feature::On ? '+' : '-');
}

bool fits(Feature code, Feature wanted) {
  return code == wanted || code == Feature::Any || wanted == Feature::Any || code == Feature::Unsupported ||
         wanted == Feature::Unsupported;
}

} // namespace

Result<TargetId> TargetId::parse(std::string_view text) {
  const std::string whole(text);
  // The old spelling has its features after '+' or '-', which generic processors have in their names.
  size_t end = text.find(':');
  if (end == std::string_view::npos)
    end =
        std::min(text.find("+sram"), std::min(text.find("-sram"), std::min(text.find("+xnack"), text.find("-xnack"))));
  TargetId id;
  id.processor = text.substr(0, end);
  auto fine = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '-'; };
  if (!id.processor.starts_with("gfx") || !std::ranges::all_of(id.processor, fine))
    return makeError("'{}' is not a target id such as gfx90a:xnack-", whole);
  if (const Processor *known = findProcessor(id.processor)) {
    id.xnack = known->xnack ? Feature::Any : Feature::Unsupported;
    id.sramecc = known->sramecc ? Feature::Any : Feature::Unsupported;
  }
  text = end == std::string_view::npos ? "" : text.substr(end);
  while (!text.empty()) {
    std::string_view name, sign;
    if (text.front() == ':') {
      text = text.substr(1);
      const std::string_view part = text.substr(0, text.find(':'));
      text.remove_prefix(part.size());
      if (part.empty())
        return makeError("'{}' has an empty feature", whole);
      name = part.substr(0, part.size() - 1);
      sign = part.substr(part.size() - 1);
    } else {
      sign = text.substr(0, 1);
      text.remove_prefix(1);
      name = text.starts_with("sram-ecc") ? text.substr(0, 8) : text.substr(0, text.find_first_of("+-:"));
      text.remove_prefix(name.size());
    }
    Feature *feature = name == "xnack" ? &id.xnack : name == "sramecc" || name == "sram-ecc" ? &id.sramecc : nullptr;
    if (!feature || (sign != "+" && sign != "-"))
      return makeError("'{}' has an unknown feature '{}{}'", whole, name, sign);
    *feature = sign == "+" ? Feature::On : Feature::Off;
  }
  return id;
}

TargetId TargetId::fromElf(uint32_t flags, unsigned codeObjectVersion) {
  const Processor *processor = findProcessor(flags & 0xff);
  TargetId id;
  id.processor = processor ? std::string(processor->name) : fmt::format("gfx-machine-{:#x}", flags & 0xff);
  if (codeObjectVersion <= 3) {
    id.xnack = featureOf(processor && processor->xnack, flags & 0x100);
    id.sramecc = featureOf(processor && processor->sramecc, flags & 0x200);
  } else {
    id.xnack = static_cast<Feature>(flags >> 8 & 3);
    id.sramecc = static_cast<Feature>(flags >> 10 & 3);
  }
  return id;
}

std::string TargetId::text() const {
  std::string text = processor;
  append(text, "sramecc", sramecc);
  append(text, "xnack", xnack);
  return text;
}

bool compatible(const TargetId &code, const TargetId &wanted) {
  const auto members = membersOf(code.processor);
  const bool runs = code.processor == wanted.processor || std::ranges::find(members, wanted.processor) != members.end();
  return runs && fits(code.xnack, wanted.xnack) && fits(code.sramecc, wanted.sramecc);
}

} // namespace luthier::isa
