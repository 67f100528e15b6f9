#include "hook/cache.h"

#include "../cli/temp_folder.h"
#include "hook/compiler_process.h"
#include "hooks.h"

#include <gmock/gmock.h>

#include <functional>
#include <thread>

#include <sys/stat.h>
#include <unistd.h>

namespace luthier::hook {
namespace {

using namespace test;

class FragmentCache : public testing::Test {
protected:
  void SetUp() override {
    module = load();
    ASSERT_TRUE(module);
  }
  std::shared_ptr<const Fragment> compile(FragmentCompiler &compiler, const std::string &name = "countAt") {
    auto fragment = compiler.compile(module, plainRequest(*module, name), target(), 64);
    EXPECT_TRUE(fragment) << fragment.error().message();
    return fragment ? *fragment : nullptr;
  }
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> result;
    for (const auto &entry : std::filesystem::directory_iterator(folder.path()))
      result.push_back(entry.path());
    return result;
  }
  static void expectSame(const Fragment &a, const Fragment &b) {
    EXPECT_EQ(a.hook, b.hook);
    EXPECT_EQ(a.kind, b.kind);
    EXPECT_EQ(a.bytes, b.bytes);
    EXPECT_EQ(a.inputs, b.inputs);
    EXPECT_EQ(a.outputs, b.outputs);
    EXPECT_EQ(a.relocations, b.relocations);
    EXPECT_EQ(a.writes, b.writes);
    EXPECT_EQ(a.code.instrs().size(), b.code.instrs().size());
    EXPECT_EQ(a.pendingVector, b.pendingVector);
  }

  cli::TempFolder folder;
  std::shared_ptr<const HookModule> module;
};

TEST_F(FragmentCache, Memory) {
  FragmentCompiler compiler{{}};
  EXPECT_EQ(compile(compiler), compile(compiler));
  EXPECT_EQ(compiler.statistics().compiled, 1u);
  EXPECT_EQ(compiler.statistics().fromMemory, 1u);
  EXPECT_GT(compiler.statistics().compileSeconds, 0);
  EXPECT_NE(compile(compiler, "flush"), compile(compiler));
}

TEST_F(FragmentCache, Disk) {
  FragmentCompiler first{{folder.path()}}, second{{folder.path()}};
  const auto a = compile(first), b = compile(second);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(first.statistics().compiled, 1u);
  EXPECT_EQ(second.statistics().compiled, 0u);
  EXPECT_EQ(second.statistics().fromDisk, 1u);
  expectSame(*a, *b);
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(FragmentCache, EverythingThatMattersIsInTheKey) {
  FragmentCompiler compiler{{folder.path()}};
  const FragmentRequest scalar{"twice", {{.kind = SourceKind::Scalar}}},
      vector{"twice", {{.kind = SourceKind::Vector}}};
  ASSERT_TRUE(compiler.compile(module, scalar, target(), 64));
  ASSERT_TRUE(compiler.compile(module, vector, target(), 64));
  ASSERT_TRUE(compiler.compile(module, vector, target("gfx1030"), 64));
  ASSERT_TRUE(compiler.compile(module, vector, target("gfx1030"), 32));
  ASSERT_TRUE(compiler.compile(module, {"same32", vector.sources}, target(), 64));
  for (const uint8_t bytes : {uint8_t{2}, uint8_t{4}})
    ASSERT_TRUE(
        compiler.compile(module, {"twice", {{.kind = SourceKind::KernelArgument, .bytes = bytes}}}, target(), 64));
  ASSERT_TRUE(compiler.compile(module, {"twice", {vector.sources[0], vector.sources[0]}, "twice"}, target(), 64));
  EXPECT_EQ(compiler.statistics().compiled, 8u);
  EXPECT_EQ(files().size(), 8u);
}

TEST_F(FragmentCache, DamageIsReplaced) {
  FragmentCompiler original{{folder.path()}};
  const auto fragment = compile(original);
  ASSERT_TRUE(fragment);
  const auto file = files().at(0);
  const std::string good = readFile(file);
  const auto write = [&](std::string_view text) { std::ofstream(file, std::ios::binary) << text; };
  std::vector<std::string> damaged = {"", "luthier", good.substr(0, good.size() / 2), good + "x"};
  for (size_t n = 0; n < good.size(); n += 7) {
    damaged.push_back(good);
    damaged.back()[n] ^= 0x10;
  }
  for (const std::string &text : damaged) {
    write(text);
    FragmentCompiler compiler{{folder.path()}};
    const auto again = compile(compiler);
    ASSERT_TRUE(again);
    EXPECT_EQ(compiler.statistics().compiled, 1u);
    expectSame(*again, *fragment);
    ASSERT_EQ(readFile(file), good);
  }
}

TEST_F(FragmentCache, FolderThatCannotBeWritten) {
  const auto file = folder.write("file", "");
  FragmentCompiler compiler{{file / "below"}};
  EXPECT_TRUE(compile(compiler));
  EXPECT_EQ(compiler.statistics().compiled, 1u);
}

TEST_F(FragmentCache, WarmCacheStartsNoProcess) {
  const std::string bitcode = readFile(HOOKS);
  const auto use = [&] {
    const auto loaded = HookModule::load(std::as_bytes(std::span(bitcode)), "hooks.bc", folder.path());
    ASSERT_TRUE(loaded) << loaded.error().message();
    EXPECT_EQ((*loaded)->hooks().size(), module->hooks().size());
    EXPECT_EQ((*loaded)->perLaunchBytes(), module->perLaunchBytes());
    EXPECT_EQ((*loaded)->findVariable("initialized")->contents, module->findVariable("initialized")->contents);
    module = *loaded;
    FragmentCompiler compiler{{folder.path()}};
    EXPECT_TRUE(compile(compiler));
  };
  const uint64_t before = compilersStarted();
  use();
  EXPECT_EQ(compilersStarted(), before + 2);
  use();
  EXPECT_EQ(compilersStarted(), before + 2);
}

/// The owner, and who may write: others could put code there.
class Owned : public FragmentCache {
protected:
  /// Whether what was stored before is found again, and what was said.
  bool isUsed() {
    FragmentCompiler compiler{{folder.path()}};
    testing::internal::CaptureStderr();
    EXPECT_TRUE(compile(compiler));
    said = testing::internal::GetCapturedStderr();
    return compiler.statistics().fromDisk == 1;
  }
  void SetUp() override {
    FragmentCache::SetUp();
    EXPECT_FALSE(isUsed());
    ASSERT_TRUE(isUsed());
    ASSERT_EQ(files().size(), 1u);
    file = files()[0];
  }
  std::string said;
  std::filesystem::path file;
};

TEST_F(Owned, TheFolderIsMadeForTheUserAlone) {
  const mode_t mask = umask(0);
  FragmentCompiler compiler{{folder.path() / "above" / "new"}};
  EXPECT_TRUE(compile(compiler));
  umask(mask);
  struct stat status;
  ASSERT_EQ(stat((folder.path() / "above" / "new").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700u);
  for (const auto &entry : std::filesystem::directory_iterator(folder.path() / "above" / "new")) {
    ASSERT_EQ(stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600u);
  }
}

TEST_F(Owned, AFolderThatOthersCanWriteToIsNotUsed) {
  for (const mode_t mode : {0720, 0702}) {
    cli::TempFolder open;
    FragmentCompiler compiler{{open.path()}};
    ASSERT_EQ(chmod(open.path().c_str(), mode), 0);
    testing::internal::CaptureStderr();
    EXPECT_TRUE(compile(compiler));
    EXPECT_TRUE(compile(compiler, "flush"));
    const std::string text = testing::internal::GetCapturedStderr();
    EXPECT_THAT(text, testing::HasSubstr(fmt::format("the cache {} is not used", open.path().string())));
    EXPECT_THAT(text, testing::HasSubstr(fmt::format("can be written by others (mode {:04o})", mode)));
    EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
    EXPECT_TRUE(std::filesystem::is_empty(open.path()));
  }
}

TEST_F(Owned, AFolderOfAnotherUserIsNotUsed) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can give a folder away";
  ASSERT_EQ(chown(folder.path().c_str(), 65534, 65534), 0);
  EXPECT_FALSE(isUsed());
  EXPECT_THAT(said, testing::HasSubstr("belongs to user 65534, not to user 0"));
}

TEST_F(Owned, AFileOfAnotherUserIsReplaced) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(chown(file.c_str(), 65534, 65534), 0);
  EXPECT_FALSE(isUsed());
  EXPECT_TRUE(isUsed());
}

TEST_F(Owned, AFileThatOthersCanWriteToIsReplaced) {
  ASSERT_EQ(chmod(file.c_str(), 0606), 0);
  EXPECT_FALSE(isUsed());
  EXPECT_TRUE(isUsed());
}

TEST_F(Owned, APlantedLinkIsReplaced) {
  const auto elsewhere = folder.path() / "elsewhere";
  std::filesystem::rename(file, elsewhere);
  const std::string good = readFile(elsewhere);
  std::filesystem::create_symlink(elsewhere, file);
  EXPECT_FALSE(isUsed());
  EXPECT_FALSE(std::filesystem::is_symlink(file));
  EXPECT_EQ(readFile(elsewhere), good);
  EXPECT_TRUE(isUsed());
}

TEST_F(Owned, AFifoIsNotWaitedFor) {
  std::filesystem::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_FALSE(isUsed());
  EXPECT_TRUE(isUsed());
}

/// Files whose digest is right and whose numbers are not.
class OutOfRange : public Owned {
protected:
  void SetUp() override {
    Owned::SetUp();
    key = file.stem();
    FragmentCompiler compiler{{}};
    fragment = copyOf(*compile(compiler));
    ASSERT_FALSE(fragment.inputs.empty() || fragment.relocations.empty());
  }
  void expectRefused(const std::string &text, const std::string &why) {
    const auto decoded = decodeFragment(text, *module, *module->findHook("countAt"), target());
    ASSERT_FALSE(decoded) << why;
    EXPECT_THAT(decoded.error().message(), testing::HasSubstr(why));
    hook::Cache(folder.path()).store(key, text);
    EXPECT_FALSE(isUsed()) << why;
    EXPECT_TRUE(isUsed()) << why;
  }
  void expectRefused(const std::function<void(Fragment &)> &change, const std::string &why) {
    Fragment changed = copyOf(fragment);
    change(changed);
    expectRefused(encode(changed), why);
  }
  /// Of what is stored.
  static Fragment copyOf(const Fragment &from) {
    Fragment copy;
    copy.kind = from.kind;
    copy.bytes = from.bytes;
    copy.inputs = from.inputs;
    copy.outputs = from.outputs;
    copy.relocations = from.relocations;
    return copy;
  }
  std::string key;
  Fragment fragment;
};

TEST_F(OutOfRange, Ports) {
  using Kind = Port::Kind;
  const auto input = [&](const std::function<void(Port &)> &change, const std::string &why) {
    expectRefused([&](Fragment &f) { change(f.inputs[0]); }, why);
  };
  ASSERT_EQ(fragment.inputs[0].kind, Kind::Parameter);
  input([](Port &p) { p.kind = static_cast<Kind>(10); }, "a port's kind is 10, expected at most 9");
  input([](Port &p) { p.index = 2; }, "a port's parameter is 2, expected less than 2");
  input([](Port &p) { p.part = static_cast<Part>(5); }, "a port's part is 5, expected at most 4");
  input([](Port &p) { p.launch = 12; }, "a port's launch value is 12, expected at most 11");
  input([](Port &p) { p.launch = 3; }, "a port that is no launch value names one");
  input([](Port &p) { p.guest = {Reg::V0, 1}; }, "a port that is no register names guest registers");
  input([](Port &p) { p.guest = {Reg::A0, 300}; }, "a port's guest registers is 812");
  input([](Port &p) { p.regs = {static_cast<Reg>(60000), 1}; }, "a port's registers is 60001");
  input([](Port &p) { p.regs = {Reg::S0, 0}; }, "a port's registers is ");
  input([](Port &p) { p.regs = {Reg::M0, 1}; }, "a port's registers is m0, expected SGPRs or VGPRs of gfx90a");
  input([](Port &p) { p.regs = {Reg::A0, 1}; }, "a port's registers is a0");
  input([](Port &p) { p.regs.count += 1; }, "a port's registers is ");
  input([](Port &p) { p = {.kind = Kind::Result, .regs = {Reg::S0, 1}}; }, "a result is an input");
  input([](Port &p) { p = {.kind = Kind::WaveVariable, .index = 9999, .regs = {Reg::S0, 1}}; },
        "a port's variable is 9999");
  const auto counters = static_cast<uint16_t>(module->findVariable("counters") - module->variables().data());
  input([&](Port &p) { p = {.kind = Kind::WaveVariable, .index = counters, .regs = {Reg::S0, 1}}; },
        "expected one that is per wave");
  const auto seen = static_cast<uint16_t>(module->findVariable("seen") - module->variables().data());
  input([&](Port &p) { p = {.kind = Kind::LaneVariable, .index = seen, .regs = {Reg::V0, 2}}; },
        "expected one that is per lane");
  const auto visits = static_cast<uint16_t>(module->findVariable("visits") - module->variables().data());
  input([&](Port &p) { p = {.kind = Kind::LaneVariable, .index = visits, .regs = {Reg::S0, 1}}; },
        "a variable is in the wrong kind of registers");
  input([](Port &p) { p = {.kind = Kind::LaunchBlock, .regs = {Reg::S0, 1}}; },
        "a port's registers is 1, expected exactly 2");
  input([](Port &p) { p = {.kind = Kind::LdsBlock, .regs = {Reg::S0, 2}}; },
        "a port's registers is 2, expected exactly 1");
  input([](Port &p) { p = {.kind = Kind::GroupBlock, .regs = {Reg::V0, 2}}; }, "a block's address is in vector");
  input([](Port &p) { p = {.kind = Kind::LaunchBlock, .index = 1, .regs = {Reg::S0, 2}}; }, "a port's index is 1");
  input([](Port &p) { p = {.kind = Kind::Register, .guest = {Reg::Null, 1}, .regs = {Reg::S0, 1}}; },
        "expected registers of gfx90a");
  input([](Port &p) { p = {.kind = Kind::Register, .guest = {Reg::S0, 2}, .regs = {Reg::S0, 1}}; },
        "as many as its own: 1");
  input([](Port &p) { p = {.kind = Kind::Launch, .launch = 3, .regs = {Reg::S0, 1}}; }, "the wrong kind of registers");
  input([](Port &p) { p = {.kind = Kind::Frame, .regs = {Reg::S0, 2}}; },
        "a port's registers is 2, expected exactly 1");
  input([](Port &p) { p = {.kind = Kind::Frame, .regs = {Reg::V0, 1}}; }, "the frame's start is in a vector register");
  input([](Port &p) { p = {.kind = Kind::Frame, .regs = {p.regs.first, 1}}; }, "a port and no bytes");
  expectRefused([](Fragment &f) { f.frameBytes = 16; }, "the frame has bytes and no port");
  expectRefused([](Fragment &f) { f.frameBytes = kMaxFrameBytes + 1; }, "the frame's bytes is 65537");
  expectRefused([](Fragment &f) { f.inputs.push_back(f.inputs[0]); }, "two ports share registers");
  expectRefused([](Fragment &f) { f.outputs.push_back(f.inputs[0]); }, "an output is something that cannot be written");
}

TEST_F(OutOfRange, CodeAndRelocations) {
  const auto relocation = [&](const std::function<void(FragmentRelocation &)> &change, const std::string &why) {
    expectRefused([&](Fragment &f) { change(f.relocations[0]); }, why);
  };
  const auto bytes = static_cast<uint32_t>(fragment.bytes.size());
  const auto seen = static_cast<uint32_t>(module->findVariable("seen") - module->variables().data());
  relocation([&](FragmentRelocation &r) { r.offset = bytes; }, fmt::format("a relocation's offset is {}", bytes));
  relocation([&](FragmentRelocation &r) { r.offset = ~0u - 3; }, "a relocation's offset is 4294967292");
  relocation([](FragmentRelocation &r) { r.offset += 2; }, "a relocation's offset is ");
  relocation([](FragmentRelocation &r) { r.variable = 9999; }, "a relocation's variable is 9999");
  relocation([&](FragmentRelocation &r) { r.variable = seen; }, "expected one in device memory");
  relocation([](FragmentRelocation &r) { r.addend = 1ll << 31; }, "a relocation's addend is 2147483648");
  expectRefused([](Fragment &f) { f.kind = HookKind::Lane; }, "the kind is not the hook's");
  expectRefused([](Fragment &f) { f.kind = static_cast<HookKind>(2); }, "the hook's kind is 2");
  expectRefused([](Fragment &f) { f.bytes.push_back(0); }, "expected a multiple of 4");
  // A truth value that is neither.
  std::string text = encode(fragment);
  const size_t high = text.size() - sizeof(int64_t) - sizeof(uint32_t) - 1;
  ASSERT_LE(text[high], 1);
  text[high] = 2;
  expectRefused(text, "a relocation's half is 2");
  expectRefused(encode(fragment) + "x", "what is behind the last value is 1");
  expectRefused(encode(fragment).substr(0, 40), "bytes are missing");
}

/// Whatever the bytes are, what is accepted stays within the module, the target and the code.
TEST_F(OutOfRange, AnyByte) {
  const std::string good = encode(fragment);
  const Hook &hook = *module->findHook("countAt");
  unsigned refused = 0;
  for (size_t at = 0; at < good.size(); ++at)
    for (const int value : {0, 1, 0x7f, 0x80, 0xff}) {
      std::string text = good;
      text[at] = static_cast<char>(value);
      const auto decoded = decodeFragment(text, *module, hook, target());
      refused += !decoded;
      if (!decoded)
        continue;
      for (const FragmentRelocation &relocation : decoded->relocations) {
        ASSERT_LE(relocation.offset + 4, decoded->bytes.size());
        ASSERT_LT(relocation.variable, module->variables().size());
      }
      for (const auto *ports : {&decoded->inputs, &decoded->outputs})
        for (const Port &port : *ports)
          ASSERT_LE(number(port.regs.first) + port.regs.count, number(Reg::A0));
    }
  EXPECT_GT(refused, 100u);
}

TEST_F(OutOfRange, HooksAndVariables) {
  const auto refused = [&](const std::function<void(HookModule::Impl &)> &change, const std::string &why) {
    HookModule::Impl changed, decoded;
    changed.hooks.assign(module->hooks().begin(), module->hooks().end());
    changed.variables.assign(module->variables().begin(), module->variables().end());
    ASSERT_TRUE(decodeContents(encode(changed), decoded));
    change(changed);
    const auto result = decodeContents(encode(changed), decoded);
    ASSERT_FALSE(result) << why;
    EXPECT_THAT(result.error().message(), testing::HasSubstr(why));
  };
  const auto countAt = static_cast<size_t>(module->findHook("countAt") - module->hooks().data());
  const auto seen = static_cast<size_t>(module->findVariable("seen") - module->variables().data());
  refused([&](auto &m) { m.hooks[countAt].kind = static_cast<HookKind>(7); }, "a hook's kind is 7");
  refused([&](auto &m) { m.hooks[countAt].symbol.clear(); }, "a hook has no symbol");
  refused([&](auto &m) { m.hooks[countAt].parameters[0].dwords = 33; }, "a parameter's registers is 33");
  refused([&](auto &m) { m.hooks[countAt].parameters[0].dwords = 0; }, "a type without registers");
  refused([&](auto &m) { m.hooks[countAt].parameters[0] = {ValueType::Void, 0}; }, "a parameter without a type");
  refused([&](auto &m) { m.hooks[countAt].result.type = static_cast<ValueType>(5); }, "a parameter's type is 5");
  refused([&](auto &m) { m.hooks[countAt].hostTypes.pop_back(); }, "the number of types is 1");
  refused([&](auto &m) { m.hooks.clear(); }, "there is no hook");
  refused([&](auto &m) { m.variables[seen].storage = static_cast<Storage>(30); }, "a variable's storage is 30");
  refused([&](auto &m) { m.variables[seen].size = 68; }, "a variable in registers is too large");
  refused([&](auto &m) { m.variables[0].size = 1ull << 40; }, "a variable's size is 1099511627776");
  refused([&](auto &m) { m.variables[0].alignment = 3; }, "a variable's alignment is 3");
  refused([&](auto &m) { m.variables[0].contents.resize(3); }, "a variable's contents is 3");
}

TEST_F(FragmentCache, ManyAtOnce) {
  FragmentCompiler a{{folder.path()}}, b{{folder.path()}};
  const std::vector<std::string> names = {"countAt", "flush", "histogram", "watch", "countLane", "loop"};
  std::vector<std::vector<std::shared_ptr<const Fragment>>> made(8);
  std::vector<std::thread> threads;
  for (size_t n = 0; n < made.size(); ++n)
    threads.emplace_back([&, n] {
      for (const std::string &name : names)
        made[n].push_back(compile(n % 2 ? a : b, name));
    });
  for (std::thread &thread : threads)
    thread.join();
  for (size_t n = 0; n < made.size(); ++n)
    for (size_t k = 0; k < names.size(); ++k) {
      ASSERT_TRUE(made[n][k]);
      expectSame(*made[n][k], *made[0][k]);
      EXPECT_EQ(made[n][k], made[n % 2][k]); // one each
    }
  EXPECT_LE(a.statistics().compiled, names.size());
  EXPECT_EQ(files().size(), names.size());
}

TEST_F(FragmentCache, Environment) {
  ::setenv("LUTHIER_CACHE", "off", 1);
  EXPECT_TRUE(defaultCacheFolder().empty());
  ::setenv("LUTHIER_CACHE", "/some/where", 1);
  EXPECT_EQ(defaultCacheFolder(), "/some/where");
  ::unsetenv("LUTHIER_CACHE");
  ::setenv("XDG_CACHE_HOME", "/caches", 1);
  EXPECT_EQ(defaultCacheFolder(), "/caches/luthier");
  ::unsetenv("XDG_CACHE_HOME");
}

} // namespace
} // namespace luthier::hook
