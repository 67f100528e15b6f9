// Where an instruction is: its kernel and function, its line of source, and, in instrumented code, whether it is the
// kernel's own or a hook's.
//
// Rewritten code says by its map (.luthier.map) what each piece of it is and where the original was. The lines of
// source are the original's: in the same file, or, when the new code was loaded beside it, in the application's own
// code object.
#include "vgpu/driver/explain.h"

#include "isa/disassembler.h"
#include "object/code_map.h"
#include "object/source_lines.h"
#include "support/code_object_uri.h"
#include "support/demangle.h"
#include "vgpu/wave/device.h"
#include "vgpu/wave/kernel_descriptor.h"
#include "vgpu/wave/running.h"

#include <algorithm>
#include <array>
#include <deque>
#include <fmt/format.h>

namespace luthier::vgpu {

namespace {

using object::CodeKind;
using object::CodeMap;

using check::kLinesBefore, check::kLinesBehind;

/// The instruction and those around it. `begin` is where the function starts.
std::vector<check::CodeLine> linesAround(isa::Disassembler &disassembler, std::span<const uint8_t> code, uint64_t begin,
                                         uint64_t offset) {
  std::deque<check::CodeLine> lines;
  size_t behind = 0;
  for (uint64_t at = 0; at < code.size() && behind <= kLinesBehind;) {
    const auto rest = code.subspan(at);
    const auto instruction = disassembler.disassemble(rest, begin + at);
    constexpr uint32_t kWord = 4;
    const uint64_t size = instruction ? instruction->size : kWord;
    if (at + (kLinesBefore + 1) * 16 >= offset) {
      lines.push_back({at, disassembler.text(rest.first(std::min<size_t>(size, rest.size())), begin + at)});
      if (at < offset && lines.size() > kLinesBefore)
        lines.pop_front();
    }
    behind += at >= offset;
    at += size;
  }
  return {lines.begin(), lines.end()};
}

void addSource(check::CodePlace &place, const object::CodeObject &object, uint64_t address) {
  if (const auto lines = object::SourceLines::of(object))
    for (const object::SourceLocation &frame : lines->framesAt(address))
      place.source.push_back({frame.file, frame.line, frame.column, demangle(frame.function)});
}

/// The hook that a range is for: the note stands at the first range of the hook's place.
std::string_view noteOf(const CodeMap &map, const CodeMap::Range &range) {
  for (size_t n = static_cast<size_t>(&range - map.ranges.data()) + 1; n-- > 0;) {
    const CodeMap::Range &at = map.ranges[n];
    if (at.original != range.original || (at.kind != CodeKind::Glue && at.kind != range.kind))
      break;
    if (!at.note.empty())
      return at.note;
  }
  return "?";
}

/// What a range is, for people. `where`: the instruction of the original that it belongs to.
std::string ownerOf(const CodeMap &map, const CodeMap::Range &range, const std::string &where) {
  switch (range.kind) {
  case CodeKind::Original:
    return fmt::format("the kernel itself: {} before it was instrumented", where);
  case CodeKind::Replacement:
    return fmt::format("the kernel itself: stands for {} before it was instrumented", where);
  case CodeKind::Fragment:
    return fmt::format("the hook {}, inserted at the kernel's {}", noteOf(map, range), where);
  case CodeKind::Glue:
    return fmt::format("code of Luthier's around the hook {}, inserted at the kernel's {}", noteOf(map, range), where);
  case CodeKind::SharedHook:
    return fmt::format("the hook {}", noteOf(map, range));
  case CodeKind::Entry:
    return "code of Luthier's at the kernel's start, which prepares for hooks";
  case CodeKind::Island:
    return "a branch of Luthier's, on behalf of one that does not reach its target";
  }
  return {};
}

/// The beginning of a name that the rewriter gives to copies of functions: KERNEL$FUNCTION.
std::string_view functionPart(std::string_view name) { return name.substr(name.rfind('$') + 1); }

} // namespace

void Explainer::addOrigin(check::CodePlace &place, const object::CodeObject &object, const object::Symbol &function,
                          uint64_t address) const {
  const Result<CodeMap> map = object::readCodeMap(object);
  const CodeMap::Range *range = map ? map->find(address) : nullptr;
  if (!range) {
    addSource(place, object, address);
    return;
  }
  const uint64_t original = range->originalOf(address);
  // The first piece of a function belongs to the original's first instruction.
  const CodeMap::Range *first = map->find(function.address);
  const uint64_t begin = first ? first->original : original;
  place.owner = ownerOf(*map, *range, fmt::format("{:#06x}", original - begin));
  if (range->kind == CodeKind::SharedHook)
    return;
  addSource(place, object, original);
  if (!place.source.empty())
    return;
  const auto beside = code_.findObject([&](const object::CodeObject &other) {
    const object::Symbol *there = other.functionAt(original);
    return there && there->address == begin && functionPart(there->name) == functionPart(function.name) &&
           !other.section(object::kMapSection);
  });
  if (const auto other = beside ? object::CodeObject::parse(*beside, "loaded code object")
                                : Result<object::CodeObject>(makeError("no code object")))
    addSource(place, *other, original);
}

bool Explainer::addFunction(check::CodePlace &place, uint64_t pc, isa::Disassembler *disassembler) const {
  const std::optional<LoadedObject> loaded = code_.objectAt(pc);
  const auto object = loaded ? object::CodeObject::parse(loaded->elf, "loaded code object")
                             : Result<object::CodeObject>(makeError("no code object"));
  const object::Symbol *function = object ? object->functionAt(pc - loaded->bias) : nullptr;
  const auto code = function ? object->code(*function) : Result<std::span<const uint8_t>>(makeError("no function"));
  if (!function || !code)
    return false;
  place.offset = pc - loaded->bias - function->address;
  if (function->name != place.symbol)
    place.function = demangle(function->name);
  if (disassembler)
    place.code = linesAround(*disassembler, *code, function->address + loaded->bias, place.offset);
  addOrigin(place, *object, *function, pc - loaded->bias);
  return true;
}

void Explainer::addCode(check::CodePlace &place, const CodeAt &at) const {
  place.pc = at.pc;
  place.symbol = code_.kernelName(at.kernelObject);
  place.kernel = demangle(place.symbol);
  const auto disassembler = isa::Disassembler::create(at.device.target(), at.lanes);
  if (addFunction(place, at.pc, disassembler ? disassembler->get() : nullptr))
    return;
  // ROCr's own kernels are in no code object.
  place.offset = at.pc - entryAt(at.kernelObject, at.device.target());
  if (disassembler && at.device.memory().mapped(at.pc, at.bytes, at.device.mask()))
    place.code = {{place.offset, (*disassembler)->text({reinterpret_cast<const uint8_t *>(at.pc), at.bytes}, at.pc)}};
}

check::CodePlace Explainer::place(const RunningDispatch &running, uint64_t pc) const {
  const Dispatch &dispatch = *running.dispatch;
  check::CodePlace place;
  place.pc = pc;
  place.symbol = running.kernel;
  place.kernel = demangle(place.symbol);
  const auto disassembler = isa::Disassembler::create(dispatch.device().target(), dispatch.lanes());
  if (addFunction(place, pc, disassembler ? disassembler->get() : nullptr))
    return place;
  place.offset = pc - running.entry;
  // The dispatch may have ended by now, and its code may be gone.
  std::array<uint8_t, 16> bytes{};
  if (disassembler && readOwnMemory(pc, bytes.data(), bytes.size()))
    if (const auto instruction = (*disassembler)->disassemble(bytes, pc))
      place.code = {{place.offset, (*disassembler)->text(std::span(bytes).first(instruction->size), pc)}};
  return place;
}

check::CodePlace Explainer::origin(uint64_t pc) const {
  check::CodePlace place;
  const std::optional<LoadedObject> loaded = code_.objectAt(pc);
  const auto object = loaded ? object::CodeObject::parse(loaded->elf, "loaded code object")
                             : Result<object::CodeObject>(makeError("no code object"));
  if (const object::Symbol *function = object ? object->functionAt(pc - loaded->bias) : nullptr)
    addOrigin(place, *object, *function, pc - loaded->bias);
  return place;
}

} // namespace luthier::vgpu
