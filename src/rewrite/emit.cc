#include "rewrite/emit.h"

#include "object/elf_writer.h"
#include "rewrite/tool_variables.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

namespace luthier::rewrite {

namespace {

using object::CodeMap;
using object::ElfWriter;
using object::KernelDescriptor;
using object::WriterSymbol;

constexpr std::string_view kNoteOwner = "AMDGPU";
constexpr uint32_t kNoteMetadata = 32;
/// Kernels begin at multiples of this: the descriptor's entry has no room for less.
constexpr uint64_t kCodeAlignment = 256;

std::string_view nameOf(const NewFunction &function) {
  return function.original ? function.original->name : std::string_view(function.name);
}

// Checks

Result<void> checkFunctions(const Variant &variant) {
  if (variant.functions.empty() || variant.functions.front().original != variant.kernel ||
      variant.functions.front().offset != 0)
    return makeError("the kernel's own code is not the first function");
  std::vector<const NewFunction *> order;
  for (const NewFunction &function : variant.functions) {
    if (!function.original && function.name.empty())
      return makeError("the function at {:#x} stands for none of the original", function.offset);
    if (function.offset > variant.code.size() || variant.code.size() - function.offset < function.size)
      return makeError("the function '{}' ({:#x} bytes at {:#x}) reaches beyond the code's {:#x} bytes",
                       nameOf(function), function.size, function.offset, variant.code.size());
    order.push_back(&function);
  }
  std::ranges::sort(order, {}, [](const NewFunction *f) { return std::pair(f->offset, f->size); });
  for (size_t n = 1; n < order.size(); ++n)
    if (order[n - 1]->offset + order[n - 1]->size > order[n]->offset)
      return makeError("the functions '{}' and '{}' overlap at {:#x}", nameOf(*order[n - 1]), nameOf(*order[n]),
                       order[n]->offset);
  return {};
}

Result<void> checkRelocations(const Variant &variant) {
  uint64_t end = 0;
  for (const CodeRelocation &relocation : variant.relocations) {
    if (relocation.offset > variant.code.size() || variant.code.size() - relocation.offset < 4)
      return makeError("the relocation at {:#x} lies outside the code's {:#x} bytes", relocation.offset,
                       variant.code.size());
    if (relocation.offset < end)
      return makeError("the relocation at {:#x} overlaps the one before it", relocation.offset);
    end = relocation.offset + 4;
    if (relocation.base != CodeRelocation::Base::Variable)
      continue;
    if (relocation.variable >= variant.variables.size())
      return makeError("the relocation at {:#x} is for variable {} of {}", relocation.offset, relocation.variable,
                       variant.variables.size());
    const UsedVariable &used = variant.variables[relocation.variable];
    if (used.variable == UsedVariable::kLaunchBlock)
      continue;
    if (const hook::Variable &variable = used.module->variables()[used.variable]; hook::inRegisters(variable.storage))
      return makeError("the relocation at {:#x} is for '{}', which lives in registers and has no address",
                       relocation.offset, variable.name);
  }
  return {};
}

Result<void> checkRanges(const Variant &variant) {
  uint64_t at = 0;
  for (const CodeRange &range : variant.ranges) {
    if (range.offset != at || range.size > variant.code.size() - at)
      return makeError("the map's range at {:#x} should begin at {:#x} and end within the code's {:#x} bytes",
                       range.offset, at, variant.code.size());
    at += range.size;
  }
  if (at != variant.code.size())
    return makeError("the map ends at {:#x}, the code at {:#x}", at, variant.code.size());
  return {};
}

Result<void> check(const object::CodeObject &original, const Variant &variant) {
  const auto kernels = original.kernels();
  if (variant.kernel < kernels.data() || variant.kernel >= kernels.data() + kernels.size())
    return makeError("{}: a variant is of no kernel of this object", original.origin());
  auto inKernel = [&](const Error &why) {
    return why.withContext(fmt::format("{}: kernel '{}'", original.origin(), variant.kernel->name));
  };
  if (!original.hasTarget())
    return inKernel(makeError("nothing is known about {}", original.targetId()));
  if (variant.code.empty() || variant.code.size() % 4)
    return inKernel(makeError("{} bytes are no code", variant.code.size()));
  for (const UsedVariable &used : variant.variables)
    if (!used.module ||
        (used.variable != UsedVariable::kLaunchBlock && used.variable >= used.module->variables().size()))
      return inKernel(makeError("variable {} of a module that has none of that number", used.variable));
  for (auto step : {checkFunctions, checkRelocations, checkRanges})
    if (auto ok = step(variant); !ok)
      return inKernel(ok.error());
  return {};
}

// Parts that both kinds of files have

std::span<const std::byte> asBytes(std::span<const uint8_t> code) { return std::as_bytes(code); }

/// What is behind a kernel's end is fetched ahead of time, so it must be there, and it should be harmless: as much as
/// LLVM has there (Target::fetchedAheadBytes), of the same.
void fillWithPadding(const isa::Target &target, std::span<std::byte> bytes) {
  const uint32_t word = target.codeEnd ? 0xbf9f0000 /* s_code_end */ : 0xbf800000 /* s_nop 0 */;
  for (size_t at = 0; at + 4 <= bytes.size(); at += 4)
    memcpy(bytes.data() + at, &word, 4);
}

/// Copies of functions are local, with their kernel in the name: several kernels may have one.
void addFunctionSymbols(ElfWriter &writer, const Variant &variant, uint32_t section, uint64_t address) {
  auto &list = writer.hasSymbols() ? writer.symbols : writer.dynamicSymbols;
  for (const NewFunction &function : std::span(variant.functions).subspan(1))
    list.push_back(symbolOf(fmt::format("{}${}", variant.kernel->name, nameOf(function)), STB_LOCAL, STT_FUNC, section,
                            address + function.offset, function.size));
}

std::array<std::byte, KernelDescriptor::kBytes> descriptorBytes(const Variant &variant, uint64_t descriptor,
                                                                uint64_t entry) {
  KernelDescriptor changed = variant.descriptor;
  changed.entryOffset = static_cast<int64_t>(entry - descriptor);
  std::array<std::byte, KernelDescriptor::kBytes> bytes;
  changed.write(bytes);
  return bytes;
}

// The merged file

/// A symbol for where the object is loaded. Neither ROCr nor ELF has relocations relative to that with 32 bits; so
/// it is one at the lowest section that stays where it is.
uint32_t addBaseSymbol(ElfWriter &writer, const object::CodeObject &original, uint64_t &address) {
  uint32_t section = 0;
  for (uint32_t n = 1; n < original.sections().size(); ++n) {
    const object::Section &candidate = original.sections()[n];
    if (candidate.allocated() && candidate.type == SHT_PROGBITS && (!section || candidate.address < address)) {
      section = n;
      address = candidate.address;
    }
  }
  writer.dynamicSymbols.push_back(symbolOf("luthier.original", STB_LOCAL, STT_OBJECT, section, address, 0));
  return static_cast<uint32_t>(writer.dynamicSymbols.size() - 1);
}

void relocate(ElfWriter &writer, const object::CodeObject &original, std::span<const Variant> variants,
              std::span<const uint64_t> addresses, const ToolVariables &variables) {
  uint32_t baseSymbol = 0;
  uint64_t base = 0;
  for (size_t n = 0; n < variants.size(); ++n)
    for (const CodeRelocation &relocation : variants[n].relocations) {
      const auto type =
          static_cast<uint32_t>(relocation.high ? object::RelocationType::Abs32Hi : object::RelocationType::Abs32Lo);
      const uint64_t place = addresses[n] + relocation.offset;
      if (relocation.base == CodeRelocation::Base::Original) {
        if (!baseSymbol)
          baseSymbol = addBaseSymbol(writer, original, base);
        writer.relocate(place, type, baseSymbol, static_cast<int64_t>(relocation.addend - base));
      } else {
        writer.relocate(place, type, variables.symbolOf(variants[n], relocation.variable),
                        static_cast<int64_t>(relocation.addend));
      }
    }
}

void moveKernelSymbols(ElfWriter &writer, std::span<const Variant> variants, std::span<const uint64_t> addresses,
                       uint32_t section) {
  std::unordered_map<std::string_view, size_t> byName;
  for (size_t n = 0; n < variants.size(); ++n)
    byName.emplace(variants[n].kernel->name, n);
  for (auto *list : {&writer.symbols, &writer.dynamicSymbols})
    for (WriterSymbol &symbol : *list) {
      const auto it = byName.find(symbol.name);
      if (it == byName.end() || symbol.type() != STT_FUNC ||
          symbol.entry.st_value != variants[it->second].kernel->address)
        continue;
      symbol.entry.st_value = addresses[it->second];
      symbol.entry.st_size = variants[it->second].functions.front().size;
      symbol.entry.st_shndx = static_cast<Elf64_Section>(section);
    }
}

Result<void> replaceMetadata(ElfWriter &writer, const object::CodeObject &original, std::span<const Variant> variants) {
  if (original.metadataNote().empty())
    return {};
  object::Metadata metadata = LUTHIER_TRY(original.metadata());
  std::unordered_map<std::string_view, const Variant *> bySymbol;
  std::vector<std::string> descriptors;
  descriptors.reserve(variants.size());
  for (const Variant &variant : variants)
    bySymbol.emplace(descriptors.emplace_back(fmt::format("{}.kd", variant.kernel->name)), &variant);
  for (object::KernelMetadata &kernel : metadata.kernels)
    if (const auto it = bySymbol.find(kernel.symbol); it != bySymbol.end())
      kernel = it->second->metadata;
  return writer.replaceNote(kNoteOwner, kNoteMetadata, object::serialise(metadata));
}

/// The ranges of a variant whose code is at `address`.
void addRanges(CodeMap &map, const Variant &variant, uint64_t address) {
  std::vector<bool> told(variant.notes.size());
  for (const CodeRange &range : variant.ranges) {
    std::string note;
    if (range.note < told.size() && !told[range.note]) {
      told[range.note] = true;
      note = variant.notes[range.note];
    }
    map.ranges.push_back({range.kind, address + range.offset, range.size, range.original, std::move(note)});
  }
}

Result<void> addMap(ElfWriter &writer, const object::CodeObject &original, std::span<const Variant> variants,
                    std::span<const uint64_t> addresses) {
  // An object that was rewritten before keeps what its map says; the new code follows.
  CodeMap map = LUTHIER_TRY(readCodeMap(original));
  for (size_t n = 0; n < variants.size(); ++n)
    addRanges(map, variants[n], addresses[n]);
  const auto sections = original.sections();
  if (const object::Section *old = original.section(object::kMapSection)) {
    writer.replace(static_cast<uint32_t>(old - sections.data()), encodeCodeMap(map));
    return {};
  }
  auto added = writer.add({.name = std::string(object::kMapSection),
                           .type = SHT_PROGBITS,
                           .flags = 0,
                           .alignment = 8,
                           .contents = encodeCodeMap(map),
                           .size = 0});
  return added ? Result<void>() : added.error();
}

} // namespace

Result<std::vector<std::byte>> emitMerged(const object::CodeObject &original, std::span<const Variant> variants) {
  auto inObject = [&](const Error &why) { return why.withContext(original.origin()); };
  std::unordered_set<uint64_t> descriptors;
  for (const Variant &variant : variants) {
    if (auto ok = check(original, variant); !ok)
      return ok.error();
    if (!descriptors.insert(variant.kernel->descriptor).second)
      return inObject(makeError("there are two variants of kernel '{}'", variant.kernel->name));
  }
  ToolVariables variables;
  if (auto ok = variables.collect(original, variants); !ok)
    return ok.error();
  auto opened = ElfWriter::of(original.file());
  if (!opened)
    return inObject(opened.error());
  ElfWriter writer = *std::move(opened);
  if (variants.empty())
    return std::vector<std::byte>(original.elf().begin(), original.elf().end());

  std::vector<uint64_t> addresses; // first as offsets
  uint64_t size = 0;
  for (const Variant &variant : variants) {
    addresses.push_back(alignUp(size, kCodeAlignment));
    size = addresses.back() + variant.code.size();
  }
  std::vector<std::byte> code(size + original.target().fetchedAheadBytes);
  fillWithPadding(original.target(), code);
  for (size_t n = 0; n < variants.size(); ++n)
    std::ranges::copy(asBytes(variants[n].code), code.begin() + static_cast<ptrdiff_t>(addresses[n]));
  auto section = writer.add({.name = ".luthier.text",
                             .type = SHT_PROGBITS,
                             .flags = SHF_ALLOC | SHF_EXECINSTR,
                             .alignment = kCodeAlignment,
                             .contents = std::move(code),
                             .size = 0});
  if (!section)
    return inObject(section.error());
  for (size_t n = 0; n < variants.size(); ++n) {
    addresses[n] += writer.address(*section);
    const uint64_t descriptor = variants[n].kernel->descriptor;
    if (auto ok = writer.overwrite(descriptor, descriptorBytes(variants[n], descriptor, addresses[n])); !ok)
      return inObject(ok.error().withContext(fmt::format("the descriptor of kernel '{}'", variants[n].kernel->name)));
    addFunctionSymbols(writer, variants[n], *section, addresses[n]);
  }
  moveKernelSymbols(writer, variants, addresses, *section);
  if (auto ok = variables.emit(writer); !ok)
    return inObject(ok.error());
  relocate(writer, original, variants, addresses, variables);
  if (auto ok = replaceMetadata(writer, original, variants); !ok)
    return inObject(ok.error());
  if (auto ok = addMap(writer, original, variants, addresses); !ok)
    return inObject(ok.error());
  auto file = writer.write();
  if (!file)
    return inObject(file.error());
  return file;
}

Result<std::vector<std::byte>> emitOverlay(const object::CodeObject &original, const Variant &variant,
                                           const OverlayAddresses &addresses) {
  if (auto ok = check(original, variant); !ok)
    return ok.error();
  auto inKernel = [&](const Error &why) {
    return why.withContext(fmt::format("{}: kernel '{}'", original.origin(), variant.kernel->name));
  };
  if (addresses.variables.size() < variant.variables.size())
    return inKernel(
        makeError("there are addresses for {} variables of {}", addresses.variables.size(), variant.variables.size()));
  std::vector<std::byte> code(variant.code.size() + original.target().fetchedAheadBytes);
  fillWithPadding(original.target(), code);
  std::ranges::copy(asBytes(variant.code), code.begin());
  for (const CodeRelocation &relocation : variant.relocations) {
    const uint64_t base = relocation.base == CodeRelocation::Base::Original ? addresses.original
                                                                            : addresses.variables[relocation.variable];
    const uint64_t value = base + relocation.addend;
    const auto half = static_cast<uint32_t>(relocation.high ? value >> 32 : value);
    memcpy(code.data() + relocation.offset, &half, sizeof half);
  }

  ElfWriter writer = ElfWriter::like(original.file());
  if (!original.metadataNote().empty()) {
    object::Metadata metadata = LUTHIER_TRY(original.metadata());
    metadata.kernels.assign(1, variant.metadata);
    if (auto ok = writer.replaceNote(kNoteOwner, kNoteMetadata, object::serialise(metadata)); !ok)
      return inKernel(ok.error());
  }
  const uint32_t rodata = LUTHIER_TRY(writer.add({.name = ".rodata",
                                                  .type = SHT_PROGBITS,
                                                  .flags = SHF_ALLOC,
                                                  .alignment = KernelDescriptor::kBytes,
                                                  .contents = std::vector<std::byte>(KernelDescriptor::kBytes),
                                                  .size = 0}));
  auto text = writer.add({.name = ".text",
                          .type = SHT_PROGBITS,
                          .flags = SHF_ALLOC | SHF_EXECINSTR,
                          .alignment = kCodeAlignment,
                          .contents = std::move(code),
                          .size = 0});
  if (!text)
    return inKernel(text.error());
  const uint64_t descriptor = writer.address(rodata), entry = writer.address(*text);
  std::ranges::copy(descriptorBytes(variant, descriptor, entry), writer.contents(rodata).begin());
  const std::string name(variant.kernel->name);
  addGlobal(writer, symbolOf(name, STB_GLOBAL, STT_FUNC, *text, entry, variant.functions.front().size));
  addGlobal(writer, symbolOf(name + ".kd", STB_GLOBAL, STT_OBJECT, rodata, descriptor, KernelDescriptor::kBytes));
  addFunctionSymbols(writer, variant, *text, entry);
  CodeMap map;
  addRanges(map, variant, entry);
  if (auto added = writer.add({.name = std::string(object::kMapSection),
                               .type = SHT_PROGBITS,
                               .flags = 0,
                               .alignment = 8,
                               .contents = encodeCodeMap(map),
                               .size = 0});
      !added)
    return inKernel(added.error());
  auto file = writer.write();
  if (!file)
    return inKernel(file.error());
  return file;
}

} // namespace luthier::rewrite
