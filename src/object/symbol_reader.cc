// Symbols come from .symtab, which also has what is local, and from .dynsym, which is all that a stripped object has.
//
// What a symbol is follows from its ELF type and from its name: an object called NAME.kd of 64 bytes is the descriptor
// of the kernel NAME, whose code begins where the descriptor says. A function symbol of the kernel's name gives the
// code's size. Functions that are no kernels are device functions, which HSA does not tell of; objects are variables.
// Undefined symbols mostly have no type; as a loader can only be given variables for them, variables they are.

#include "object/symbol_reader.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace luthier::object {

namespace {

constexpr std::string_view kDescriptorSuffix = ".kd";

bool isDescriptor(const ElfSymbol &symbol) {
  return symbol.defined() && symbol.type() == STT_OBJECT && symbol.name.size() > kDescriptorSuffix.size() &&
         symbol.name.ends_with(kDescriptorSuffix) && symbol.entry.st_size == KernelDescriptor::kBytes;
}

std::string_view kernelName(const ElfSymbol &descriptor) {
  return descriptor.name.substr(0, descriptor.name.size() - kDescriptorSuffix.size());
}

bool isExternal(const ElfSymbol &symbol) {
  const unsigned visibility = ELF64_ST_VISIBILITY(symbol.entry.st_other);
  return symbol.binding() != STB_LOCAL && (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
}

Symbol symbolFrom(const ElfSymbol &from, SymbolKind kind) {
  return {.name = from.name,
          .kind = kind,
          .address = from.entry.st_value,
          .size = from.entry.st_size,
          .defined = from.defined(),
          .external = isExternal(from),
          .weak = from.binding() == STB_WEAK,
          .sized = from.entry.st_size != 0};
}

} // namespace

// Names may share text (one is the end of another), but not without limit: a hostile table could let every symbol be
// called by the same megabyte.
SymbolReader::SymbolReader(CodeObject &object) : o_(object), nameBudget_(8 * object.elf_.bytes.size()) {}

Result<void> SymbolReader::read() {
  std::vector<ElfSymbol> dynamic, full;
  if (const Section *table = o_.elf_.sectionOfType(SHT_DYNSYM))
    dynamic = LUTHIER_TRY(readTable(*table));
  if (const Section *table = o_.elf_.sectionOfType(SHT_SYMTAB))
    full = LUTHIER_TRY(readTable(*table));
  if (auto ok = addSymbols(full.empty() ? dynamic : full); !ok)
    return ok;
  if (!full.empty())
    if (auto ok = addUnlisted(dynamic); !ok)
      return ok;
  giveSizes();
  index();
  return readRelocations(dynamic);
}

Result<std::vector<ElfSymbol>> SymbolReader::readTable(const Section &table) {
  if (table.link >= o_.elf_.sections.size())
    return makeError("the symbol table '{}' at offset {:#x} has its strings in section {}, which does not exist",
                     table.name, table.offset, table.link);
  const ByteSpan strings = o_.elf_.sections[table.link].contents;
  const size_t count = table.contents.size() / sizeof(Elf64_Sym);
  std::vector<ElfSymbol> symbols(count);
  for (size_t n = 0; n < count; ++n) {
    ElfSymbol &symbol = symbols[n];
    symbol.entry = loadAs<Elf64_Sym>(table.contents.data() + n * sizeof(Elf64_Sym));
    if (symbol.entry.st_name == 0)
      continue;
    auto name = textAt(strings, symbol.entry.st_name, "its name");
    if (!name)
      return name.error().withContext(fmt::format("symbol {} of '{}' at offset {:#x}", n, table.name, table.offset));
    if (name->size() > nameBudget_)
      return makeError("symbol {} of '{}' at offset {:#x}: the names are longer than the whole file", n, table.name,
                       table.offset);
    nameBudget_ -= name->size();
    symbol.name = *name;
  }
  return symbols;
}

Result<void> SymbolReader::addSymbols(std::span<const ElfSymbol> table) {
  for (const ElfSymbol &symbol : table)
    if (isDescriptor(symbol))
      if (auto ok = addKernel(symbol); !ok)
        return ok;
  // By name, so that a kernel's own function symbol is told from others.
  std::unordered_map<std::string_view, size_t> kernels;
  for (size_t n = 0; n < o_.symbols_.size(); ++n)
    kernels.emplace(o_.symbols_[n].name, n);
  for (const ElfSymbol &symbol : table) {
    if (symbol.name.empty() || isDescriptor(symbol))
      continue;
    if (symbol.type() == STT_FUNC) {
      const auto it = kernels.find(symbol.name);
      Symbol *kernel = it == kernels.end() ? nullptr : &o_.symbols_[it->second];
      if (kernel && symbol.defined() && symbol.entry.st_value == kernel->address) {
        kernel->size = symbol.entry.st_size;
        kernel->sized = kernel->size != 0;
      } else {
        o_.symbols_.push_back(symbolFrom(symbol, SymbolKind::DeviceFunction));
      }
    } else if (symbol.type() == STT_OBJECT || (!symbol.defined() && symbol.type() == STT_NOTYPE)) {
      // The linker's own: the address of the dynamic section.
      if (symbol.name != "_DYNAMIC")
        o_.symbols_.push_back(symbolFrom(symbol, SymbolKind::Variable));
    }
  }
  return {};
}

Result<void> SymbolReader::addKernel(const ElfSymbol &descriptor) {
  Symbol kernel = symbolFrom(descriptor, SymbolKind::Kernel);
  kernel.name = kernelName(descriptor);
  kernel.descriptor = descriptor.entry.st_value;
  kernel.size = 0;
  kernel.sized = false;
  auto read = o_.descriptor(kernel);
  if (!read)
    return makeError("the descriptor of kernel '{}' at address {:#x} is not in the file", kernel.name,
                     kernel.descriptor);
  kernel.address = kernel.descriptor + static_cast<uint64_t>(read->entryOffset);
  o_.symbols_.push_back(kernel);
  return {};
}

/// What only .dynsym has, which is odd but not forbidden.
Result<void> SymbolReader::addUnlisted(std::span<const ElfSymbol> table) {
  std::unordered_set<std::string_view> known;
  for (const Symbol &symbol : o_.symbols_)
    known.insert(symbol.name);
  std::vector<ElfSymbol> missing;
  for (const ElfSymbol &symbol : table)
    if (!known.contains(isDescriptor(symbol) ? kernelName(symbol) : symbol.name))
      missing.push_back(symbol);
  return addSymbols(missing);
}

/// Sizes for functions without one: up to the next function, or to the end of the section.
void SymbolReader::giveSizes() {
  std::vector<uint64_t> starts;
  for (const Symbol &symbol : o_.symbols_)
    if (symbol.function() && symbol.defined)
      starts.push_back(symbol.address);
  std::ranges::sort(starts);
  std::vector<std::pair<uint64_t, uint64_t>> code; // address and end
  for (const Section &section : o_.elf_.sections)
    if (section.allocated() && section.executable() && section.size <= UINT64_MAX - section.address)
      code.emplace_back(section.address, section.address + section.size);
  std::ranges::sort(code);
  for (Symbol &symbol : o_.symbols_) {
    if (!symbol.function() || !symbol.defined)
      continue;
    if (symbol.size > UINT64_MAX - symbol.address)
      symbol.size = UINT64_MAX - symbol.address; // code() will refuse it; end() must not wrap
    if (symbol.sized)
      continue;
    const auto section = std::ranges::upper_bound(code, symbol.address, {}, &std::pair<uint64_t, uint64_t>::first);
    if (section == code.begin() || std::prev(section)->second <= symbol.address)
      continue; // outside any code: no size to be had
    uint64_t end = std::prev(section)->second;
    const auto next = std::ranges::upper_bound(starts, symbol.address);
    if (next != starts.end())
      end = std::min(end, *next);
    symbol.size = end - symbol.address;
  }
}

void SymbolReader::index() {
  std::ranges::sort(o_.symbols_, [](const Symbol &a, const Symbol &b) {
    return std::tie(a.kind, a.address, a.name) < std::tie(b.kind, b.address, b.name);
  });
  o_.byName_.reserve(o_.symbols_.size());
  for (uint32_t n = 0; n < o_.symbols_.size(); ++n) {
    o_.byName_.emplace_back(std::hash<std::string_view>{}(o_.symbols_[n].name), n);
    if (o_.symbols_[n].function() && o_.symbols_[n].defined)
      o_.functions_.push_back(n);
  }
  std::ranges::sort(o_.byName_);
  // Kernels stay behind device functions of the same address: functionAt then finds the kernel.
  std::ranges::sort(o_.functions_, [&](uint32_t a, uint32_t b) {
    const Symbol &x = o_.symbols_[a], &y = o_.symbols_[b];
    return std::tuple(x.address, y.kind, b) < std::tuple(y.address, x.kind, a);
  });
  uint64_t end = 0;
  for (uint32_t n : o_.functions_)
    o_.functionsEnd_.push_back(end = std::max(end, o_.symbols_[n].end()));
}

Result<void> SymbolReader::readRelocations(std::span<const ElfSymbol> dynamic) {
  uint64_t total = 0;
  for (const Section &section : o_.elf_.sections) {
    if (section.type != SHT_RELA || !section.allocated())
      continue;
    total += section.contents.size();
    if (total > o_.elf_.bytes.size())
      return makeError("the relocation sections overlap, the last at offset {:#x}", section.offset);
    for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= section.contents.size(); at += sizeof(Elf64_Rela)) {
      const auto entry = loadAs<Elf64_Rela>(section.contents.data() + at);
      Relocation &relocation = o_.relocations_.emplace_back();
      relocation.address = entry.r_offset;
      relocation.type = static_cast<uint32_t>(ELF64_R_TYPE(entry.r_info));
      relocation.addend = entry.r_addend;
      if (relocation.type != static_cast<uint32_t>(RelocationType::None) &&
          (relocation.address > o_.imageSize_ || o_.imageSize_ - relocation.address < 8))
        return makeError("the relocation at offset {:#x} is of address {:#x}, which lies outside the code object",
                         section.offset + at, relocation.address);
      const uint64_t number = ELF64_R_SYM(entry.r_info);
      if (number == 0)
        continue;
      if (number >= dynamic.size())
        return makeError("the relocation at offset {:#x} is for symbol {}, which does not exist", section.offset + at,
                         number);
      const ElfSymbol &symbol = dynamic[number];
      relocation.hasSymbol = true;
      relocation.symbol = symbol.name;
      relocation.defined = symbol.defined();
      relocation.symbolAddress = relocation.defined ? symbol.entry.st_value : 0;
      relocation.weak = symbol.binding() == STB_WEAK;
    }
  }
  std::ranges::sort(o_.relocations_, {}, [](const Relocation &r) { return std::pair(r.address, r.type); });
  return {};
}

} // namespace luthier::object
