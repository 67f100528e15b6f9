#include "object/elf_writer.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace luthier::object {

namespace {

constexpr uint64_t kAccess = SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR;

uint64_t alignUp(uint64_t value, uint64_t alignment) {
  return alignment < 2 ? value : (value + alignment - 1) / alignment * alignment;
}

template <class T> std::vector<T> entriesOf(ByteSpan bytes) {
  std::vector<T> entries(bytes.size() / sizeof(T));
  std::ranges::copy(bytes.first(entries.size() * sizeof(T)), std::as_writable_bytes(std::span(entries)).begin());
  return entries;
}

template <class T> std::vector<std::byte> bytesOf(const std::vector<T> &entries) {
  const auto bytes = std::as_bytes(std::span(entries));
  return {bytes.begin(), bytes.end()};
}

void put(std::vector<std::byte> &file, uint64_t offset, ByteSpan bytes) {
  if (file.size() < offset + bytes.size())
    file.resize(offset + bytes.size());
  std::ranges::copy(bytes, file.begin() + static_cast<ptrdiff_t>(offset));
}

std::vector<std::byte> encodeNote(std::string_view owner, uint32_t type, ByteSpan description) {
  const Elf64_Nhdr header{static_cast<Elf64_Word>(owner.size() + 1), static_cast<Elf64_Word>(description.size()), type};
  std::vector<std::byte> bytes;
  put(bytes, 0, std::as_bytes(std::span(&header, 1)));
  put(bytes, sizeof header, std::as_bytes(std::span(owner)));
  bytes.resize(sizeof header + alignUp(owner.size() + 1, 4));
  bytes.insert(bytes.end(), description.begin(), description.end());
  bytes.resize(alignUp(bytes.size(), 4));
  return bytes;
}

} // namespace

ElfWriter ElfWriter::like(const ElfFile &file) {
  ElfWriter writer;
  std::memcpy(&writer.header_, file.bytes.data(), sizeof writer.header_);
  writer.header_.e_phoff = writer.header_.e_shoff = writer.header_.e_entry = 0;
  writer.old_.resize(sizeof(Elf64_Ehdr));
  // Loaded from address 0 on, which ROCr takes for granted when it is asked where the object was loaded.
  writer.imageEnd_ = 0;
  writer.ensure(writer.symtab_, ".symtab", SHT_SYMTAB, 0, 8, sizeof(Elf64_Sym));
  writer.ensure(writer.dynsym_, ".dynsym", SHT_DYNSYM, SHF_ALLOC, 8, sizeof(Elf64_Sym));
  writer.ensure(writer.hash_, ".hash", SHT_HASH, SHF_ALLOC, 4, sizeof(uint32_t));
  writer.ensure(writer.gnuHash_, ".gnu.hash", SHT_GNU_HASH, SHF_ALLOC, 8, 0);
  writer.ensure(writer.dynamic_, ".dynamic", SHT_DYNAMIC, SHF_ALLOC, 8, sizeof(Elf64_Dyn));
  return writer;
}

Result<ElfWriter> ElfWriter::of(const ElfFile &file) {
  ElfWriter writer;
  std::memcpy(&writer.header_, file.bytes.data(), sizeof writer.header_);
  writer.old_.assign(file.bytes.begin(), file.bytes.end());
  if (file.names == 0)
    return makeError("the file has no section names");
  writer.names_ = file.names;
  writer.sections_.resize(file.sections.size());
  for (uint32_t n = 1; n < file.sections.size(); ++n) {
    const Section &from = file.sections[n];
    writer.sections_[n] = {.name = std::string(from.name),
                           .header = {.sh_name = 0,
                                      .sh_type = from.type,
                                      .sh_flags = from.flags,
                                      .sh_addr = from.address,
                                      .sh_offset = from.offset,
                                      .sh_size = from.size,
                                      .sh_link = from.link,
                                      .sh_info = from.info,
                                      .sh_addralign = from.alignment,
                                      .sh_entsize = from.entry},
                           .contents = {}};
    auto first = [&](uint32_t &number) { number = number ? number : n; };
    switch (from.type) {
    case SHT_SYMTAB:
      first(writer.symtab_);
      break;
    case SHT_DYNSYM:
      first(writer.dynsym_);
      break;
    case SHT_HASH:
      first(writer.hash_);
      break;
    case SHT_GNU_HASH:
      first(writer.gnuHash_);
      break;
    case SHT_DYNAMIC:
      first(writer.dynamic_);
      break;
    case SHT_RELA:
      // Relocations that the loader does; info would name a section that a linker does them in.
      if (from.allocated() && from.info == 0)
        first(writer.rela_);
      break;
    default:
      break;
    }
  }
  for (const ProgramHeader &from : file.segments) {
    writer.segments_.push_back({.p_type = from.type,
                                .p_flags = from.flags,
                                .p_offset = from.offset,
                                .p_vaddr = from.address,
                                .p_paddr = from.address,
                                .p_filesz = from.contents.size(),
                                .p_memsz = from.size,
                                .p_align = from.alignment});
    if (from.type == PT_LOAD)
      writer.imageEnd_ = std::max(writer.imageEnd_, from.address + from.size);
  }
  for (auto [table, list] : {std::pair(writer.symtab_, &writer.symbols), {writer.dynsym_, &writer.dynamicSymbols}})
    if (table)
      *list = LUTHIER_TRY(writer.readSymbols(table));
  if (!writer.dynsym_)
    return makeError("the file has no dynamic symbols");
  if (writer.rela_)
    writer.relocations_ = entriesOf<Elf64_Rela>(file.sections[writer.rela_].contents);
  return writer;
}

Result<std::vector<WriterSymbol>> ElfWriter::readSymbols(uint32_t table) const {
  const OutSection &section = sections_[table];
  if (section.header.sh_link >= sections_.size() || sections_[section.header.sh_link].header.sh_type != SHT_STRTAB)
    return makeError("the symbol table '{}' has no string table", section.name);
  const Elf64_Shdr &names = sections_[section.header.sh_link].header;
  const ByteSpan text = ByteSpan(old_).subspan(names.sh_offset, names.sh_size);
  std::vector<WriterSymbol> list;
  for (const Elf64_Sym &entry :
       entriesOf<Elf64_Sym>(ByteSpan(old_).subspan(section.header.sh_offset, section.header.sh_size))) {
    if (entry.st_shndx == SHN_XINDEX)
      return makeError("symbol {} of '{}' has its section's number in another table", list.size(), section.name);
    const std::string_view name =
        entry.st_name ? LUTHIER_TRY(textAt(text, entry.st_name, "a symbol's name")) : std::string_view();
    list.push_back({std::string(name), entry});
  }
  if (list.empty())
    list.emplace_back();
  return list;
}

uint32_t ElfWriter::ensure(uint32_t &number, const char *name, uint32_t type, uint64_t flags, uint64_t alignment,
                           uint64_t entry) {
  if (number == 0) {
    number = static_cast<uint32_t>(sections_.size());
    sections_.push_back({.name = name,
                         .header = {.sh_name = 0,
                                    .sh_type = type,
                                    .sh_flags = flags,
                                    .sh_addr = 0,
                                    .sh_offset = 0,
                                    .sh_size = 0,
                                    .sh_link = 0,
                                    .sh_info = 0,
                                    .sh_addralign = alignment,
                                    .sh_entsize = entry},
                         .contents = {}});
  }
  return number;
}

void ElfWriter::set(uint32_t section, std::vector<std::byte> contents) {
  OutSection &to = sections_[section];
  to.contents = std::move(contents);
  to.header.sh_size = to.contents.size();
  to.moved = true;
  // What an old file says may be anything, and would make room for it.
  if (!std::has_single_bit(to.header.sh_addralign) || to.header.sh_addralign > kPage)
    to.header.sh_addralign = 8;
}

void ElfWriter::replace(uint32_t section, std::vector<std::byte> contents) { set(section, std::move(contents)); }

StringTable &ElfWriter::strings(uint32_t section) {
  const auto it = strings_.find(section);
  if (it != strings_.end())
    return it->second;
  const Elf64_Shdr &header = sections_[section].header;
  const ByteSpan old = header.sh_offset ? ByteSpan(old_).subspan(header.sh_offset, header.sh_size) : ByteSpan();
  return strings_.emplace(section, old.empty() ? StringTable() : StringTable(old)).first->second;
}

void ElfWriter::openGroup(uint64_t flags) {
  imageEnd_ = alignUp(imageEnd_, kPage);
  Group &group = groups_.emplace_back();
  group.flags = flags & kAccess;
  group.address = imageEnd_;
}

Result<uint64_t> ElfWriter::reserve(uint64_t bytes, uint64_t alignment, bool inFile) {
  Group &group = groups_.back();
  const uint64_t address = alignUp(imageEnd_, alignment);
  if (address > kMaxImage || bytes > kMaxImage - address)
    return makeError("{:#x} more bytes behind {:#x} do not fit into a code object of 4 GiB", bytes, imageEnd_);
  imageEnd_ = address + bytes;
  group.bytes = imageEnd_ - group.address;
  if (inFile)
    group.fileBytes = group.bytes;
  return address;
}

Result<void> ElfWriter::place(uint32_t number) {
  Elf64_Shdr &header = sections_[number].header;
  header.sh_addr = LUTHIER_TRY(reserve(header.sh_size, header.sh_addralign, header.sh_type != SHT_NOBITS));
  groups_.back().sections.push_back(number);
  return {};
}

Result<uint32_t> ElfWriter::add(NewSection section) {
  if (sections_.size() >= SHN_LORESERVE)
    return makeError("there are {} sections already", sections_.size());
  if (!std::has_single_bit(section.alignment) || section.alignment > kPage)
    return makeError("{}: an alignment of {} cannot be had", section.name, section.alignment);
  uint32_t number = 0;
  ensure(number, section.name.c_str(), section.type, section.flags, section.alignment, 0);
  set(number, std::move(section.contents));
  const bool nobits = section.type == SHT_NOBITS;
  if (nobits)
    sections_[number].header.sh_size = section.size;
  if (!(section.flags & SHF_ALLOC))
    return number;
  // Behind zeros that are not in the file, a segment cannot go on with bytes that are.
  if (groups_.empty() || groups_.back().flags != (section.flags & kAccess) ||
      (!nobits && groups_.back().fileBytes != groups_.back().bytes))
    openGroup(section.flags);
  if (auto ok = place(number); !ok)
    return ok.error().withContext(section.name);
  return number;
}

Result<void> ElfWriter::overwrite(uint64_t address, ByteSpan bytes) {
  for (const Elf64_Phdr &segment : segments_) {
    const uint64_t offset = address - segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && offset <= segment.p_filesz &&
        segment.p_filesz - offset >= bytes.size()) {
      std::ranges::copy(bytes, old_.begin() + static_cast<ptrdiff_t>(segment.p_offset + offset));
      return {};
    }
  }
  return makeError("{:#x} bytes at address {:#x} are not in the file", bytes.size(), address);
}

void ElfWriter::relocate(uint64_t address, uint32_t type, uint32_t symbol, int64_t addend) {
  relocations_.push_back({address, ELF64_R_INFO(static_cast<uint64_t>(symbol), type), addend});
}

Result<void> ElfWriter::replaceNote(std::string_view owner, uint32_t type, ByteSpan description) {
  const std::vector<std::byte> fresh = encodeNote(owner, type, description);
  for (size_t n = 0; n < segments_.size(); ++n) {
    const Elf64_Phdr &segment = segments_[n];
    if (segment.p_type != PT_NOTE)
      continue;
    const ByteSpan notes = ByteSpan(old_).subspan(segment.p_offset, segment.p_filesz);
    for (uint64_t at = 0; notes.size() - at >= sizeof(Elf64_Nhdr);) {
      const auto note = loadAs<Elf64_Nhdr>(notes.data() + at);
      const uint64_t name = at + sizeof note, text = name + alignUp(note.n_namesz, 4);
      if (text > notes.size() || note.n_descsz > notes.size() - text)
        return makeError("the note at offset {:#x} reaches beyond its segment", segment.p_offset + at);
      const uint64_t end = std::min<uint64_t>(alignUp(text + note.n_descsz, 4), notes.size());
      const std::string_view its(reinterpret_cast<const char *>(notes.data() + name), note.n_namesz);
      if (note.n_type == type && its.substr(0, its.find('\0')) == owner) {
        Notes changed{.segment = n, .bytes = {}, .begin = at, .oldBytes = end - at};
        put(changed.bytes, 0, notes.first(at));
        put(changed.bytes, at, fresh);
        put(changed.bytes, changed.bytes.size(), notes.subspan(end));
        notes_ = std::move(changed);
        return {};
      }
      at = end;
    }
  }
  note_ = LUTHIER_TRY(
      add({.name = ".note", .type = SHT_NOTE, .flags = SHF_ALLOC, .alignment = 4, .contents = fresh, .size = 0}));
  return {};
}

/// Everything that refers to symbols of a table by number.
void ElfWriter::renumber(uint32_t table, const std::vector<uint32_t> &places) {
  auto renumbered = [&](Elf64_Rela &entry) {
    const uint64_t symbol = ELF64_R_SYM(entry.r_info);
    if (symbol < places.size())
      entry.r_info = ELF64_R_INFO(static_cast<uint64_t>(places[symbol]), ELF64_R_TYPE(entry.r_info));
  };
  for (uint32_t n = 1; n < sections_.size(); ++n) {
    const Elf64_Shdr &header = sections_[n].header;
    if (header.sh_type != SHT_RELA || header.sh_link != table || n == rela_)
      continue;
    auto entries = entriesOf<Elf64_Rela>(ByteSpan(old_).subspan(header.sh_offset, header.sh_size));
    std::ranges::for_each(entries, renumbered);
    put(old_, header.sh_offset, bytesOf(entries));
  }
  if (table == dynsym_)
    std::ranges::for_each(relocations_, renumbered);
}

EncodedSymbols ElfWriter::encode(uint32_t table) {
  const bool dynamic = table == dynsym_;
  uint32_t text = sections_[table].header.sh_link;
  ensure(text, dynamic ? ".dynstr" : ".strtab", SHT_STRTAB, dynamic ? SHF_ALLOC : 0, 1, 0);
  EncodedSymbols encoded = encodeSymbols(dynamic ? dynamicSymbols : symbols, strings(text), dynamic);
  sections_[table].header.sh_link = text;
  sections_[table].header.sh_info = encoded.firstGlobal;
  set(table, encoded.bytes);
  return encoded;
}

void ElfWriter::encodeTables() {
  if (symtab_)
    renumber(symtab_, encode(symtab_).places);
  EncodedSymbols dynamic = encode(dynsym_);
  renumber(dynsym_, dynamic.places);
  for (auto [number, contents] : {std::pair(hash_, &dynamic.hash), {gnuHash_, &dynamic.gnuHash}})
    if (number) {
      set(number, std::move(*contents));
      sections_[number].header.sh_link = dynsym_;
    }
  if (dynamic_)
    sections_[dynamic_].header.sh_link = sections_[dynsym_].header.sh_link;
  if (!relocations_.empty()) {
    ensure(rela_, ".rela.dyn", SHT_RELA, SHF_ALLOC, 8, sizeof(Elf64_Rela));
    sections_[rela_].header.sh_link = dynsym_;
    set(rela_, bytesOf(relocations_));
  }
  ensure(names_, ".shstrtab", SHT_STRTAB, 0, 1, 0);
  for (OutSection &section : sections_)
    section.header.sh_name = strings(names_).add(section.name);
  for (const auto &[number, table] : strings_)
    set(number, table.bytes());
}

/// The old entries, with what has moved put right.
std::vector<std::byte> ElfWriter::dynamicEntries() const {
  std::vector<Elf64_Dyn> entries;
  const Elf64_Shdr &old = sections_[dynamic_].header;
  if (!sections_[dynamic_].moved && old.sh_offset)
    entries = entriesOf<Elf64_Dyn>(ByteSpan(old_).subspan(old.sh_offset, old.sh_size));
  else
    entries = entriesOf<Elf64_Dyn>(sections_[dynamic_].contents);
  std::erase_if(entries, [](const Elf64_Dyn &entry) { return entry.d_tag == DT_NULL; });
  auto say = [&](int64_t tag, uint64_t value) {
    const auto it = std::ranges::find(entries, tag, &Elf64_Dyn::d_tag);
    Elf64_Dyn &entry = it == entries.end() ? entries.emplace_back() : *it;
    entry.d_tag = tag;
    entry.d_un.d_val = value;
  };
  const OutSection &table = sections_[dynsym_], &text = sections_[table.header.sh_link];
  say(DT_SYMTAB, table.header.sh_addr);
  say(DT_SYMENT, sizeof(Elf64_Sym));
  say(DT_STRTAB, text.header.sh_addr);
  say(DT_STRSZ, text.header.sh_size);
  if (gnuHash_)
    say(DT_GNU_HASH, sections_[gnuHash_].header.sh_addr);
  if (hash_)
    say(DT_HASH, sections_[hash_].header.sh_addr);
  if (rela_) {
    say(DT_RELA, sections_[rela_].header.sh_addr);
    say(DT_RELASZ, sections_[rela_].header.sh_size);
    say(DT_RELAENT, sizeof(Elf64_Rela));
  }
  entries.push_back({DT_NULL, {0}});
  return bytesOf(entries);
}

/// What was encoded and is loaded goes into a segment of its own, at the end, behind the program headers.
Result<void> ElfWriter::placeTables() {
  openGroup(SHF_ALLOC);
  if (auto room = reserve(programHeaders().size() * sizeof(Elf64_Phdr), 8, true); !room)
    return room.error();
  if (notes_) {
    notes_->address = LUTHIER_TRY(reserve(notes_->bytes.size(), 4, true));
    moveNoteSections();
  }
  if (dynamic_)
    set(dynamic_, dynamicEntries());
  for (uint32_t number : {dynsym_, gnuHash_, hash_, sections_[dynsym_].header.sh_link, rela_, dynamic_})
    if (number && sections_[number].moved)
      if (auto ok = place(number); !ok)
        return ok;
  if (dynamic_) {
    set(dynamic_, dynamicEntries());
    sections_[dynamic_].header.sh_flags &= ~uint64_t{SHF_WRITE};
    for (auto *list : {&symbols, &dynamicSymbols})
      for (WriterSymbol &symbol : *list)
        if (symbol.name == "_DYNAMIC" && symbol.entry.st_shndx == dynamic_)
          symbol.entry.st_value = sections_[dynamic_].header.sh_addr;
    // Once more for that; nothing but the value changes.
    for (uint32_t table : {symtab_, dynsym_})
      if (table)
        encode(table);
  }
  return {};
}

void ElfWriter::moveNoteSections() {
  const Elf64_Phdr &old = segments_[notes_->segment];
  const uint64_t growth = notes_->bytes.size() - old.p_filesz; // may wrap: it is only added
  for (uint32_t n = 1; n < sections_.size(); ++n) {
    Elf64_Shdr &header = sections_[n].header;
    const uint64_t begin = header.sh_offset - old.p_offset;
    if (header.sh_type != SHT_NOTE || header.sh_offset < old.p_offset || begin >= old.p_filesz)
      continue;
    const bool behind = begin > notes_->begin;
    if (!behind && notes_->begin < begin + header.sh_size)
      header.sh_size += growth;
    header.sh_addr = notes_->address + begin + (behind ? growth : 0);
  }
}

std::vector<Elf64_Phdr> ElfWriter::programHeaders() const {
  std::vector<Elf64_Phdr> headers = segments_;
  auto has = [&](uint32_t type) { return std::ranges::find(headers, type, &Elf64_Phdr::p_type) != headers.end(); };
  auto extra = [&](uint32_t type, uint64_t alignment) {
    return Elf64_Phdr{.p_type = type,
                      .p_flags = PF_R,
                      .p_offset = 0,
                      .p_vaddr = 0,
                      .p_paddr = 0,
                      .p_filesz = 0,
                      .p_memsz = 0,
                      .p_align = alignment};
  };
  if (!has(PT_PHDR))
    headers.insert(headers.begin(), extra(PT_PHDR, 8));
  if (dynamic_ && !has(PT_DYNAMIC))
    headers.push_back(extra(PT_DYNAMIC, 8));
  if (note_)
    headers.push_back(extra(PT_NOTE, 4));
  // Loaded segments must be in the order of their addresses: ROCr takes the image's size from the last one.
  const auto last = std::find_if(headers.rbegin(), headers.rend(), [](auto &h) { return h.p_type == PT_LOAD; });
  const auto behind = last == headers.rend() ? headers.begin() + 1 /* PT_PHDR */ : last.base();
  std::vector<Elf64_Phdr> loads;
  for (const Group &group : groups_)
    loads.push_back(
        {.p_type = PT_LOAD,
         .p_flags = PF_R | (group.flags & SHF_EXECINSTR ? PF_X : 0u) | (group.flags & SHF_WRITE ? PF_W : 0u),
         .p_offset = group.offset,
         .p_vaddr = group.address,
         .p_paddr = group.address,
         .p_filesz = group.fileBytes,
         .p_memsz = group.bytes,
         .p_align = kPage});
  headers.insert(behind, loads.begin(), loads.end());

  const Group &tables = groups_.back();
  auto move = [&](Elf64_Phdr &header, uint64_t address, uint64_t size) {
    header.p_vaddr = header.p_paddr = address;
    header.p_offset = tables.offset + (address - tables.address);
    header.p_filesz = header.p_memsz = size;
  };
  for (Elf64_Phdr &header : headers) {
    if (header.p_type == PT_PHDR) {
      move(header, tables.address, headers.size() * sizeof(Elf64_Phdr));
    } else if (header.p_type == PT_DYNAMIC && dynamic_) {
      move(header, sections_[dynamic_].header.sh_addr, sections_[dynamic_].header.sh_size);
      header.p_flags = PF_R;
    } else if (header.p_type == PT_NOTE && header.p_filesz == 0 && note_) {
      const Elf64_Shdr &note = sections_[note_].header;
      header.p_vaddr = header.p_paddr = note.sh_addr;
      header.p_offset = note.sh_offset;
      header.p_filesz = header.p_memsz = note.sh_size;
    } else if (header.p_type == PT_NOTE && notes_ && header.p_offset == segments_[notes_->segment].p_offset) {
      move(header, notes_->address, notes_->bytes.size());
    }
  }
  return headers;
}

std::vector<std::byte> ElfWriter::assemble() {
  std::vector<std::byte> file = std::move(old_);
  for (Group &group : groups_) {
    group.offset = alignUp(file.size(), kPage);
    file.resize(group.offset + group.fileBytes);
    for (uint32_t number : group.sections) {
      Elf64_Shdr &header = sections_[number].header;
      header.sh_offset = group.offset + (header.sh_addr - group.address);
      if (header.sh_type != SHT_NOBITS)
        put(file, header.sh_offset, sections_[number].contents);
    }
  }
  const Group &tables = groups_.back();
  auto offsetOf = [&](uint64_t address) { return tables.offset + (address - tables.address); };
  if (notes_) {
    put(file, offsetOf(notes_->address), notes_->bytes);
    for (OutSection &section : sections_)
      if (section.header.sh_type == SHT_NOTE && section.header.sh_addr >= notes_->address)
        section.header.sh_offset = offsetOf(section.header.sh_addr);
  }
  const std::vector<Elf64_Phdr> headers = programHeaders();
  header_.e_phoff = tables.offset;
  header_.e_phnum = static_cast<Elf64_Half>(headers.size());
  put(file, header_.e_phoff, bytesOf(headers));

  std::vector<Elf64_Shdr> sections;
  for (OutSection &section : sections_) {
    if (section.moved && !(section.header.sh_flags & SHF_ALLOC)) {
      section.header.sh_offset = alignUp(file.size(), section.header.sh_addralign);
      put(file, section.header.sh_offset, section.contents);
    }
    sections.push_back(section.header);
  }
  header_.e_shoff = alignUp(file.size(), 8);
  header_.e_shnum = static_cast<Elf64_Half>(sections.size());
  header_.e_shstrndx = static_cast<Elf64_Half>(names_);
  header_.e_phentsize = sizeof(Elf64_Phdr);
  header_.e_shentsize = sizeof(Elf64_Shdr);
  put(file, header_.e_shoff, bytesOf(sections));
  put(file, 0, std::as_bytes(std::span(&header_, 1)));
  return file;
}

Result<std::vector<std::byte>> ElfWriter::write() {
  encodeTables();
  if (auto ok = placeTables(); !ok)
    return ok.error();
  if (sections_.size() >= SHN_LORESERVE || groups_.size() + segments_.size() + 3 >= PN_XNUM)
    return makeError("{} sections do not fit into the file's header", sections_.size());
  return assemble();
}

} // namespace luthier::object
