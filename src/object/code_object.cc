#include "object/code_object.h"

#include "object/symbol_reader.h"

#include <elf.h>

#include <algorithm>

namespace luthier::object {

namespace {

constexpr uint8_t kOsAbiAmdGpuHsa = 64;
constexpr uint32_t kNoteMetadata = 32;

uint64_t alignedTo4(uint64_t size) { return (size + 3) & ~uint64_t{3}; }

} // namespace

Result<CodeObject> CodeObject::parse(std::span<const std::byte> elf, std::string origin) {
  CodeObject object;
  object.origin_ = std::move(origin);
  auto file = ElfFile::parse(elf);
  if (!file)
    return object.error(file.error());
  object.elf_ = *std::move(file);
  for (auto step : {&CodeObject::readHeader, &CodeObject::readSegments, &CodeObject::findNote})
    if (auto ok = (object.*step)(); !ok)
      return object.error(ok.error());
  if (auto ok = SymbolReader(object).read(); !ok)
    return object.error(ok.error());
  return object;
}

Result<void> CodeObject::readHeader() {
  if (elf_.machine != kMachineAmdGpu)
    return makeError("not an AMD GPU code object (ELF machine {})", elf_.machine);
  if (elf_.osAbi != kOsAbiAmdGpuHsa)
    return makeError("not a code object for HSA (OS ABI {})", elf_.osAbi);
  if (elf_.type != ET_DYN)
    return makeError("the code object is not linked (use ld.lld -shared)");
  // EI_ABIVERSION counts from version 2.
  version_ = elf_.abiVersion + 2u;
  if (version_ < 3 || version_ > 6)
    return makeError("code object version {} is not supported (ABI version {})", version_, elf_.abiVersion);
  targetId_ = isa::TargetId::fromElf(elf_.flags, version_);
  targetText_ = targetId_.text();
  target_ = isa::findTarget(targetId_.processor);
  return {};
}

Result<void> CodeObject::readSegments() {
  for (size_t n = 0; n < elf_.segments.size(); ++n) {
    const ProgramHeader &segment = elf_.segments[n];
    if (segment.type != PT_LOAD)
      continue;
    if (segment.contents.size() > segment.size || segment.size > kMaxImage || segment.address > kMaxImage)
      return makeError("segment {} (address {:#x}, {:#x} bytes, {:#x} of them in the file) is malformed", n,
                       segment.address, segment.size, segment.contents.size());
    segments_.push_back(
        {segment.address, segment.contents, segment.size, (segment.flags & PF_X) != 0, (segment.flags & PF_W) != 0});
    imageSize_ = std::max(imageSize_, segment.address + segment.size);
  }
  std::ranges::sort(segments_, {}, &Segment::address);
  if (segments_.empty())
    return makeError("the code object has nothing to load");
  for (size_t n = 1; n < segments_.size(); ++n)
    if (segments_[n - 1].address + segments_[n - 1].size > segments_[n].address)
      return makeError("the segments at {:#x} and {:#x} overlap", segments_[n - 1].address, segments_[n].address);
  return {};
}

Result<void> CodeObject::findNote() {
  for (const ProgramHeader &segment : elf_.segments) {
    if (segment.type != PT_NOTE)
      continue;
    const ByteSpan notes = segment.contents;
    for (uint64_t at = 0; notes.size() - at >= sizeof(Elf64_Nhdr);) {
      const auto note = loadAs<Elf64_Nhdr>(notes.data() + at);
      const uint64_t name = at + sizeof note;
      const uint64_t contents = name + alignedTo4(note.n_namesz);
      const uint64_t end = contents + alignedTo4(note.n_descsz);
      // The last note's padding may be missing.
      if (contents + note.n_descsz > notes.size())
        return makeError("the note at offset {:#x} reaches beyond its segment", segment.offset + at);
      const auto *text = reinterpret_cast<const char *>(notes.data() + name);
      // Version 3 and later name it so; the terminating NUL is counted.
      if (note.n_type == kNoteMetadata && note_.empty() && std::string_view(text, note.n_namesz).starts_with("AMDGPU"))
        note_ = notes.subspan(contents, note.n_descsz);
      at = std::min<uint64_t>(end, notes.size());
    }
  }
  return {};
}

std::span<const Symbol> CodeObject::symbols(SymbolKind kind) const {
  const auto range = std::ranges::equal_range(symbols_, kind, {}, &Symbol::kind);
  return {range.begin(), range.end()};
}

const Symbol *CodeObject::find(std::string_view name) const {
  auto look = [&](std::string_view text) -> const Symbol * {
    const uint64_t hash = std::hash<std::string_view>{}(text);
    for (auto it = std::ranges::lower_bound(byName_, std::pair{hash, uint32_t{0}});
         it != byName_.end() && it->first == hash; ++it)
      if (symbols_[it->second].name == text)
        return &symbols_[it->second];
    return nullptr;
  };
  if (const Symbol *symbol = look(name))
    return symbol;
  if (!name.ends_with(".kd"))
    return nullptr;
  const Symbol *kernel = look(name.substr(0, name.size() - 3));
  return kernel && kernel->kind == SymbolKind::Kernel ? kernel : nullptr;
}

const Symbol *CodeObject::functionAt(uint64_t address) const {
  const auto it = std::ranges::upper_bound(code_, address, {}, &CodeRange::begin);
  if (it == code_.begin() || std::prev(it)->end <= address)
    return nullptr;
  return &symbols_[std::prev(it)->symbol];
}

std::vector<std::pair<const Symbol *, const Symbol *>> CodeObject::overlaps() const {
  std::vector<std::pair<const Symbol *, const Symbol *>> pairs;
  std::vector<const Symbol *> open; // begun and perhaps not ended, the last on top
  for (uint32_t n : functions_) {
    const Symbol &symbol = symbols_[n];
    while (!open.empty() && open.back()->end() <= symbol.address)
      open.pop_back();
    if (!open.empty()) {
      if (open.back()->address == symbol.address && open.back()->size == symbol.size)
        continue;
      pairs.emplace_back(open.back(), &symbol);
    }
    open.push_back(&symbol);
  }
  return pairs;
}

const Relocation *CodeObject::relocationAt(uint64_t address) const {
  const auto it = std::ranges::lower_bound(relocations_, address, {}, &Relocation::address);
  return it != relocations_.end() && it->address == address ? &*it : nullptr;
}

Result<std::span<const std::byte>> CodeObject::bytesAt(uint64_t address, uint64_t size) const {
  const auto it = std::ranges::upper_bound(segments_, address, {}, &Segment::address);
  if (it != segments_.begin()) {
    const Segment &segment = *std::prev(it);
    const uint64_t offset = address - segment.address;
    if (offset <= segment.contents.size() && segment.contents.size() - offset >= size)
      return segment.contents.subspan(offset, size);
  }
  return makeError("{}: {:#x} bytes at address {:#x} are not in the file", origin_, size, address);
}

Result<std::span<const uint8_t>> CodeObject::code(const Symbol &function) const {
  if (!function.defined || !function.function())
    return makeError("{}: '{}' is not a function of this code object", origin_, function.name);
  auto bytes = bytesAt(function.address, function.size);
  if (!bytes)
    return makeError("{}: the code of '{}' ({:#x} bytes at address {:#x}) is not in the file", origin_, function.name,
                     function.size, function.address);
  return std::span(reinterpret_cast<const uint8_t *>(bytes->data()), bytes->size());
}

Result<KernelDescriptor> CodeObject::descriptor(const Symbol &kernel) const {
  if (kernel.kind != SymbolKind::Kernel)
    return makeError("{}: '{}' is not a kernel", origin_, kernel.name);
  const auto bytes = LUTHIER_TRY(bytesAt(kernel.descriptor, KernelDescriptor::kBytes));
  return KernelDescriptor::read(bytes.first<KernelDescriptor::kBytes>());
}

Result<Metadata> CodeObject::metadata(MetadataParts parts) const {
  if (note_.empty())
    return Metadata{};
  auto metadata = parseMetadata(note_, parts);
  if (!metadata)
    return error(metadata.error().withContext(
        fmt::format("metadata note at offset {:#x}", static_cast<uint64_t>(note_.data() - elf_.bytes.data()))));
  return metadata;
}

} // namespace luthier::object
