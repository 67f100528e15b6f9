// Files of emitMerged and emitOverlay, loaded by ROCr on the virtual GPU.
#include "emit_fixture.h"
#include "fixture.h"

namespace luthier::rewrite::test {
namespace {

using hsa::test::AppQueue;
using hsa::test::AppSignal;
using hsa::test::Kernels;
using hsa::test::value;

class EmitLoadTest : public hsa::test::HsaTest {
protected:
  File original_{fileBytes(EMIT_KERNELS), "kernels.co"};
  std::shared_ptr<const hook::HookModule> module_ = toolModule();

  template <class... Args> void run(Kernels &kernels, const std::string &name, Args... args) {
    AppQueue queue(gpu(), 64);
    const AppSignal done(1);
    queue.submit(kernels.dispatch(name, done, 64, args...));
    ASSERT_TRUE(done.waitFor(0));
  }

  /// What the GPU sees there: the memory of the virtual one is the process's.
  template <class T> static T at(uint64_t address) { return *reinterpret_cast<const volatile T *>(address); }
};

TEST_F(EmitLoadTest, CopiesRun) {
  Kernels before(gpu(), original_.bytes), after(gpu(), must(emitMerged(original_.object, copiesOf(original_.object))));
  std::vector<std::vector<uint32_t>> results;
  for (Kernels *kernels : {&before, &after}) {
    auto *out = kernels->shared<uint32_t>(64);
    run(*kernels, "resources", out, 3u);
    results.emplace_back(out, out + 64);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0][0], 2 * 6 + 40 + 7u);
  auto *counter = after.shared<uint64_t>();
  run(after, "count", counter);
  EXPECT_EQ(*counter, 64u);
}

TEST_F(EmitLoadTest, RelocationsAreAppliedAndVariablesFound) {
  Variant variant = adder(original_.object, module_);
  variant.descriptor.privateSegmentSize = 128;
  Kernels kernels(gpu(), must(emitMerged(original_.object, {&variant, 1})));
  const hsa::ExecutableSymbol counter = kernels.symbol("counter"), start = kernels.symbol("start");
  EXPECT_EQ(value(counter.kind()), hsa::ExecutableSymbol::Kind::Variable);
  EXPECT_EQ(value(counter.size()), 8u);
  EXPECT_EQ(at<uint64_t>(value(start.address())), 11u);
  EXPECT_EQ(at<uint64_t>(value(counter.address())), 0u);
  EXPECT_EQ(value(kernels.symbol("count.kd").privateSegmentSize()), 128u);
  auto *out = kernels.shared<uint64_t>();
  run(kernels, "count", out);
  EXPECT_EQ(*out, 18u);
  EXPECT_EQ(at<uint64_t>(value(counter.address())), 64 * 18u);
  // No symbols that were not asked for.
  std::vector<std::string> names;
  for (const hsa::ExecutableSymbol &symbol : value(kernels.executable().symbols(gpu())))
    names.push_back(value(symbol.name()));
  EXPECT_THAT(names, testing::IsSupersetOf({"count.kd", "append.kd", "resources.kd", "total", "table"}));
  EXPECT_THAT(names, testing::Not(testing::Contains("luthier.original")));
}

TEST_F(EmitLoadTest, OverlayRunsBesideTheOriginal) {
  Kernels first(gpu(), original_.bytes);
  auto *variables = first.shared<uint64_t>(2);
  variables[0] = 1000;
  const Variant variant = adder(original_.object, module_);
  Kernels second(
      gpu(), must(emitOverlay(original_.object, variant,
                              {.original = value(first.symbol("total").address()) - original_->find("total")->address,
                               .variables = {reinterpret_cast<uint64_t>(&variables[0]),
                                             reinterpret_cast<uint64_t>(&variables[1])}})));
  auto *out = first.shared<uint64_t>();
  run(second, "count", out);
  EXPECT_EQ(*out, 1007u);
  EXPECT_EQ(variables[1], 64 * 1007u);
}

} // namespace
} // namespace luthier::rewrite::test
