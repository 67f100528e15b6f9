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
  for (const auto &entry : fs::directory_iterator(out))
    if (entry.is_directory())
      listSeeds(entry.path());
  return failures == 0 ? 0 : 1;
}
