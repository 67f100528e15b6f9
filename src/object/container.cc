#include "object/container.h"

#include "object/bundle.h"
#include "object/elf_file.h"

#include <algorithm>

namespace luthier::object {

namespace {

// Sections of host files that hold device images.
constexpr std::string_view kFatBinary = ".hip_fatbin";
constexpr std::string_view kOffloading = ".llvm.offloading";

std::string_view nameOf(ImageGroup::Kind kind) {
  static constexpr std::string_view kNames[] = {"code object", "bundle", "compressed bundle", "offload binary"};
  return kNames[static_cast<unsigned>(kind)];
}

std::optional<ImageGroup::Kind> kindOf(ByteSpan bytes) {
  if (isBundle(bytes))
    return ImageGroup::Kind::Bundle;
  if (isCompressedBundle(bytes))
    return ImageGroup::Kind::CompressedBundle;
  if (isOffloadBinary(bytes))
    return ImageGroup::Kind::OffloadBinary;
  return std::nullopt;
}

} // namespace

Result<Container> Container::open(const std::string &path, const Options &options) {
  Container container;
  container.file_ = LUTHIER_TRY(MappedFile::open(path));
  container.name_ = path;
  container.options_ = options;
  container.bytes_ = container.file_->bytes();
  if (auto ok = container.index(); !ok)
    return container.error(ok.error());
  return container;
}

Result<Container> Container::parse(ByteSpan bytes, std::string name, const Options &options) {
  Container container;
  container.name_ = std::move(name);
  container.options_ = options;
  container.bytes_ = bytes;
  if (auto ok = container.index(); !ok)
    return container.error(ok.error());
  return container;
}

Result<void> Container::index() {
  if (kindOf(bytes_))
    return indexRun(bytes_, 0, "");
  if (!isElf(bytes_))
    return makeError("neither an ELF file nor an offload bundle");
  const ElfFile elf = LUTHIER_TRY(ElfFile::parse(bytes_));
  if (elf.machine == kMachineAmdGpu) {
    groups_.push_back({ImageGroup::Kind::CodeObject, 0, bytes_});
    return {};
  }
  bool found = false;
  uint64_t total = 0;
  for (const Section &section : elf.sections) {
    if (section.name != kFatBinary && section.name != kOffloading)
      continue;
    found = true;
    total += section.contents.size();
    if (total > bytes_.size())
      return makeError("the sections of device code overlap, the last at offset {:#x}", section.offset);
    if (auto ok = indexRun(section.contents, section.offset, section.name); !ok)
      return ok;
  }
  if (!found)
    return makeError("no GPU code in it: no section {} or {}", kFatBinary, kOffloading);
  return {};
}

/// Bundles one after the other, with zeros between them up to the alignment of each.
Result<void> Container::indexRun(ByteSpan run, uint64_t offset, std::string_view where) {
  for (uint64_t at = 0; at < run.size();) {
    const auto next = std::ranges::find_if(run.subspan(at), [](std::byte b) { return b != std::byte{0}; });
    at = static_cast<uint64_t>(next - run.begin());
    const ByteSpan rest = run.subspan(at);
    if (rest.empty())
      break;
    const std::optional<ImageGroup::Kind> kind = kindOf(rest);
    if (!kind)
      return makeError("no offload bundle at offset {:#x}{}{}", offset + at, where.empty() ? "" : " of ", where);
    auto fail = [&](const Error &why) {
      return why.withContext(fmt::format("{} at offset {:#x}", nameOf(*kind), offset + at));
    };
    uint64_t size = 0;
    if (*kind == ImageGroup::Kind::CompressedBundle) {
      auto header = readCompressedHeader(rest, options_.limits);
      if (!header)
        return fail(header.error());
      auto packed = packedSize(rest, *header);
      if (!packed)
        return fail(packed.error());
      size = *packed;
    } else {
      auto bundle = *kind == ImageGroup::Kind::Bundle ? readBundle(rest) : readOffloadBinary(rest);
      if (!bundle)
        return fail(bundle.error());
      size = bundle->size;
    }
    groups_.push_back({*kind, offset + at, rest.first(size)});
    at += size;
  }
  return {};
}

Result<std::vector<Image>> Container::images(const ImageGroup &group) const {
  const auto number = static_cast<unsigned>(&group - groups_.data());
  std::vector<Image> images;
  if (group.kind == ImageGroup::Kind::CodeObject) {
    const ElfFile elf = LUTHIER_TRY(ElfFile::parse(group.bytes));
    images.push_back({.origin = name_,
                      .target = isa::TargetId::fromElf(elf.flags, elf.abiVersion + 2u),
                      .group = number,
                      .offset = group.offset,
                      .bytes = group.bytes});
    return images;
  }
  const std::string where = fmt::format("{} at offset {:#x}", nameOf(group.kind), group.offset);
  auto fail = [&](const Error &why) { return error(why.withContext(where)); };
  ByteSpan bytes = group.bytes;
  std::shared_ptr<const Buffer> memory;
  if (group.kind == ImageGroup::Kind::CompressedBundle) {
    auto header = readCompressedHeader(bytes, options_.limits);
    if (!header)
      return fail(header.error());
    auto unpacked = unpack(bytes, *header);
    if (!unpacked)
      return fail(unpacked.error());
    memory = std::make_shared<const Buffer>(std::move(unpacked->bundle));
    bytes = memory->bytes();
    if (!isBundle(bytes))
      return fail(makeError("what it unpacks to is not a bundle"));
  }
  auto bundle = group.kind == ImageGroup::Kind::OffloadBinary ? readOffloadBinary(bytes) : readBundle(bytes);
  if (!bundle)
    return fail(bundle.error());
  for (const BundleEntry &entry : bundle->entries) {
    // The host's entry is empty, and so are those of targets that were left out.
    if (entry.target().empty() || entry.contents.empty())
      continue;
    auto target = isa::TargetId::parse(entry.target());
    if (!target)
      return fail(target.error());
    images.push_back({.origin = fmt::format("{}: {}, {}", name_, where, entry.id),
                      .entry = entry.id,
                      .target = *std::move(target),
                      .group = number,
                      .offset = (memory ? 0 : group.offset) + entry.offset,
                      .bytes = entry.contents,
                      .memory = memory});
  }
  return images;
}

Result<std::vector<Image>> Container::images(const std::optional<isa::TargetId> &target) const {
  std::vector<Image> all;
  for (const ImageGroup &group : groups_) {
    for (Image &image : LUTHIER_TRY(images(group)))
      if (!target || isa::compatible(image.target, *target))
        all.push_back(std::move(image));
  }
  return all;
}

void Container::forget(const ImageGroup &group) const {
  if (file_)
    file_->forget(group.bytes);
}

} // namespace luthier::object
