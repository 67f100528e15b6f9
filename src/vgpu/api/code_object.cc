#include "vgpu/api/code_object.h"

#include "vgpu/api/metadata.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace luthier::vgpu {

namespace {

constexpr uint16_t kElfMachineAmdGpu = 224;
constexpr uint8_t kElfOsAbiAmdGpuHsa = 64;
constexpr uint32_t kMachineMask = 0xff;
constexpr uint32_t kNoteMetadata = 32;
constexpr uint64_t kMaxImage = 1ull << 32;

enum RelocationType : uint32_t {
  R_AMDGPU_NONE = 0,
  R_AMDGPU_ABS32_LO = 1,
  R_AMDGPU_ABS32_HI = 2,
  R_AMDGPU_ABS64 = 3,
  R_AMDGPU_REL32 = 4,
  R_AMDGPU_REL64 = 5,
  R_AMDGPU_ABS32 = 6,
  R_AMDGPU_REL32_LO = 10,
  R_AMDGPU_REL32_HI = 11,
  R_AMDGPU_RELATIVE64 = 13,
};

/// The file, read with checks.
class Reader {
public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T> Result<T> at(uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T))
      return makeError("the code object is truncated");
    T value;
    memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  Result<std::span<const std::byte>> range(uint64_t offset, uint64_t size) const {
    if (offset > bytes_.size() || bytes_.size() - offset < size)
      return makeError("the code object is truncated");
    return bytes_.subspan(offset, size);
  }
  std::string text(uint64_t offset) const {
    if (offset >= bytes_.size())
      return {};
    const auto *begin = reinterpret_cast<const char *>(bytes_.data() + offset);
    return std::string(begin, strnlen(begin, bytes_.size() - offset));
  }

private:
  std::span<const std::byte> bytes_;
};

Result<void> checkHeader(const Elf64_Ehdr &header, const isa::Target &target) {
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return makeError("not an ELF file (bundles of clang-offload-bundler must be taken apart first)");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kElfMachineAmdGpu)
    return makeError("not an AMD GPU code object");
  if (header.e_ident[EI_OSABI] != kElfOsAbiAmdGpuHsa)
    return makeError("not a code object for HSA (OS ABI {})", header.e_ident[EI_OSABI]);
  if (header.e_type != ET_DYN)
    return makeError("the code object is not linked (use ld.lld -shared)");
  const uint32_t machine = header.e_flags & kMachineMask;
  if (machine != target.elfMachine)
    for (const isa::Target &other : isa::targets())
      if (other.elfMachine == machine)
        return makeError("the code object is for {}, the GPU is a {}", other.name, target.name);
  if (machine != target.elfMachine)
    return makeError("the code object is for machine {:#x}, the GPU is a {}", machine, target.name);
  return {};
}

Result<void> readSegments(const Reader &file, const Elf64_Ehdr &header, CodeObject &out) {
  for (unsigned n = 0; n < header.e_phnum; ++n) {
    const auto segment = LUTHIER_TRY(file.at<Elf64_Phdr>(header.e_phoff + n * sizeof(Elf64_Phdr)));
    if (segment.p_type == PT_LOAD) {
      if (segment.p_filesz > segment.p_memsz || segment.p_memsz > kMaxImage || segment.p_vaddr > kMaxImage)
        return makeError("segment {} of the code object is malformed", n);
      out.segments.push_back(
          {segment.p_vaddr, LUTHIER_TRY(file.range(segment.p_offset, segment.p_filesz)), segment.p_memsz});
      out.bytes = std::max(out.bytes, segment.p_vaddr + segment.p_memsz);
    } else if (segment.p_type == PT_NOTE) {
      for (uint64_t at = segment.p_offset, end = at + segment.p_filesz; at + sizeof(Elf64_Nhdr) <= end;) {
        const auto note = LUTHIER_TRY(file.at<Elf64_Nhdr>(at));
        const uint64_t name = at + sizeof note;
        const uint64_t contents = name + (uint64_t{note.n_namesz} + 3) / 4 * 4;
        if (note.n_type == kNoteMetadata && file.text(name) == "AMDGPU")
          out.kernels = LUTHIER_TRY(kernelsOf(LUTHIER_TRY(file.range(contents, note.n_descsz))));
        at = contents + (uint64_t{note.n_descsz} + 3) / 4 * 4;
      }
    }
  }
  if (out.segments.empty())
    return makeError("the code object has nothing to load");
  return {};
}

Result<void> readSections(const Reader &file, const Elf64_Ehdr &header, CodeObject &out) {
  auto section = [&](uint64_t n) { return file.at<Elf64_Shdr>(header.e_shoff + n * sizeof(Elf64_Shdr)); };
  for (unsigned n = 0; n < header.e_shnum; ++n) {
    const auto s = LUTHIER_TRY(section(n));
    if (s.sh_type == SHT_DYNSYM) {
      const auto strings = LUTHIER_TRY(section(s.sh_link));
      for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= s.sh_size; at += sizeof(Elf64_Sym)) {
        const auto symbol = LUTHIER_TRY(file.at<Elf64_Sym>(s.sh_offset + at));
        out.symbols.push_back({.name = file.text(strings.sh_offset + symbol.st_name),
                               .address = symbol.st_value,
                               .bytes = symbol.st_size,
                               .defined = symbol.st_shndx != SHN_UNDEF,
                               .weak = ELF64_ST_BIND(symbol.st_info) == STB_WEAK,
                               .object = ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT});
      }
    } else if (s.sh_type == SHT_RELA && (s.sh_flags & SHF_ALLOC)) {
      for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= s.sh_size; at += sizeof(Elf64_Rela)) {
        const auto r = LUTHIER_TRY(file.at<Elf64_Rela>(s.sh_offset + at));
        out.relocations.push_back({r.r_offset, static_cast<uint32_t>(ELF64_R_TYPE(r.r_info)),
                                   static_cast<uint32_t>(ELF64_R_SYM(r.r_info)), r.r_addend});
      }
    }
  }
  return {};
}

} // namespace

Result<CodeObject> CodeObject::parse(std::span<const std::byte> elf, const isa::Target &target) {
  const Reader file(elf);
  const auto header = LUTHIER_TRY(file.at<Elf64_Ehdr>(0));
  CodeObject object;
  if (auto ok = checkHeader(header, target); !ok)
    return ok.error();
  if (auto ok = readSegments(file, header, object); !ok)
    return ok.error();
  if (auto ok = readSections(file, header, object); !ok)
    return ok.error();
  for (const Relocation &r : object.relocations) {
    if (r.address > object.bytes || object.bytes - r.address < 8)
      if (r.type != R_AMDGPU_NONE)
        return makeError("a relocation at {:#x} lies outside the code object", r.address);
    if (r.symbol >= std::max<size_t>(object.symbols.size(), 1))
      return makeError("a relocation at {:#x} has no symbol", r.address);
  }
  return object;
}

Result<void> CodeObject::placeAt(uint64_t base) const {
  for (const Segment &segment : segments)
    memcpy(reinterpret_cast<void *>(base + segment.address), segment.contents.data(), segment.contents.size());
  for (const Relocation &r : relocations) {
    uint64_t symbol = 0;
    if (r.symbol != 0) {
      const Symbol &s = symbols[r.symbol];
      if (!s.defined && !s.weak)
        return makeError("the code object needs the symbol '{}', which is not in it", s.name);
      symbol = s.defined ? base + s.address : 0;
    }
    const uint64_t place = base + r.address;
    const uint64_t absolute = symbol + static_cast<uint64_t>(r.addend);
    const uint64_t relative = absolute - place;
    auto store = [&](uint64_t value, unsigned bytes) { memcpy(reinterpret_cast<void *>(place), &value, bytes); };
    switch (r.type) {
    case R_AMDGPU_NONE:
      break;
    case R_AMDGPU_ABS32:
    case R_AMDGPU_ABS32_LO:
      store(absolute, 4);
      break;
    case R_AMDGPU_ABS32_HI:
      store(absolute >> 32, 4);
      break;
    case R_AMDGPU_ABS64:
      store(absolute, 8);
      break;
    case R_AMDGPU_REL32:
    case R_AMDGPU_REL32_LO:
      store(relative, 4);
      break;
    case R_AMDGPU_REL32_HI:
      store(relative >> 32, 4);
      break;
    case R_AMDGPU_REL64:
      store(relative, 8);
      break;
    case R_AMDGPU_RELATIVE64:
      store(base + static_cast<uint64_t>(r.addend), 8);
      break;
    default:
      return makeError("relocation type {} at {:#x} is not known", r.type, r.address);
    }
  }
  return {};
}

} // namespace luthier::vgpu
