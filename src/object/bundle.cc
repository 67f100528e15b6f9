#include "object/bundle.h"

#include <algorithm>

namespace luthier::object {

namespace {

constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kBinaryMagic = "\x10\xff\x10\xad";

bool startsWith(ByteSpan bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

struct OffloadHeader {
  uint32_t magic, version;
  uint64_t size, entryOffset, entrySize;
};

struct OffloadEntry {
  uint16_t imageKind, offloadKind;
  uint32_t flags;
  uint64_t stringOffset, strings, imageOffset, imageSize;
};

/// HIP is 3 up to LLVM 19, where kinds are numbers, and 4 in later ones, where they are bits.
std::string_view offloadKind(uint16_t kind) {
  return kind == 1 ? "openmp" : kind == 2 ? "cuda" : kind == 3 || kind == 4 ? "hip" : kind == 8 ? "sycl" : "unknown";
}

} // namespace

std::string_view BundleEntry::target() const {
  const std::string_view text = id;
  if (text.find("amdgcn") == std::string_view::npos)
    return {};
  const size_t at = text.find("-gfx");
  return at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
}

bool isBundle(ByteSpan bytes) { return startsWith(bytes, kBundleMagic); }
bool isOffloadBinary(ByteSpan bytes) { return startsWith(bytes, kBinaryMagic); }

Result<Bundle> readBundle(ByteSpan bytes) {
  uint64_t at = kBundleMagic.size();
  const auto count = LUTHIER_TRY(readAs<uint64_t>(bytes, at, "the number of bundle entries"));
  at += sizeof count;
  struct Row {
    uint64_t offset, size, idSize;
  };
  if (count > bytes.size() / sizeof(Row))
    return makeError("a bundle of {} entries does not fit into {:#x} bytes", count, bytes.size());
  Bundle bundle;
  uint64_t total = 0;
  for (uint64_t n = 0; n < count; ++n) {
    const auto row = LUTHIER_TRY(readAs<Row>(bytes, at, "a bundle entry"));
    const ByteSpan id = LUTHIER_TRY(rangeOf(bytes, at + sizeof row, row.idSize, "a bundle entry's id"));
    // Ids are short; a long one is a sign that this is no table.
    constexpr uint64_t kLongestId = 4096;
    if (row.idSize > kLongestId)
      return makeError("the id of bundle entry {} at offset {:#x} has {:#x} bytes", n, at, row.idSize);
    at += sizeof row + row.idSize;
    BundleEntry &entry = bundle.entries.emplace_back();
    entry.id.assign(reinterpret_cast<const char *>(id.data()), id.size());
    std::ranges::replace_if(entry.id, [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
    entry.offset = row.offset;
    auto contents = rangeOf(bytes, row.offset, row.size, "its contents");
    if (!contents)
      return contents.error().withContext(fmt::format("bundle entry {} ({})", n, entry.id));
    entry.contents = *contents;
    total += row.size;
    // Else a small file could announce any number of big ones.
    if (total > bytes.size())
      return makeError("bundle entry {} ({}) at offset {:#x}: the entries overlap", n, entry.id, row.offset);
    bundle.size = std::max(bundle.size, row.offset + row.size);
  }
  bundle.size = std::max(bundle.size, at);
  return bundle;
}

Result<Bundle> readOffloadBinary(ByteSpan bytes) {
  const auto header = LUTHIER_TRY(readAs<OffloadHeader>(bytes, 0, "the header of an offload binary"));
  if (header.version != 1)
    return makeError("offload binary of version {}, which is not known", header.version);
  if (header.size < sizeof header)
    return makeError("offload binary of {:#x} bytes, less than its header", header.size);
  const ByteSpan whole = LUTHIER_TRY(rangeOf(bytes, 0, header.size, "the offload binary"));
  const auto entry = LUTHIER_TRY(readAs<OffloadEntry>(whole, header.entryOffset, "the entry of an offload binary"));
  std::string_view triple, arch;
  constexpr uint64_t kMostStrings = 256;
  if (entry.strings > kMostStrings)
    return makeError("an offload binary with {} strings", entry.strings);
  for (uint64_t n = 0; n < entry.strings; ++n) {
    constexpr std::string_view kWhat = "a string of an offload binary";
    const ByteSpan table = LUTHIER_TRY(rangeOf(whole, entry.stringOffset, (n + 1) * 16, kWhat)).subspan(n * 16);
    const std::string_view key = LUTHIER_TRY(textAt(whole, loadAs<uint64_t>(table.data()), kWhat));
    const std::string_view value = LUTHIER_TRY(textAt(whole, loadAs<uint64_t>(table.data() + 8), kWhat));
    if (key == "triple")
      triple = value;
    else if (key == "arch")
      arch = value;
  }
  Bundle bundle;
  bundle.size = header.size;
  BundleEntry &image = bundle.entries.emplace_back();
  image.id = fmt::format("{}-{}--{}", offloadKind(entry.offloadKind), triple.substr(0, 256), arch.substr(0, 256));
  std::ranges::replace_if(image.id, [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
  image.offset = entry.imageOffset;
  image.contents = LUTHIER_TRY(rangeOf(whole, entry.imageOffset, entry.imageSize, "the image of an offload binary"));
  return bundle;
}

} // namespace luthier::object
