// Readers, executables, loaded code objects and their symbols.
#include "fixture.h"

#include <fcntl.h>
#include <fstream>
#include <map>
#include <unistd.h>

namespace luthier::hsa::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using Kind = ExecutableSymbol::Kind;

class ExecutableTest : public HsaTest {};

std::vector<std::byte> bytesOf(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

TEST_F(ExecutableTest, LifeOfAnExecutable) {
  OwnedExecutable executable = value(Executable::create(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR));
  EXPECT_EQ(value(executable->profile()), HSA_PROFILE_BASE);
  EXPECT_TRUE(value(executable->loadedCodeObjects()).empty());
  EXPECT_TRUE(value(executable->symbols(gpu())).empty());
  EXPECT_THAT(value(Executable::all()), testing::Contains(*executable));
  succeed(executable->freeze());
  EXPECT_TRUE(value(executable->validate()));
  EXPECT_THAT(errorOf(executable->freeze()), HasSubstr("hsa_executable_freeze: HSA_STATUS_ERROR_FROZEN_EXECUTABLE"));
  const Executable gone = *executable;
  succeed(executable.destroy());
  EXPECT_THAT(value(Executable::all()), testing::Not(testing::Contains(gone)));
}

TEST_F(ExecutableTest, BadHandlesAreErrors) {
  const Executable none;
  EXPECT_THAT(errorOf(none.profile()), HasSubstr("hsa_executable_get_info: HSA_STATUS_ERROR_INVALID_EXECUTABLE"));
  EXPECT_THAT(errorOf(none.freeze()), HasSubstr("HSA_STATUS_ERROR_INVALID_EXECUTABLE"));
  EXPECT_THAT(errorOf(none.validate()), HasSubstr("HSA_STATUS_ERROR_INVALID_EXECUTABLE"));
  EXPECT_THAT(errorOf(none.destroy()), HasSubstr("HSA_STATUS_ERROR_INVALID_EXECUTABLE"));
  EXPECT_THAT(errorOf(none.symbols(gpu())), HasSubstr("HSA_STATUS_ERROR_INVALID_EXECUTABLE"));
  EXPECT_THAT(errorOf(none.programSymbols()), HasSubstr("HSA_STATUS_ERROR_INVALID_EXECUTABLE"));
  EXPECT_THAT(errorOf(none.symbol("x", gpu())), StartsWith("x: hsa_executable_get_symbol_by_name: "));
  EXPECT_THAT(errorOf(none.loadedCodeObjects()), HasSubstr("HSA_STATUS_ERROR_INVALID_EXECUTABLE"));
  EXPECT_THAT(errorOf(Executable::create(static_cast<hsa_profile_t>(9))),
              HasSubstr("hsa_executable_create_alt: HSA_STATUS_ERROR_INVALID_ARGUMENT"));
  EXPECT_THAT(errorOf(LoadedCodeObject().uri()), HasSubstr("HSA_STATUS_ERROR_INVALID_CODE_OBJECT"));
  EXPECT_THAT(errorOf(ExecutableSymbol().kind()), HasSubstr("HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL"));
  EXPECT_THAT(errorOf(CodeObjectReader().destroy()), HasSubstr("HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER"));
}

TEST_F(ExecutableTest, LoadsFromMemory) {
  const std::vector<std::byte> elf = readFile(KERNELS);
  const OwnedCodeObjectReader reader = value(CodeObjectReader::fromMemory(elf));
  const OwnedExecutable executable = value(Executable::create());
  const LoadedCodeObject object = value(executable->load(gpu(), *reader));
  EXPECT_EQ(value(executable->loadedCodeObjects()), std::vector{object});
  EXPECT_EQ(value(object.executable()), *executable);
  EXPECT_EQ(value(object.agent()), gpu());
  EXPECT_EQ(value(object.kind()), HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_KIND_AGENT);
  EXPECT_EQ(value(object.storageType()), HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY);
  EXPECT_EQ(value(object.storageMemory()).data(), elf.data());
  EXPECT_EQ(value(object.storageMemory()).size(), elf.size());
  EXPECT_EQ(value(object.storageElf()), elf);
  EXPECT_THAT(value(object.uri()), AllOf(StartsWith("memory://" + std::to_string(getpid()) + "#offset=0x"),
                                         HasSubstr("&size=" + std::to_string(elf.size()))));
}

TEST_F(ExecutableTest, LoadedMemoryIsTheImage) {
  const std::vector<std::byte> elf = readFile(KERNELS);
  const OwnedCodeObjectReader reader = value(CodeObjectReader::fromMemory(elf));
  const OwnedExecutable executable = value(Executable::create());
  const LoadedCodeObject object = value(executable->load(gpu(), *reader));
  succeed(executable->freeze());
  const object::CodeObject parsed = value(object::CodeObject::parse(elf, "kernels"));
  const uint64_t base = value(object.loadBase()), size = value(object.loadSize());
  EXPECT_GE(size, parsed.imageSize());
  const object::Symbol *function = parsed.find("twice");
  ASSERT_NE(function, nullptr);
  EXPECT_EQ(value(object.readLoaded(function->address, function->size)),
            bytesOf(value(parsed.bytesAt(function->address, function->size))));
  EXPECT_TRUE(value(object.readLoaded(0, 0)).empty());
  EXPECT_THAT(errorOf(object.readLoaded(size - 4, 8)), HasSubstr("are not all in"));
  EXPECT_THAT(errorOf(object.readLoaded(UINT64_MAX, 8)), HasSubstr("are not all in"));
  for (const uint64_t address : {base, base + function->address, base + size - 1}) {
    EXPECT_EQ(value(LoadedCodeObject::containing(address)), object);
    EXPECT_EQ(value(Executable::containing(address)), *executable);
  }
  EXPECT_THAT(errorOf(LoadedCodeObject::containing(8)), HasSubstr("no executable has 0x8"));
}

TEST_F(ExecutableTest, LoadsFromFile) {
  const std::vector<std::byte> elf = readFile(KERNELS);
  OwnedCodeObjectReader reader = value(CodeObjectReader::fromFile(KERNELS));
  const OwnedExecutable executable = value(Executable::create());
  const LoadedCodeObject object = value(executable->load(gpu(), *reader));
  EXPECT_EQ(value(object.uri()), "file://" KERNELS);
  EXPECT_EQ(value(object.storageElf()), elf);
  // ROCr's mapping of the file goes with the reader.
  succeed(reader.destroy());
  EXPECT_EQ(value(object.storageElf()), elf);
}

TEST_F(ExecutableTest, LoadsFromPartOfAFile) {
  const std::vector<std::byte> elf = readFile(KERNELS);
  // ROCr writes such a path in its own way.
  const std::string path = testing::TempDir() + "/luthier hsa test %" + std::to_string(getpid());
  constexpr size_t offset = 4096 + 64;
  {
    std::ofstream stream(path, std::ios::binary);
    stream << std::string(offset, 'x');
    stream.write(reinterpret_cast<const char *>(elf.data()), static_cast<std::streamsize>(elf.size()));
    stream << "and more";
  }
  OwnedCodeObjectReader reader = value(CodeObjectReader::fromFile(path, offset, elf.size()));
  const OwnedExecutable executable = value(Executable::create());
  const LoadedCodeObject object = value(executable->load(gpu(), *reader));
  EXPECT_THAT(value(object.uri()), AllOf(StartsWith("file://"), HasSubstr("#offset=" + std::to_string(offset))));
  EXPECT_EQ(value(object.storageElf()), elf);
  succeed(reader.destroy());
  EXPECT_EQ(value(object.storageElf()), elf);
  EXPECT_THAT(errorOf(CodeObjectReader::fromFile(path, offset, elf.size() + 9)), HasSubstr("bytes, not"));
  EXPECT_THAT(errorOf(CodeObjectReader::fromFile(path, SIZE_MAX, 2)), HasSubstr("bytes, not"));
  EXPECT_THAT(errorOf(CodeObjectReader::fromFile(path, offset, 0)), HasSubstr("HSA_STATUS_ERROR_INVALID_CODE_OBJECT"));
  unlink(path.c_str());
  EXPECT_THAT(errorOf(object.storageElf()), HasSubstr("the ELF of a loaded code object has gone"));
}

TEST_F(ExecutableTest, FileDescriptorsDo) {
  const int file = open(KERNELS, O_RDONLY | O_CLOEXEC);
  const OwnedCodeObjectReader reader = value(CodeObjectReader::fromFile(file));
  close(file);
  const OwnedExecutable executable = value(Executable::create());
  value(executable->load(gpu(), *reader));
  EXPECT_THAT(errorOf(CodeObjectReader::fromFile(-1)), HasSubstr("HSA_STATUS_ERROR_INVALID_ARGUMENT"));
}

TEST_F(ExecutableTest, BadFilesAreErrors) {
  EXPECT_EQ(errorOf(CodeObjectReader::fromFile("/no/such.hsaco")), "/no/such.hsaco: No such file or directory");
  EXPECT_THAT(errorOf(CodeObjectReader::fromFile("/dev/null")),
              AllOf(StartsWith("/dev/null: "), HasSubstr("HSA_STATUS_ERROR_INVALID_CODE_OBJECT")));
  EXPECT_THAT(errorOf(CodeObjectReader::fromMemory({})), HasSubstr("HSA_STATUS_ERROR_INVALID_ARGUMENT"));
  const std::vector<std::byte> garbage(4096, std::byte{0x55});
  const OwnedCodeObjectReader reader = value(CodeObjectReader::fromMemory(garbage));
  const OwnedExecutable executable = value(Executable::create());
  EXPECT_THAT(errorOf(executable->load(gpu(), *reader)),
              HasSubstr("hsa_executable_load_agent_code_object: HSA_STATUS_ERROR_INVALID_CODE_OBJECT"));
  EXPECT_THAT(errorOf(executable->load(gpu(), CodeObjectReader())),
              HasSubstr("HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER"));
}

TEST_F(ExecutableTest, SymbolsAreListedAndFound) {
  Kernels kernels(gpu());
  std::map<std::string, Kind> found;
  for (const ExecutableSymbol symbol : value(kernels.executable().symbols(gpu()))) {
    found.emplace(value(symbol.name()), value(symbol.kind()));
    EXPECT_EQ(value(symbol.agent()), gpu());
    EXPECT_EQ(value(kernels.executable().symbol(value(symbol.name()), gpu())), symbol);
    EXPECT_EQ(value(symbol.executable()), kernels.executable());
    EXPECT_EQ(value(symbol.loadedCodeObject()), value(kernels.executable().loadedCodeObjects()).at(0));
  }
  std::erase_if(found, [](const auto &entry) { return entry.first.starts_with("__hip_cuid_"); });
  const std::map<std::string, Kind> expected = {{"append.kd", Kind::Kernel},
                                                {"count.kd", Kind::Kernel},
                                                {"resources.kd", Kind::Kernel},
                                                {"table", Kind::Variable},
                                                {"total", Kind::Variable}};
  EXPECT_EQ(found, expected);
  EXPECT_TRUE(value(kernels.executable().programSymbols()).empty());
  EXPECT_TRUE(value(kernels.executable().symbols(cpu())).empty());
  EXPECT_THAT(errorOf(kernels.executable().symbol("absent", gpu())),
              AllOf(StartsWith("absent: "), HasSubstr("HSA_STATUS_ERROR_INVALID_SYMBOL_NAME")));
}

TEST_F(ExecutableTest, KernelsHaveDescriptors) {
  Kernels kernels(gpu());
  const ExecutableSymbol kernel = kernels.symbol("resources.kd");
  EXPECT_EQ(value(kernel.kernelName()), "resources");
  EXPECT_EQ(value(kernel.address()), value(kernel.kernelObject()));
  EXPECT_EQ(value(kernel.size()), 64u);
  EXPECT_EQ(value(kernel.groupSegmentSize()), 256u);
  EXPECT_GE(value(kernel.privateSegmentSize()), 64u);
  EXPECT_GE(value(kernel.kernargSize()), 12u);
  const object::KernelDescriptor descriptor = value(kernel.kernelDescriptor());
  EXPECT_EQ(descriptor.groupSegmentSize, 256u);
  EXPECT_EQ(descriptor.privateSegmentSize, value(kernel.privateSegmentSize()));
  EXPECT_EQ(descriptor.kernargSize, value(kernel.kernargSize()));
  const std::vector<std::byte> elf = readFile(KERNELS);
  const object::CodeObject parsed = value(object::CodeObject::parse(elf, "kernels"));
  const object::Symbol *function = parsed.find("resources");
  ASSERT_NE(function, nullptr);
  EXPECT_EQ(descriptor, value(parsed.descriptor(*function)));
  const uint64_t base = value(value(kernel.loadedCodeObject()).loadBase());
  EXPECT_EQ(value(kernel.kernelObject()), base + function->descriptor);
}

TEST_F(ExecutableTest, VariablesHaveAddresses) {
  Kernels kernels(gpu());
  const ExecutableSymbol total = kernels.symbol("total"), table = kernels.symbol("table");
  EXPECT_EQ(value(total.size()), 8u);
  EXPECT_EQ(value(table.size()), 16u);
  uint64_t number = 0;
  succeed(copyMemory(&number, reinterpret_cast<void *>(value(total.address())), sizeof number));
  EXPECT_EQ(number, 7u);
  EXPECT_EQ(errorOf(total.kernelObject()), "total is a variable and has no kernel object");
  EXPECT_THAT(errorOf(total.kernelDescriptor()), HasSubstr("is a variable"));
  EXPECT_THAT(errorOf(total.kernelName()), HasSubstr("is a variable"));
}

TEST_F(ExecutableTest, VariablesAreDefinedFromOutside) {
  const std::vector<std::byte> elf = readFile(UNDEFINED_KERNEL);
  const OwnedCodeObjectReader reader = value(CodeObjectReader::fromMemory(elf));
  const MemoryPool pool = value(gpu().globalPool(HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED));
  const PoolMemory variable = value(pool.allocate(4));
  const uint32_t number = 4711;
  succeed(copyMemory(variable.data(), &number, sizeof number));
  {
    const OwnedExecutable executable = value(Executable::create());
    EXPECT_THAT(errorOf(executable->load(gpu(), *reader)), HasSubstr("HSA_STATUS_ERROR_VARIABLE_UNDEFINED"));
  }
  const OwnedExecutable executable = value(Executable::create());
  succeed(executable->defineGlobal(gpu(), "provided", variable.address()));
  EXPECT_THAT(errorOf(executable->defineGlobal(gpu(), "provided", 8)),
              AllOf(StartsWith("provided: "), HasSubstr("HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED")));
  succeed(executable->defineGlobal("everywhere", variable.address()));
  value(executable->load(gpu(), *reader));
  succeed(executable->freeze());
  EXPECT_THAT(errorOf(executable->defineGlobal("late", 8)), HasSubstr("HSA_STATUS_ERROR_FROZEN_EXECUTABLE"));
  EXPECT_THAT(errorOf(executable->load(gpu(), *reader)), HasSubstr("HSA_STATUS_ERROR_FROZEN_EXECUTABLE"));

  Kernels kernels(gpu());
  const OwnedQueue queue = value(Queue::create(gpu(), 64));
  const OwnedSignal done = value(Signal::create(1));
  auto *out = kernels.shared<uint32_t>();
  AqlPacket packet = kernels.dispatch("count", done->raw(), 1, out);
  packet.kernelDispatch()->kernel_object = value(value(executable->symbol("read_provided.kd", gpu())).kernelObject());
  value(queue->submit(packet));
  ASSERT_TRUE(finished(*done));
  EXPECT_EQ(*out, number);
}

// In what the application loads, device functions are symbols too.
TEST_F(ExecutableTest, DeviceFunctionsAreSymbols) {
  const std::vector<std::byte> elf = readFile(KERNELS);
  const OwnedCodeObjectReader reader = value(CodeObjectReader::fromMemory(elf));
  hsa_executable_t raw = {};
  ASSERT_EQ(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &raw),
            HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_executable_load_agent_code_object(raw, gpu().raw(), reader->raw(), nullptr, nullptr),
            HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_executable_freeze(raw, nullptr), HSA_STATUS_SUCCESS);
  const Executable executable(raw);
  const LoadedCodeObject object = value(executable.loadedCodeObjects()).at(0);
  const ExecutableSymbol function = value(executable.symbol("twice", gpu()));
  EXPECT_THAT(value(executable.symbols(gpu())), testing::Contains(function));
  EXPECT_TRUE(value(executable.symbols(cpu())).empty());
  EXPECT_EQ(value(function.kind()), Kind::DeviceFunction);
  EXPECT_EQ(value(function.name()), "twice");
  EXPECT_EQ(value(function.agent()), gpu());
  EXPECT_EQ(value(function.executable()), executable);
  EXPECT_EQ(value(function.loadedCodeObject()), object);
  const object::CodeObject parsed = value(object::CodeObject::parse(elf, "kernels"));
  const object::Symbol *symbol = parsed.find("twice");
  ASSERT_NE(symbol, nullptr);
  EXPECT_EQ(value(function.address()), value(object.loadBase()) + symbol->address);
  EXPECT_EQ(value(function.size()), symbol->size);
  EXPECT_EQ(errorOf(function.kernelObject()), "twice is a device function and has no kernel object");
  EXPECT_EQ(value(value(executable.symbol("resources.kd", gpu())).callees()), std::vector{function});
  EXPECT_TRUE(value(value(executable.symbol("count.kd", gpu())).callees()).empty());
  EXPECT_THAT(errorOf(function.callees()), HasSubstr("is a device function"));
  EXPECT_THAT(errorOf(executable.symbol("thrice", gpu())), HasSubstr("HSA_STATUS_ERROR_INVALID_SYMBOL_NAME"));
  EXPECT_EQ(hsa_executable_destroy(raw), HSA_STATUS_SUCCESS);
}

} // namespace
} // namespace luthier::hsa::test
