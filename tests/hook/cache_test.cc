#include "hook/cache.h"

#include "../cli/temp_folder.h"
#include "hooks.h"

#include <thread>

namespace luthier::hook {
namespace {

using namespace test;

class Cache : public testing::Test {
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

TEST_F(Cache, Memory) {
  FragmentCompiler compiler{{}};
  EXPECT_EQ(compile(compiler), compile(compiler));
  EXPECT_EQ(compiler.statistics().compiled, 1u);
  EXPECT_EQ(compiler.statistics().fromMemory, 1u);
  EXPECT_GT(compiler.statistics().compileSeconds, 0);
  EXPECT_NE(compile(compiler, "flush"), compile(compiler));
}

TEST_F(Cache, Disk) {
  FragmentCompiler first{{folder.path()}}, second{{folder.path()}};
  const auto a = compile(first), b = compile(second);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(first.statistics().compiled, 1u);
  EXPECT_EQ(second.statistics().compiled, 0u);
  EXPECT_EQ(second.statistics().fromDisk, 1u);
  expectSame(*a, *b);
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(Cache, EverythingThatMattersIsInTheKey) {
  FragmentCompiler compiler{{folder.path()}};
  const FragmentRequest scalar{"twice", {{.kind = SourceKind::Scalar}}},
      vector{"twice", {{.kind = SourceKind::Vector}}};
  ASSERT_TRUE(compiler.compile(module, scalar, target(), 64));
  ASSERT_TRUE(compiler.compile(module, vector, target(), 64));
  ASSERT_TRUE(compiler.compile(module, vector, target("gfx1030"), 64));
  ASSERT_TRUE(compiler.compile(module, vector, target("gfx1030"), 32));
  ASSERT_TRUE(compiler.compile(module, {"same32", vector.sources}, target(), 64));
  EXPECT_EQ(compiler.statistics().compiled, 5u);
  EXPECT_EQ(files().size(), 5u);
}

TEST_F(Cache, DamageIsReplaced) {
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

TEST_F(Cache, FolderThatCannotBeWritten) {
  const auto file = folder.write("file", "");
  FragmentCompiler compiler{{file / "below"}};
  EXPECT_TRUE(compile(compiler));
  EXPECT_EQ(compiler.statistics().compiled, 1u);
}

TEST_F(Cache, ManyAtOnce) {
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

TEST_F(Cache, Environment) {
  ::setenv("LUTHIER_CACHE", "off", 1);
  EXPECT_TRUE(FragmentCompiler::defaultOptions().cache.empty());
  ::setenv("LUTHIER_CACHE", "/some/where", 1);
  EXPECT_EQ(FragmentCompiler::defaultOptions().cache, "/some/where");
  ::unsetenv("LUTHIER_CACHE");
  ::setenv("XDG_CACHE_HOME", "/caches", 1);
  EXPECT_EQ(FragmentCompiler::defaultOptions().cache, "/caches/luthier");
  ::unsetenv("XDG_CACHE_HOME");
}

} // namespace
} // namespace luthier::hook
