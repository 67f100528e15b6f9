#include "object/replace_images.h"

#include "object/bundle.h"
#include "object/container.h"
#include "object/decompress.h"
#include "object/elf_file.h"

#include <algorithm>
#include <elf.h>
#include <optional>
#include <utility>

namespace luthier::object {

namespace {

using Bytes = std::vector<std::byte>;

/// Code objects in bundles, bundles in files, and segments begin at multiples of it: they are mapped and loaded in
/// place.
constexpr uint64_t kPage = 4096;

uint64_t roundUp(uint64_t value) { return (value + kPage - 1) / kPage * kPage; }

template <class T> void put(Bytes &into, uint64_t offset, const T &value) {
  if (into.size() < offset + sizeof value)
    into.resize(offset + sizeof value);
  std::memcpy(into.data() + offset, &value, sizeof value);
}

void put(Bytes &into, uint64_t offset, ByteSpan bytes) {
  if (into.size() < offset + bytes.size())
    into.resize(offset + bytes.size());
  std::ranges::copy(bytes, into.begin() + static_cast<std::ptrdiff_t>(offset));
}

ByteSpan bytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

/// A bundle, not compressed.
Bytes writeBundle(const std::vector<std::pair<std::string, ByteSpan>> &entries) {
  constexpr std::string_view kMagic = "__CLANG_OFFLOAD_BUNDLE__";
  uint64_t tableEnd = kMagic.size() + sizeof(uint64_t);
  for (const auto &[id, contents] : entries)
    tableEnd += 3 * sizeof(uint64_t) + id.size();
  Bytes bundle;
  put(bundle, 0, bytesOf(kMagic));
  put<uint64_t>(bundle, kMagic.size(), entries.size());
  uint64_t at = kMagic.size() + sizeof(uint64_t), end = tableEnd;
  for (const auto &[id, contents] : entries) {
    const uint64_t offset = contents.empty() ? roundUp(tableEnd) : roundUp(end);
    put<uint64_t>(bundle, at, offset);
    put<uint64_t>(bundle, at + 8, contents.size());
    put<uint64_t>(bundle, at + 16, id.size());
    put(bundle, at + 24, bytesOf(id));
    at += 24 + id.size();
    if (contents.empty())
      continue;
    put(bundle, offset, contents);
    end = offset + contents.size();
  }
  if (bundle.size() < roundUp(tableEnd))
    bundle.resize(roundUp(tableEnd));
  return bundle;
}

struct NewGroup {
  const ImageGroup *old = nullptr;
  Bytes bytes; ///< empty: as it was
  ByteSpan contents() const { return bytes.empty() ? old->bytes : ByteSpan(bytes); }
};

/// The group with those of its images replaced that are in `images`; its first has the number `number`, which becomes
/// the next group's.
Result<NewGroup> replaceIn(const Container &container, const ImageGroup &group, const NewImages &images,
                           uint64_t &number) {
  NewGroup result{.old = &group, .bytes = {}};
  const std::vector<Image> there = LUTHIER_TRY(container.images(group));
  const uint64_t first = std::exchange(number, number + there.size());
  if (images.lower_bound(first) == images.lower_bound(number))
    return result;
  if (group.kind == ImageGroup::Kind::OffloadBinary)
    return makeError("{}: the offload binary at offset {:#x} (OpenMP) cannot be replaced", container.name(),
                     group.offset);
  if (group.kind == ImageGroup::Kind::CodeObject) {
    result.bytes = images.at(first);
    return result;
  }
  std::optional<Unpacked> unpacked;
  if (group.kind == ImageGroup::Kind::CompressedBundle)
    unpacked = LUTHIER_TRY(unpack(group.bytes, LUTHIER_TRY(readCompressedHeader(group.bytes))));
  const Bundle bundle = LUTHIER_TRY(readBundle(unpacked ? unpacked->bundle.bytes() : group.bytes));
  std::vector<std::pair<std::string, ByteSpan>> entries;
  uint64_t next = first;
  for (const BundleEntry &entry : bundle.entries) {
    ByteSpan contents = entry.contents;
    if (!entry.target().empty() && !contents.empty()) // as the container counts
      if (const auto found = images.find(next++); found != images.end())
        contents = found->second;
    entries.emplace_back(entry.id, contents);
  }
  result.bytes = writeBundle(entries);
  return result;
}

/// A host program or library on the way.
class HostFile {
public:
  static Result<HostFile> create(ByteSpan bytes, const std::string &name) {
    HostFile file;
    file.elf_ = LUTHIER_TRY(ElfFile::parse(bytes));
    if (file.elf_.machine != EM_X86_64)
      return makeError("{}: code in a host file for another processor than x86-64 cannot be replaced", name);
    file.header_ = LUTHIER_TRY(readAs<Elf64_Ehdr>(bytes, 0, "the ELF header"));
    file.name_ = name;
    file.bytes_.assign(bytes.begin(), bytes.end());
    return file;
  }

  Result<Bytes> replace(std::span<const NewGroup> all) {
    section_ = elf_.section(".hip_fatbin");
    if (!section_)
      return makeError("{}: there is no section .hip_fatbin", name_);
    // Not those of OpenMP.
    std::vector<NewGroup> groups;
    std::ranges::copy_if(all, std::back_inserter(groups), [&](const NewGroup &group) {
      return group.old->offset - section_->offset < section_->contents.size();
    });
    LUTHIER_TRY(place(groups));
    LUTHIER_TRY(redirect(groups));
    return std::move(bytes_);
  }

private:
  uint64_t oldAddress(const NewGroup &group) const {
    return section_->address + (group.old->offset - section_->offset);
  }

  /// Appends the segment.
  Result<void> place(std::span<const NewGroup> groups) {
    std::vector<Elf64_Phdr> headers;
    for (uint64_t n = 0; n < header_.e_phnum; ++n)
      headers.push_back(
          LUTHIER_TRY(readAs<Elf64_Phdr>(elf_.bytes, header_.e_phoff + n * sizeof(Elf64_Phdr), "a program header")));
    const auto isLoaded = [](const Elf64_Phdr &h) { return h.p_type == PT_LOAD; };
    const auto first = std::ranges::find_if(headers, isLoaded);
    if (first == headers.end() || header_.e_phentsize != sizeof(Elf64_Phdr))
      return makeError("{}: it is not linked: nothing of it is loaded", name_);
    // Offset and address differ as in the first segment: some kernels find the table of program headers by that.
    const uint64_t shift = first->p_vaddr - first->p_offset;
    uint64_t end = bytes_.size() + shift;
    for (const Elf64_Phdr &header : headers)
      if (isLoaded(header))
        end = std::max(end, header.p_vaddr + header.p_memsz);
    const uint64_t address = roundUp(end), offset = address - shift;
    constexpr uint64_t kMostGap = uint64_t{4} << 30; // .bss is not in the file, and is from now on
    if (offset < bytes_.size() || offset - bytes_.size() > kMostGap)
      return makeError("{}: its segments are too far apart to add one", name_);
    const uint64_t tableBytes = (headers.size() + 1) * sizeof(Elf64_Phdr);
    uint64_t at = roundUp(tableBytes);
    const uint64_t begin = at;
    for (const NewGroup &group : groups) {
      put(bytes_, offset + at, group.contents());
      newAddress_.push_back(address + at);
      at = roundUp(at + group.contents().size());
    }
    bytes_.resize(offset + at);
    const Elf64_Phdr added{.p_type = PT_LOAD,
                           .p_flags = PF_R,
                           .p_offset = offset,
                           .p_vaddr = address,
                           .p_paddr = address,
                           .p_filesz = at,
                           .p_memsz = at,
                           .p_align = kPage};
    // In ascending order of address.
    const auto last = std::ranges::find_if(headers.rbegin(), headers.rend(), isLoaded);
    headers.insert(last.base(), added);
    for (size_t n = 0; n < headers.size(); ++n) {
      if (headers[n].p_type == PT_PHDR) {
        headers[n].p_offset = offset;
        headers[n].p_vaddr = headers[n].p_paddr = address;
        headers[n].p_filesz = headers[n].p_memsz = tableBytes;
      }
      put(bytes_, offset + n * sizeof(Elf64_Phdr), headers[n]);
    }
    header_.e_phoff = offset;
    header_.e_phnum = static_cast<Elf64_Half>(headers.size());
    put(bytes_, 0, header_);
    const uint64_t where =
        header_.e_shoff + static_cast<uint64_t>(section_ - elf_.sections.data()) * sizeof(Elf64_Shdr);
    auto header = LUTHIER_TRY(readAs<Elf64_Shdr>(elf_.bytes, where, "a section header"));
    header.sh_offset = offset + begin;
    header.sh_addr = address + begin;
    header.sh_size = at - begin;
    put(bytes_, where, header);
    return {};
  }

  /// Has HIP's descriptions lead to the new bundles.
  Result<void> redirect(std::span<const NewGroup> groups) {
    struct Description {
      uint32_t magic, version;
      uint64_t bundle, unused;
    };
    constexpr uint32_t kMagic = 0x48495046; // "FPIH"
    constexpr uint64_t kBundleAt = 8;
    const auto newOf = [&](uint64_t old) -> std::optional<uint64_t> {
      for (size_t n = 0; n < groups.size(); ++n)
        if (oldAddress(groups[n]) == old)
          return newAddress_[n];
      return std::nullopt;
    };
    uint64_t found = 0;
    for (const Section &section : elf_.sections) {
      if (section.name != ".hipFatBinSegment")
        continue;
      for (uint64_t at = 0; at + sizeof(Description) <= section.contents.size(); at += sizeof(Description)) {
        const auto description = loadAs<Description>(section.contents.data() + at);
        if (description.magic != kMagic)
          return makeError("{}: the description at offset {:#x} of .hipFatBinSegment is none of HIP's", name_, at);
        const auto in = newOf(description.bundle);
        if (in)
          put(bytes_, section.offset + at + kBundleAt, *in);
        const bool relocated = LUTHIER_TRY(redirectRelocation(section.address + at + kBundleAt, newOf));
        if (!in && !relocated)
          return makeError(
              "{}: it is not known which bundle the description at offset {:#x} of .hipFatBinSegment is for", name_,
              at);
        ++found;
      }
    }
    if (!found)
      return makeError("{}: no description of a bundle in it (.hipFatBinSegment)", name_);
    return {};
  }

  /// What the dynamic linker writes to `address`. False when that is nothing.
  template <class NewOf> Result<bool> redirectRelocation(uint64_t address, const NewOf &newOf) {
    for (const Section &section : elf_.sections) {
      if (section.type != SHT_RELA || !section.allocated())
        continue;
      for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= section.contents.size(); at += sizeof(Elf64_Rela)) {
        auto relocation = loadAs<Elf64_Rela>(section.contents.data() + at);
        if (relocation.r_offset != address)
          continue;
        const auto to = newOf(static_cast<uint64_t>(relocation.r_addend));
        if (ELF64_R_TYPE(relocation.r_info) != R_X86_64_RELATIVE || !to)
          return makeError("{}: the relocation for {:#x} in .hipFatBinSegment is not to the beginning of a bundle",
                           name_, address);
        relocation.r_addend = static_cast<Elf64_Sxword>(*to);
        put(bytes_, section.offset + at, relocation);
        return true;
      }
    }
    return false;
  }

  ElfFile elf_;
  Elf64_Ehdr header_{};
  std::string name_;
  Bytes bytes_;
  const Section *section_ = nullptr;
  std::vector<uint64_t> newAddress_; ///< of each group
};

} // namespace

Result<std::vector<std::byte>> replaceImages(ByteSpan file, const std::string &name, const NewImages &images) {
  const Container container = LUTHIER_TRY(Container::parse(file, name));
  std::vector<NewGroup> groups;
  uint64_t number = 1;
  for (const ImageGroup &group : container.groups())
    groups.push_back(LUTHIER_TRY(replaceIn(container, group, images, number)));
  if (!images.empty() && images.rbegin()->first >= number)
    return makeError("{}: there is no code object {}; it has {}", name, images.rbegin()->first, number - 1);
  if (!groups.empty() && groups.front().old->kind == ImageGroup::Kind::CodeObject)
    return Bytes(groups.front().contents().begin(), groups.front().contents().end());
  if (isElf(file)) {
    HostFile host = LUTHIER_TRY(HostFile::create(file, name));
    return host.replace(groups);
  }
  Bytes bytes;
  for (const NewGroup &group : groups)
    put(bytes, roundUp(bytes.size()), group.contents());
  return bytes;
}

} // namespace luthier::object
