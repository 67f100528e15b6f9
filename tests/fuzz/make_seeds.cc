// Usage: fuzz_seeds TEST_FILES OUT: cuts the files of tests/object into seeds, one folder per fuzzer, and lists each
// folder in a file FUZZER.list (libFuzzer's -seed_inputs).

#include "object/bundle.h"
#include "object/container.h"

#include <cstring>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

using namespace luthier::object;
namespace fs = std::filesystem;

namespace {

int failures = 0;

void write(const fs::path &path, ByteSpan bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file)
    ++failures;
}

void writeText(const fs::path &path, std::string_view text) {
  write(path, std::as_bytes(std::span(text.data(), text.size())));
}

/// Copies of a code object, each with one table emptied: what a mutation seldom hits.
void emptyTables(ByteSpan object, const fs::path &out) {
  Elf64_Ehdr header;
  memcpy(&header, object.data(), sizeof header);
  for (size_t n = 1; n < header.e_shnum; ++n) {
    std::vector<std::byte> copy(object.begin(), object.end());
    Elf64_Shdr section;
    std::byte *at = copy.data() + header.e_shoff + n * sizeof section;
    memcpy(&section, at, sizeof section);
    section.sh_size = 0;
    memcpy(at, &section, sizeof section);
    write(out.string() + "_without_" + std::to_string(n), copy);
  }
}

void cutObject(const fs::path &file, const fs::path &out) {
  auto mapped = MappedFile::open(file);
  auto object = mapped ? CodeObject::parse(mapped->bytes(), file) : luthier::Result<CodeObject>(mapped.error());
  if (!object) {
    std::cerr << object.error().message() << "\n";
    ++failures;
    return;
  }
  const std::string name = file.stem();
  write(out / "elf" / name, mapped->bytes());
  emptyTables(mapped->bytes(), out / "elf" / name);
  if (!object->metadataNote().empty())
    write(out / "msgpack" / name, object->metadataNote());
  for (const Symbol &kernel : object->kernels()) {
    const auto bytes = object->bytesAt(kernel.descriptor, KernelDescriptor::kBytes);
    std::vector<std::byte> seed(bytes->begin(), bytes->end());
    seed.resize(seed.size() + 2, std::byte{16});
    write(out / "descriptor" / (name + "_" + std::string(kernel.name)), seed);
    writeText(out / "target_id" / std::string(kernel.name), kernel.name);
  }
}

/// A hostcall buffer with one packet that prints, and one that asks for another service (tests/fuzz/fuzz_hostcall.cc).
void makeHostcallSeeds(const fs::path &out) {
  const auto packet = [](uint64_t next, uint64_t mask, uint32_t service, const std::vector<uint64_t> &words) {
    std::string bytes;
    const auto add = [&](const auto &value) { bytes.append(reinterpret_cast<const char *>(&value), sizeof value); };
    add(next);
    add(mask);
    add(service);
    add(uint32_t{1});
    for (size_t n = 0; n < 16; ++n)
      add(n < words.size() ? words[n] : 0);
    return bytes;
  };
  const auto word = [](const char(&text)[9]) {
    uint64_t value;
    memcpy(&value, text, 8);
    return value;
  };
  const uint64_t wholeMessage = 3 | 5 << 5;
  const std::string print = packet(0, 1, 2, {wholeMessage, 0, word("%5d %-.3"), word("s %g %p\n"), 0, 42});
  const std::string other = packet(1, 3, 7, {1, 2, 3});
  const std::string top("\1\0\0\0\0\0\0\0", 8);
  writeText(out / "hostcall" / "print", std::string("\1\0", 2) + other + print + top);
  writeText(out / "hostcall" / "circle", std::string("\1\0", 2) + packet(1, 1, 7, {}) + packet(1, 1, 7, {}) + top);
  for (const char *format : {"%+08.3f|%#x|%*.*s|%lc", "%hhd %lld %zu %Lg %a", "%s%n%%%c%p%99999999d"})
    writeText(out / "hostcall" / std::to_string(std::hash<std::string_view>()(format)),
              std::string(format) + std::string(200, '\0'));
}

/// Packets as ROCr writes them (tests/fuzz/packets.h says what an address is).
void makePacketSeeds(const fs::path &out) {
  using Words = std::vector<uint32_t>;
  const auto save = [&](const char *folder, const char *name, std::initializer_list<Words> parts) {
    Words all;
    for (const Words &part : parts)
      all.insert(all.end(), part.begin(), part.end());
    write(out / folder / name, std::as_bytes(std::span(all)));
  };
  constexpr uint32_t kHere = 0xa5e00000, kGuard = 0x10000;
  const auto at = [](uint32_t offset) { return Words{kGuard + offset, kHere}; };
  const auto with = [](Words words, std::initializer_list<Words> more) {
    for (const Words &part : more)
      words.insert(words.end(), part.begin(), part.end());
    return words;
  };

  const Words sdmaSetup = {3, 0};
  const Words copy = with({1, 255, 0}, {at(0), at(0x8000)});
  save("sdma", "copy", {sdmaSetup, copy, {0}, {2u << 16, 7, 7}, copy});
  save("sdma", "copy_to_the_end",
       {sdmaSetup, with({1, 0xffff, 0}, {at(0), at(0)}), with({1, 0x1ffff, 0}, {at(0), at(0)})});
  save("sdma", "rect",
       {sdmaSetup, with({1 | 4u << 8 | 2u << 29},
                        {at(0), {2 | 1u << 16, 15u << 13, 255}, at(0x8000), {1, 7u << 13, 63}, {4 | 2u << 16, 1}})});
  save("sdma", "fill", {sdmaSetup, with({11 | 2u << 30}, {at(64), {0xdeadbeef, 1020}})});
  save("sdma", "signals",
       {sdmaSetup,
        with({8 | 3u << 28 | 1u << 31}, {at(0), {0, ~0u, 4 | 0xfffu << 16}}),
        {8, 0, 0x80000000, 0, 0, 0},
        with({10 | 47u << 25}, {at(8), {~0u, ~0u, 0, 0, 0}}),
        with({13 | 2u << 8}, {at(16)}),
        with({5}, {at(24), {1}}),
        {6, 5}});
  save("sdma", "poll_for_ever", {sdmaSetup, with({8 | 3u << 28 | 1u << 31}, {at(8), {0, ~0u, 4 | 0xfffu << 16}})});
  save("sdma", "doorbell", {{3, 1 | 64 << 1}, copy});

  const auto pm4 = [](uint8_t opcode, uint32_t words) { return 3u << 30 | (words - 2) << 16 | uint32_t{opcode} << 8; };
  const Words acquire = {pm4(0x58, 7), 1u << 29, ~0u, 0xff, 0, 0, 10};
  const auto jump = [&](uint32_t offset, uint32_t words) {
    return with({pm4(0x3f, 4)}, {at(offset), {words | 1u << 23}});
  };
  save("pm4", "acquire", {jump(0x10000 - 28, 7), acquire});
  save("pm4", "nested", {jump(0x10000 - 44, 4), jump(0x10000 - 28, 7), acquire});
  save("pm4", "circle", {jump(0x10000 - 16, 4), jump(0x10000 - 16, 4)});
  save("pm4", "others",
       {jump(0x10000 - 40, 10), {pm4(0x10, 4), 1, 2, 3, 2u << 30, pm4(0x49, 3), 0, 0, pm4(0x77, 2), 0}});
  save("pm4", "beyond", {jump(0x10000 - 16, 5), acquire});

  // A queue with scratch, packets, then memory: descriptors from 0, a signal at 0x4000.
  const auto queue = [&](uint32_t packets) { return with({packets, 0, 32 | 4u << 12, 64}, {at(0x6000), {0, 0}}); };
  const auto dispatch = [&](uint32_t kernel, uint32_t scratch) {
    return with({2u | 1u << 16, 64 | 1u << 16, 1, 128, 1, 1, scratch, 256},
                {at(kernel), at(0x5000), {0, 0}, at(0x4000)});
  };
  const auto barrier = [&](uint32_t type, uint32_t signal) {
    return with({type, 0}, {at(signal), {0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, at(0x4000)});
  };
  const Words vendorPm4 = with({1u << 16, pm4(0x10, 4), 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0}, {at(0x4000)});
  const Words value = with({2u << 16, 0}, {at(0x4000), {1, 0, ~0u, ~0u, 3, 0, 0, 0, 0, 0}, at(0x4000)});
  const auto descriptor = [](uint32_t code) {
    Words words(16);
    words[4] = code;
    words[12] = 7 | 0xf0 << 12 | 1 << 21 | 1 << 23;
    words[13] = 1 | 10 << 1 | 7 << 7;
    words[14] = 0x7f;
    return words;
  };
  Words memory;
  for (uint32_t code = 0; code < 4; ++code)
    for (const uint32_t word : descriptor(code))
      memory.push_back(word);
  memory.resize(0x4000 / 4);
  memory.insert(memory.end(), {1, 0, 1, 0}); // a user signal of value 1
  const auto filled = [](Words packets) {
    packets.resize(8 * 16, 1); // invalid ones behind
    return packets;
  };
  save("aql", "dispatches", {queue(3), filled(with(dispatch(0, 0), {dispatch(0, 16), dispatch(64, 0)})), memory});
  save("aql", "faults", {queue(2), filled(with(dispatch(128, 0), {dispatch(0, 0)})), memory});
  save("aql", "barriers", {queue(3), filled(with(dispatch(0, 0), {barrier(3, 0x4000), barrier(5, 0x4000)})), memory});
  save("aql", "vendor", {queue(3), filled(with(vendorPm4, {value, barrier(3, 0x8000)})), memory});
}

void listSeeds(const fs::path &folder) {
  std::set<std::string> seeds; // sorted: a run with a fixed seed takes the same way everywhere
  for (const auto &entry : fs::directory_iterator(folder))
    seeds.insert(fs::absolute(entry.path()));
  std::string list;
  for (const std::string &seed : seeds)
    list += (list.empty() ? "" : ",") + seed;
  writeText(folder.string() + ".list", list);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    std::cerr << "usage: fuzz_seeds TEST_FILES OUT\n";
    return 2;
  }
  const fs::path files = argv[1], out = argv[2];
  for (const char *name : {"kernels_v3.co", "kernels_v4.co", "kernels_v5.co", "kernels_v6.co", "odd.co"})
    cutObject(files / name, out);
  for (const char *name : {"host_plain.o", "host_compressed.o", "packed.bin"}) {
    auto mapped = MappedFile::open(files / name);
    auto container = Container::open(files / name);
    if (!mapped || !container) {
      ++failures;
      continue;
    }
    write(out / "bundle" / name, mapped->bytes());
    for (const ImageGroup &group : container->groups()) {
      write(out / "bundle" / (std::string(name) + ".group"), group.bytes);
      if (group.kind == ImageGroup::Kind::CompressedBundle)
        write(out / "compressed" / name, group.bytes.subspan(4));
    }
  }
  int n = 0;
  for (const char *text :
       {"gfx90a", "gfx90a:sramecc+:xnack-", "gfx906+sram-ecc-xnack", "gfx9-generic:xnack+", "gfx1100"})
    writeText(out / "target_id" / std::to_string(n++), text);
  makeHostcallSeeds(out);
  makePacketSeeds(out);
  for (const auto &entry : fs::directory_iterator(out))
    if (entry.is_directory())
      listSeeds(entry.path());
  return failures == 0 ? 0 : 1;
}
