#include "cli/listing.h"

#include "support/demangle.h"

#include <fmt/format.h>

#include <cstring>

namespace luthier::cli {

using analysis::Block;
using analysis::CallKind;
using analysis::Cfg;
using analysis::Exit;

std::string Listing::text(const Instr &instr) const {
  std::string text = decoder_.text(instr);
  if (!instr.is(Property::Branch))
    return text;
  const auto target = instr.target();
  const size_t space = text.rfind(' ');
  if (!target || space == text.npos)
    return text;
  const Cfg &cfg = function_.cfg();
  const uint32_t index = cfg.find(*target);
  return text.substr(0, space + 1) + (index == Cfg::kNone ? place(*target) : label(cfg.blockOf(index)));
}

std::string Listing::place(uint64_t address) const {
  const object::Symbol *symbol = program_.startingAt(address);
  if (!symbol)
    symbol = program_.object().functionAt(address);
  if (!symbol)
    return fmt::format("{:#x}", address);
  const std::string name = demangle(symbol->name);
  return address == symbol->address ? name : fmt::format("{}+{:#x}", name, address - symbol->address);
}

std::string Listing::remark(const Block &block) const {
  std::string text;
  if (block.call == CallKind::Direct)
    text = "calls " + place(block.callTarget);
  else if (block.call == CallKind::Indirect)
    text = "calls through a pointer";
  switch (block.exit) {
  case Exit::None:
  case Exit::End:
    break;
  case Exit::Return:
    text = "returns";
    break;
  case Exit::Tail:
    text = "goes on in " + place(block.exitTarget);
    break;
  case Exit::FallsOut:
    text += (text.empty() ? "" : ", ") + std::string("falls into ") + place(block.exitTarget);
    break;
  case Exit::RunsOut:
    text += (text.empty() ? "" : ", ") + std::string("nothing follows");
    break;
  case Exit::Unknown:
    text += (text.empty() ? "" : ", ") + std::string("goes to an unknown place");
    break;
  }
  return text;
}

std::string shortList(const RegSet &set, Reg first, Reg end) {
  std::string text;
  for (Reg reg = first; reg < end;) {
    if (!set.contains(reg)) {
      reg = reg + 1;
      continue;
    }
    uint16_t count = 1;
    while (reg + count < end && set.contains(reg + count))
      ++count;
    text += (text.empty() ? "" : " ") + toString(RegRange{reg, count});
    reg = reg + count;
  }
  return text;
}

std::string hexBytes(std::span<const uint8_t> bytes) {
  std::string text;
  for (size_t at = 0; at + 4 <= bytes.size(); at += 4) {
    uint32_t word;
    memcpy(&word, bytes.data() + at, sizeof word);
    text += fmt::format("{}{:08x}", at ? " " : "", word);
  }
  return text;
}

} // namespace luthier::cli
