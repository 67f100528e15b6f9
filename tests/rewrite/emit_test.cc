// What emitMerged and emitOverlay write: read back with object/, and executed by the virtual GPU.
#include "emit_fixture.h"
#include "luthier/vgpu.h"

#include <amd_comgr.h>

#include <dlfcn.h>
#include <elf.h>

namespace luthier::rewrite::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class EmitTest : public testing::Test {
protected:
  File original_{fileBytes(EMIT_KERNELS), "kernels.co"};
  std::shared_ptr<const hook::HookModule> module_ = toolModule();

  std::string mergeError(const Variant &variant) const {
    auto merged = emitMerged(original_.object, {&variant, 1});
    return merged ? "(no error)" : merged.error().message();
  }
};

TEST_F(EmitTest, OriginalStaysInPlace) {
  const std::vector<Variant> variants = copiesOf(original_.object);
  const File merged(must(emitMerged(original_.object, variants)));
  ASSERT_GT(merged.bytes.size(), original_.bytes.size());
  // Which bytes of the old file may differ: the ELF header and the descriptors.
  std::vector<bool> mayDiffer(original_.bytes.size());
  std::fill_n(mayDiffer.begin(), sizeof(Elf64_Ehdr), true);
  for (const object::Symbol &kernel : original_->kernels()) {
    const auto at = must(original_->bytesAt(kernel.descriptor, 64)).data() - original_.bytes.data();
    std::fill_n(mayDiffer.begin() + at, 64, true);
  }
  for (size_t n = 0; n < original_.bytes.size(); ++n)
    if (!mayDiffer[n])
      ASSERT_EQ(merged.bytes[n], original_.bytes[n]) << "offset " << n;
  for (size_t n = 0; n < original_->sections().size(); ++n)
    EXPECT_EQ(merged->sections()[n].name, original_->sections()[n].name);
  EXPECT_EQ(merged->targetId(), original_->targetId());
  EXPECT_EQ(merged->version(), original_->version());
}

TEST_F(EmitTest, KernelsMove) {
  const std::vector<Variant> variants = copiesOf(original_.object);
  const File merged(must(emitMerged(original_.object, variants)));
  ASSERT_EQ(merged->kernels().size(), original_->kernels().size());
  EXPECT_TRUE(merged->overlaps().empty());
  const object::Section *text = merged->section(".luthier.text");
  ASSERT_TRUE(text);
  for (const Variant &variant : variants) {
    const object::Symbol &kernel = merged.kernel(variant.kernel->name);
    EXPECT_EQ(kernel.descriptor, variant.kernel->descriptor);
    EXPECT_EQ(kernel.address % 256, 0u);
    EXPECT_GE(kernel.address, text->address);
    EXPECT_LE(kernel.end(), text->address + text->size);
    EXPECT_EQ(kernel.size, variant.code.size());
    EXPECT_TRUE(kernel.sized);
    object::KernelDescriptor descriptor = must(merged->descriptor(kernel));
    descriptor.entryOffset = variant.descriptor.entryOffset;
    EXPECT_EQ(descriptor, variant.descriptor);
    const auto code = must(merged->code(kernel));
    EXPECT_TRUE(std::ranges::equal(code, variant.code));
  }
  // Everything else is where it was.
  for (auto kind : {object::SymbolKind::Variable, object::SymbolKind::DeviceFunction})
    for (const object::Symbol &symbol : original_->symbols(kind)) {
      const object::Symbol *found = merged->find(symbol.name);
      ASSERT_TRUE(found) << symbol.name;
      EXPECT_EQ(found->address, symbol.address);
      EXPECT_EQ(found->size, symbol.size);
      EXPECT_EQ(found->external, symbol.external);
    }
  EXPECT_EQ(must(merged->metadata()), must(original_->metadata()));
}

TEST_F(EmitTest, RelocationsVariablesAndMetadata) {
  Variant variant = adder(original_.object, module_);
  variant.metadata.privateSegmentFixedSize = 64;
  const File merged(must(emitMerged(original_.object, {&variant, 1})));
  const object::Symbol &kernel = merged.kernel("count");
  const object::Symbol *start = merged->find("start"), *counter = merged->find("counter");
  ASSERT_TRUE(start && counter);
  EXPECT_EQ(start->kind, object::SymbolKind::Variable);
  EXPECT_TRUE(start->external && counter->external);
  EXPECT_EQ(must(merged->bytesAt(start->address, 8))[0], std::byte{11});
  EXPECT_EQ(start->address % 8, 0u);
  EXPECT_FALSE(merged->bytesAt(counter->address, 8)) << "zeros need no room in the file";
  EXPECT_EQ(merged->relocations().size(), original_->relocations().size() + 6);
  auto check = [&](uint64_t offset, object::RelocationType type, uint64_t address) {
    const object::Relocation *relocation = merged->relocationAt(kernel.address + offset);
    ASSERT_TRUE(relocation);
    EXPECT_EQ(relocation->type, static_cast<uint32_t>(type));
    EXPECT_TRUE(relocation->hasSymbol && relocation->defined);
    EXPECT_EQ(relocation->symbolAddress + static_cast<uint64_t>(relocation->addend), address);
  };
  check(12, object::RelocationType::Abs32Lo, original_->find("total")->address);
  check(20, object::RelocationType::Abs32Hi, original_->find("total")->address);
  check(28, object::RelocationType::Abs32Lo, start->address);
  check(44, object::RelocationType::Abs32Lo, counter->address);
  // Only this kernel's metadata changed, and only as asked.
  object::Metadata expected = must(original_->metadata());
  for (object::KernelMetadata &one : expected.kernels)
    if (one.symbol == "count.kd")
      one.privateSegmentFixedSize = 64, one.sgprCount = 40;
  EXPECT_EQ(must(merged->metadata()), expected);
  EXPECT_EQ(merged.kernel("append").address, original_.kernel("append").address);
}

TEST_F(EmitTest, DynamicSymbolsAreFoundByHash) {
  const std::vector<Variant> variants{adder(original_.object, module_)};
  const File merged(must(emitMerged(original_.object, variants)));
  const object::ElfFile &elf = merged->file();
  const object::Section *table = elf.sectionOfType(SHT_DYNSYM), *hash = elf.sectionOfType(SHT_HASH),
                        *gnu = elf.sectionOfType(SHT_GNU_HASH);
  ASSERT_TRUE(table && hash && gnu);
  const object::ByteSpan strings = elf.sections[table->link].contents;
  const auto count = static_cast<uint32_t>(table->contents.size() / sizeof(Elf64_Sym));
  auto symbol = [&](uint32_t n) { return object::loadAs<Elf64_Sym>(table->contents.data() + n * sizeof(Elf64_Sym)); };
  auto word = [](const object::Section *section, uint64_t n) {
    return object::loadAs<uint32_t>(section->contents.data() + n * 4);
  };
  EXPECT_EQ(word(hash, 1), count);
  for (uint32_t n = 1; n < count; ++n) {
    EXPECT_EQ(ELF64_ST_BIND(symbol(n).st_info) == STB_LOCAL, n < table->info);
    if (n < table->info || symbol(n).st_shndx == SHN_UNDEF)
      continue;
    const std::string name(must(object::textAt(strings, symbol(n).st_name, "name")));
    uint32_t sysv = 0, djb = 5381;
    for (const char c : name) {
      sysv = (sysv << 4) + static_cast<uint8_t>(c);
      sysv = (sysv ^ (sysv & 0xf0000000) >> 24) & 0x0fffffff;
      djb = djb * 33 + static_cast<uint8_t>(c);
    }
    uint32_t at = word(hash, 2 + sysv % word(hash, 0));
    while (at != 0 && at != n)
      at = word(hash, 2 + word(hash, 0) + at);
    EXPECT_EQ(at, n) << name;
    const uint32_t buckets = word(gnu, 0), first = word(gnu, 1), filter = word(gnu, 2), shift = word(gnu, 3);
    const auto bits = object::loadAs<uint64_t>(gnu->contents.data() + 16 + 8ull * (djb / 64 % filter));
    EXPECT_TRUE(bits >> djb % 64 & 1 && bits >> (djb >> shift) % 64 & 1) << name;
    const uint64_t chains = 4 + 2ull * filter + buckets;
    at = word(gnu, 4 + 2ull * filter + djb % buckets);
    ASSERT_GE(at, first);
    while (at != n && !(word(gnu, chains + at - first) & 1))
      ++at;
    EXPECT_EQ(at, n) << name;
    EXPECT_EQ(word(gnu, chains + at - first) | 1, djb | 1);
  }
}

TEST_F(EmitTest, PerLaunchVariablesAreOneBlock) {
  Variant variant = must(copyOf(original_.object, original_.kernel("append"), must(original_->metadata())));
  variant.variables = {used(module_, "launchB"), used(module_, "wave"), {module_, UsedVariable::kLaunchBlock}};
  variant.relocations = {{.offset = 4, .base = CodeRelocation::Base::Variable, .variable = 2}};
  const File merged(must(emitMerged(original_.object, {&variant, 1})));
  const object::Relocation *block = merged->relocationAt(merged.kernel("append").address + 4);
  ASSERT_TRUE(block);
  const object::Symbol *a = merged->find("launchA"), *b = merged->find("launchB");
  ASSERT_TRUE(a && b);
  const auto offsetOf = [&](std::string_view name) { return module_->findVariable(name)->offset; };
  EXPECT_EQ(b->address - a->address, offsetOf("launchB") - offsetOf("launchA"));
  EXPECT_EQ(block->symbolAddress, a->address - offsetOf("launchA"));
  EXPECT_FALSE(merged->find("wave"));
  EXPECT_FALSE(merged->find("counter"));
}

TEST_F(EmitTest, CopiedFunctionsAreLocalSymbols) {
  const object::Symbol &kernel = original_.kernel("resources"), &twice = *original_->find("twice");
  Variant variant = must(copyOf(original_.object, kernel, must(original_->metadata())));
  const uint64_t size = variant.code.size();
  const auto callee = must(original_->code(twice));
  variant.code.insert(variant.code.end(), callee.begin(), callee.end());
  variant.functions.push_back({&twice, size, callee.size()});
  variant.ranges.push_back({CodeRange::Kind::Original, size, callee.size(), twice.address});
  const File merged(must(emitMerged(original_.object, {&variant, 1})));
  const object::Symbol *copy = merged->find("resources$twice");
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->kind, object::SymbolKind::DeviceFunction);
  EXPECT_FALSE(copy->external);
  EXPECT_EQ(copy->address, merged.kernel("resources").address + size);
  EXPECT_EQ(merged->find("twice")->address, twice.address);
}

TEST_F(EmitTest, MapGoesBackAndForth) {
  std::vector<Variant> variants = copiesOf(original_.object);
  Variant &first = variants[0];
  first.ranges = {{CodeRange::Kind::Entry, 0, 4, first.kernel->address},
                  {CodeRange::Kind::Glue, 4, 4, first.kernel->address, 7, 1},
                  {CodeRange::Kind::Fragment, 8, 4, first.kernel->address, 7, 1},
                  {CodeRange::Kind::Original, 12, first.code.size() - 12, first.kernel->address}};
  first.notes = {"nothing", "count(v3)"};
  const File merged(must(emitMerged(original_.object, variants)));
  const object::CodeMap map = must(readCodeMap(merged.object));
  const uint64_t address = merged.kernel(first.kernel->name).address;
  const object::CodeMap::Range *glue = map.find(address + 7), *fragment = map.find(address + 8);
  ASSERT_TRUE(glue && fragment);
  EXPECT_EQ(glue->kind, CodeRange::Kind::Glue);
  EXPECT_EQ(glue->note, "count(v3)");
  EXPECT_EQ(fragment->kind, CodeRange::Kind::Fragment);
  EXPECT_EQ(fragment->note, "");
  EXPECT_EQ(fragment->original, first.kernel->address);
  EXPECT_FALSE(map.find(first.kernel->address));
  EXPECT_TRUE(must(readCodeMap(original_.object)).ranges.empty());
  // Once more over what is rewritten already: both maps hold.
  const File again(must(emitMerged(merged.object, {})));
  Variant third = must(copyOf(merged.object, merged.kernel("resources"), must(merged->metadata())));
  const File twice(must(emitMerged(merged.object, {&third, 1})));
  const object::CodeMap both = must(readCodeMap(twice.object));
  EXPECT_EQ(both.ranges.size(), map.ranges.size() + third.ranges.size());
  EXPECT_EQ(both.find(twice.kernel("resources").address)->original, merged.kernel("resources").address);
}

TEST_F(EmitTest, DamagedMapsAreErrors) {
  const std::vector<Variant> variants = copiesOf(original_.object);
  const std::vector<std::byte> good = must(emitMerged(original_.object, variants));
  const File merged(good);
  const uint64_t at = merged->section(".luthier.map")->offset;
  auto with = [&](uint64_t offset, uint8_t value) {
    std::vector<std::byte> bytes = good;
    bytes[at + offset] = std::byte{value};
    const File file(bytes, "x.co");
    auto map = readCodeMap(file.object);
    return map ? "(no error)" : map.error().message();
  };
  EXPECT_THAT(with(0, 'X'), HasSubstr("x.co: section .luthier.map at offset"));
  EXPECT_THAT(with(8, 0xff), HasSubstr("do not make"));
  EXPECT_THAT(with(15, 0xff), HasSubstr("do not make"));
  EXPECT_THAT(with(24 + 7, 0xff), HasSubstr("begins before the end"));
  EXPECT_THAT(with(24 + 24, 0xff), HasSubstr("of kind 255"));
  EXPECT_THAT(with(24 + 28, 0), HasSubstr("string table"));
}

TEST_F(EmitTest, BadVariantsAreErrors) {
  const object::Metadata metadata = must(original_->metadata());
  const object::Symbol &kernel = original_.kernel("append");
  const Variant good = must(copyOf(original_.object, kernel, metadata));
  EXPECT_EQ(mergeError(good), "(no error)");
  const std::vector<Variant> two{good, good};
  auto merged = emitMerged(original_.object, two);
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().message(), "kernels.co: there are two variants of kernel 'append'");

  auto with = [&](auto change) {
    Variant variant = good;
    change(variant);
    return mergeError(variant);
  };
  EXPECT_THAT(with([](Variant &v) { v.kernel = nullptr; }), HasSubstr("of no kernel of this object"));
  EXPECT_THAT(with([](Variant &v) { v.code.clear(); }), HasSubstr("kernel 'append': 0 bytes are no code"));
  EXPECT_THAT(with([](Variant &v) { v.functions.clear(); }), HasSubstr("not the first function"));
  EXPECT_THAT(with([&](Variant &v) { v.functions.push_back({original_->find("twice"), 8, 8}); }),
              HasSubstr("the functions 'append' and 'twice' overlap at 0x8"));
  EXPECT_THAT(with([&](Variant &v) { v.functions.push_back({original_->find("twice"), v.code.size(), 8}); }),
              HasSubstr("the function 'twice' (0x8 bytes at"));
  EXPECT_THAT(with([](Variant &v) { v.relocations = {{.offset = v.code.size() - 3}}; }), HasSubstr("lies outside"));
  EXPECT_THAT(with([](Variant &v) { v.relocations = {{.offset = 8}, {.offset = 10}}; }), HasSubstr("overlaps the one"));
  EXPECT_THAT(with([](Variant &v) { v.relocations = {{.offset = 8, .base = CodeRelocation::Base::Variable}}; }),
              HasSubstr("variable 0 of 0"));
  EXPECT_THAT(with([&](Variant &v) {
                v.variables = {used(module_, "wave")};
                v.relocations = {{.offset = 8, .base = CodeRelocation::Base::Variable}};
              }),
              HasSubstr("'wave', which lives in registers"));
  EXPECT_THAT(with([](Variant &v) { v.ranges.pop_back(); }), HasSubstr("the map ends at"));
  EXPECT_THAT(with([](Variant &v) { v.ranges[1].offset += 4; }), HasSubstr("the map's range at"));
  EXPECT_THAT(with([&](Variant &v) { v.variables = {{module_, 99}}; }), HasSubstr("variable 99 of a module"));
  EXPECT_THAT(with([&](Variant &v) { v.variables = {used(module_, "tooStrict")}; }),
              HasSubstr("'tooStrict' of tool.bc is aligned to 8192 bytes, loaded code objects to 4096 only"));
  // Two tools with variables of the same name.
  const auto other = toolModule();
  EXPECT_THAT(with([&](Variant &v) { v.variables = {used(module_, "start"), used(other, "start")}; }),
              HasSubstr("the variable 'start' is in tool.bc and in tool.bc"));
  auto overlay = emitOverlay(original_.object, adder(original_.object, module_), {.original = 0, .variables = {1}});
  ASSERT_FALSE(overlay);
  EXPECT_THAT(overlay.error().message(), HasSubstr("kernel 'count': there are addresses for 1 variables of 2"));
}

/// What HIP reads code objects with, as this system has it. Loaded by name, as HIP does it: the version is another on
/// other releases, where this program runs as well.
class Comgr {
  void *library_ = load();

  static void *load() {
    void *library = dlopen("libamd_comgr.so.3", RTLD_NOW | RTLD_LOCAL);
    return library ? library : dlopen("libamd_comgr.so.2", RTLD_NOW | RTLD_LOCAL);
  }
  template <class Function> Function *function(const char *name) const {
    auto *found = library_ ? reinterpret_cast<Function *>(dlsym(library_, name)) : nullptr;
    EXPECT_TRUE(found) << name;
    return found;
  }

public:
  decltype(amd_comgr_create_data) *createData = function<decltype(amd_comgr_create_data)>("amd_comgr_create_data");
  decltype(amd_comgr_set_data) *setData = function<decltype(amd_comgr_set_data)>("amd_comgr_set_data");
  decltype(amd_comgr_get_data_metadata) *getDataMetadata =
      function<decltype(amd_comgr_get_data_metadata)>("amd_comgr_get_data_metadata");
  decltype(amd_comgr_metadata_lookup) *metadataLookup =
      function<decltype(amd_comgr_metadata_lookup)>("amd_comgr_metadata_lookup");
  decltype(amd_comgr_get_metadata_list_size) *getMetadataListSize =
      function<decltype(amd_comgr_get_metadata_list_size)>("amd_comgr_get_metadata_list_size");
  decltype(amd_comgr_index_list_metadata) *indexListMetadata =
      function<decltype(amd_comgr_index_list_metadata)>("amd_comgr_index_list_metadata");
  decltype(amd_comgr_get_metadata_string) *getMetadataString =
      function<decltype(amd_comgr_get_metadata_string)>("amd_comgr_get_metadata_string");
  decltype(amd_comgr_destroy_metadata) *destroyMetadata =
      function<decltype(amd_comgr_destroy_metadata)>("amd_comgr_destroy_metadata");
  decltype(amd_comgr_release_data) *releaseData = function<decltype(amd_comgr_release_data)>("amd_comgr_release_data");
};

TEST_F(EmitTest, ComgrReadsTheNewNote) {
  const Comgr comgr;
  ASSERT_FALSE(HasFailure());
  Variant variant = adder(original_.object, module_);
  variant.metadata.privateSegmentFixedSize = 4242;
  for (const bool overlay : {false, true}) {
    const std::vector<std::byte> bytes =
        overlay ? must(emitOverlay(original_.object, variant, {.original = 0, .variables = {1, 2}}))
                : must(emitMerged(original_.object, {&variant, 1}));
    amd_comgr_data_t data;
    ASSERT_EQ(comgr.createData(AMD_COMGR_DATA_KIND_EXECUTABLE, &data), AMD_COMGR_STATUS_SUCCESS);
    ASSERT_EQ(comgr.setData(data, bytes.size(), reinterpret_cast<const char *>(bytes.data())),
              AMD_COMGR_STATUS_SUCCESS);
    amd_comgr_metadata_node_t root, kernels;
    ASSERT_EQ(comgr.getDataMetadata(data, &root), AMD_COMGR_STATUS_SUCCESS);
    ASSERT_EQ(comgr.metadataLookup(root, "amdhsa.kernels", &kernels), AMD_COMGR_STATUS_SUCCESS);
    size_t count = 0;
    ASSERT_EQ(comgr.getMetadataListSize(kernels, &count), AMD_COMGR_STATUS_SUCCESS);
    EXPECT_EQ(count, overlay ? 1 : original_->kernels().size());
    std::vector<std::string> sizes;
    for (size_t n = 0; n < count; ++n) {
      amd_comgr_metadata_node_t kernel, text;
      ASSERT_EQ(comgr.indexListMetadata(kernels, n, &kernel), AMD_COMGR_STATUS_SUCCESS);
      ASSERT_EQ(comgr.metadataLookup(kernel, ".private_segment_fixed_size", &text), AMD_COMGR_STATUS_SUCCESS);
      size_t length = 0;
      ASSERT_EQ(comgr.getMetadataString(text, &length, nullptr), AMD_COMGR_STATUS_SUCCESS);
      std::string value(length, '\0');
      ASSERT_EQ(comgr.getMetadataString(text, &length, value.data()), AMD_COMGR_STATUS_SUCCESS);
      sizes.push_back(value.c_str());
      comgr.destroyMetadata(text);
      comgr.destroyMetadata(kernel);
    }
    EXPECT_THAT(sizes, testing::Contains("4242").Times(1));
    comgr.destroyMetadata(kernels);
    comgr.destroyMetadata(root);
    comgr.releaseData(data);
  }
}

// On the virtual GPU, without ROCr.

using vgpu::Arguments;

TEST_F(EmitTest, CopiesRun) {
  const auto gpu = must(vgpu::VirtualGpu::create());
  std::vector<std::vector<uint32_t>> results;
  for (const std::vector<std::byte> &bytes :
       {original_.bytes, must(emitMerged(original_.object, copiesOf(original_.object)))}) {
    const auto loaded = must(gpu->load(bytes));
    auto *out = must(gpu->allocate<uint32_t>(64));
    must(gpu->run(*loaded->kernel("resources"), {.grid = {64}, .workgroup = {64}}, Arguments(out, 3u)));
    results.emplace_back(out, out + 64);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0][0], 2 * 6 + 40 + 7u);
}

TEST_F(EmitTest, RelocatedLiteralsRun) {
  const auto gpu = must(vgpu::VirtualGpu::create());
  const Variant variant = adder(original_.object, module_);
  const auto loaded = must(gpu->load(must(emitMerged(original_.object, {&variant, 1}))));
  auto *out = must(gpu->allocate<uint64_t>(1));
  must(gpu->run(*loaded->kernel("count"), {.grid = {64}, .workgroup = {64}}, Arguments(out)));
  EXPECT_EQ(*out, 18u);
  EXPECT_EQ(*reinterpret_cast<uint32_t *>(loaded->variable("counter")->address), 64 * 18u);
}

TEST_F(EmitTest, OverlayRuns) {
  const auto gpu = must(vgpu::VirtualGpu::create());
  const auto first = must(gpu->load(original_.bytes));
  auto *start = must(gpu->allocate<uint64_t>(1)), *counter = must(gpu->allocate<uint64_t>(1));
  *start = 100;
  const Variant variant = adder(original_.object, module_);
  const OverlayAddresses addresses{
      .original = first->variable("total")->address - original_->find("total")->address,
      .variables = {reinterpret_cast<uint64_t>(start), reinterpret_cast<uint64_t>(counter)}};
  const File overlay(must(emitOverlay(original_.object, variant, addresses)));
  EXPECT_EQ(overlay->kernels().size(), 1u);
  EXPECT_EQ(overlay->targetId(), original_->targetId());
  EXPECT_EQ(overlay->version(), original_->version());
  EXPECT_TRUE(overlay->relocations().empty());
  EXPECT_EQ(must(overlay->metadata()).kernels, std::vector{variant.metadata});
  EXPECT_EQ(must(readCodeMap(overlay.object)).ranges.size(), 1u);
  const auto second = must(gpu->load(overlay.bytes));
  auto *out = must(gpu->allocate<uint64_t>(1));
  must(gpu->run(*second->kernel("count"), {.grid = {64}, .workgroup = {64}}, Arguments(out)));
  EXPECT_EQ(*out, 107u);
  EXPECT_EQ(*counter, 64 * 107u);
}

} // namespace
} // namespace luthier::rewrite::test
