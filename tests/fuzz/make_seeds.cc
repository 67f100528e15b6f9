// Usage: fuzz_seeds TEST_FILES OUT: cuts the files of tests/object into seeds, one folder per fuzzer.

#include "object/bundle.h"
#include "object/container.h"

#include <filesystem>
#include <fstream>
#include <iostream>

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
  return failures == 0 ? 0 : 1;
}
