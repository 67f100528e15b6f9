// The section is a header, one entry per range, and the notes' texts, each with a NUL behind it.

#include "object/code_map.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace luthier::object {

namespace {

constexpr std::array<char, 8> kMapMagic{'L', 'U', 'T', 'H', 'M', 'A', 'P', '1'};
constexpr uint32_t kNoNote = UINT32_MAX;
constexpr auto kLastKind = CodeKind::SharedHook;

struct MapHeader {
  std::array<char, 8> magic;
  uint64_t ranges;
  uint64_t textBytes;
};

struct MapEntry {
  uint64_t address, size, original;
  uint32_t kind;
  uint32_t note; ///< offset in the texts
};

template <class T> void appendPart(std::vector<std::byte> &to, const T &value) {
  const auto *bytes = reinterpret_cast<const std::byte *>(&value);
  to.insert(to.end(), bytes, bytes + sizeof value);
}

} // namespace

std::string_view toString(CodeKind kind) {
  switch (kind) {
  case CodeKind::Original:
    return "original";
  case CodeKind::Replacement:
    return "replacement";
  case CodeKind::Glue:
    return "glue";
  case CodeKind::Fragment:
    return "hook";
  case CodeKind::Entry:
    return "entry";
  case CodeKind::Island:
    return "island";
  case CodeKind::SharedHook:
    return "shared hook";
  }
  return "?";
}

std::vector<std::byte> encodeCodeMap(const CodeMap &map) {
  std::vector<std::byte> bytes;
  std::string texts;
  appendPart(bytes, MapHeader{kMapMagic, map.ranges.size(), 0});
  for (const CodeMap::Range &range : map.ranges) {
    MapEntry entry{range.address, range.size, range.original, static_cast<uint32_t>(range.kind), kNoNote};
    if (!range.note.empty()) {
      entry.note = static_cast<uint32_t>(texts.size());
      texts.append(range.note).push_back('\0');
    }
    appendPart(bytes, entry);
  }
  const MapHeader header{kMapMagic, map.ranges.size(), texts.size()};
  memcpy(bytes.data(), &header, sizeof header);
  const auto *text = reinterpret_cast<const std::byte *>(texts.data());
  bytes.insert(bytes.end(), text, text + texts.size());
  return bytes;
}

Result<CodeMap> readCodeMap(const CodeObject &object) {
  CodeMap map;
  const Section *section = object.section(kMapSection);
  if (!section)
    return map;
  auto damaged = [&](const std::string &why) {
    return makeError("{}: section {} at offset {:#x} is damaged: {}", object.origin(), kMapSection, section->offset,
                     why);
  };
  const ByteSpan bytes = section->contents;
  auto header = readAs<MapHeader>(bytes, 0, "its header");
  if (!header)
    return damaged(header.error().message());
  if (header->magic != kMapMagic)
    return damaged("it does not begin as a map");
  const uint64_t room = bytes.size() - sizeof(MapHeader);
  if (header->ranges > room / sizeof(MapEntry) || room - header->ranges * sizeof(MapEntry) != header->textBytes)
    return damaged(fmt::format("{} ranges and {:#x} bytes of text do not make {:#x} bytes", header->ranges,
                               header->textBytes, bytes.size()));
  const ByteSpan texts = bytes.last(header->textBytes);
  // A text may be named by one range only, or a small file could ask for a lot of memory.
  uint64_t noteBytes = 0, end = 0;
  map.ranges.reserve(header->ranges);
  for (uint64_t n = 0; n < header->ranges; ++n) {
    const auto entry = loadAs<MapEntry>(bytes.data() + sizeof(MapHeader) + n * sizeof(MapEntry));
    if (entry.kind > static_cast<uint32_t>(kLastKind))
      return damaged(fmt::format("range {} is of kind {}, which does not exist", n, entry.kind));
    if (entry.address < end || entry.size > UINT64_MAX - entry.address)
      return damaged(fmt::format("range {} at {:#x} begins before the end of the one before it", n, entry.address));
    end = entry.address + entry.size;
    std::string_view note;
    if (entry.note != kNoNote) {
      auto text = textAt(texts, entry.note, "a note");
      if (!text)
        return damaged(text.error().message());
      note = *text;
      noteBytes += note.size() + 1;
      if (noteBytes > texts.size())
        return damaged("notes overlap");
    }
    map.ranges.push_back(
        {static_cast<CodeKind>(entry.kind), entry.address, entry.size, entry.original, std::string(note)});
  }
  return map;
}

const CodeMap::Range *CodeMap::find(uint64_t address) const {
  const auto it = std::ranges::upper_bound(ranges, address, {}, &Range::address);
  if (it == ranges.begin() || std::prev(it)->address + std::prev(it)->size <= address)
    return nullptr;
  return &*std::prev(it);
}

} // namespace luthier::object
