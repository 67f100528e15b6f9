// Variables per site, and arguments that are made at the place, on every generation: against what the virtual GPU
// counts, and what the kernel was given.
#include "run_fixture.h"

#include <array>
#include <map>
#include <set>

namespace luthier::rewrite::test {
namespace {

struct Kind {
  const char *target;
  unsigned waveSize;
};
void PrintTo(const Kind &kind, std::ostream *out) { *out << kind.target << " wave" << kind.waveSize; }

class SitesTest : public testing::TestWithParam<Kind> {
protected:
  SitesTest()
      : subject_(fmt::format("{}/compiled_{}_{}.co", TARGET_KERNELS, GetParam().target, GetParam().waveSize),
                 SITES_HOOKS),
        machine_(GetParam().target) {}

  /// The copies of a variable, as the kernel left them.
  template <class T>
  std::vector<T> copiesIn(const Outcome &outcome, std::string_view kernel, std::string_view variable) {
    const std::vector<std::byte> bytes = outcome.variable(fmt::format("{}${}", kernel, variable));
    std::vector<T> values(bytes.size() / sizeof(T));
    memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
  }
  static const UsedVariable &usedIn(const Rewrite &rewrite, std::string_view name) {
    for (const UsedVariable &used : rewrite.variant.variables)
      if (used.module->variables()[used.variable].name == name)
        return used;
    ADD_FAILURE() << name << " is not used";
    std::abort();
  }
  const Instr &instrAt(const SiteCopy &copy) {
    for (const Instr &instr : subject_.instrs(copy.function->name))
      if (instr.address() == copy.address)
        return instr;
    ADD_FAILURE() << "no instruction at " << copy.address;
    std::abort();
  }

  Subject subject_;
  Machine machine_;
};

/// Each place counts for itself, in functions that are called too. What all places of an opcode have counted is what
/// the virtual GPU says.
TEST_P(SitesTest, EachPlaceHasItsCopy) {
  for (const char *kernel : {"collatz", "calls", "wide"}) {
    SCOPED_TRACE(kernel);
    auto insertions = subject_.everywhere(
        kernel, [&](const Instr &instr, auto &list) { list.push_back(subject_.before(instr, "hit")); });
    insertions.push_back(subject_.at(Position::KernelExit, 0, "hit"));
    const Rewrite rewrite = subject_.rewrite(kernel, insertions);
    const auto &copies = usedIn(rewrite, "hits").copies;
    ASSERT_GE(copies.size(), insertions.size());
    const RunOptions options{.grid = {192}, .workgroup = {64}};
    const Outcome outcome =
        expectSame(machine_, subject_, must(emitMerged(subject_.file.object, {&rewrite.variant, 1})), kernel, options);
    RunOptions counting = options;
    counting.count = true;
    const vgpu::LaunchReport report = machine_.run(subject_.file.bytes, kernel, counting).report;
    const auto hits = copiesIn<std::array<uint32_t, 2>>(outcome, kernel, "hits");
    ASSERT_EQ(hits.size(), copies.size());
    std::map<std::string, std::pair<uint64_t, uint64_t>> found, expected;
    uint64_t ends = 0;
    for (size_t n = 0; n < hits.size(); ++n) {
      if (copies[n].insertion + 1 == insertions.size()) {
        ends += hits[n][0];
        continue;
      }
      if (hits[n][0] == 0)
        continue;
      auto &sums = found[std::string(instrAt(copies[n]).mnemonic())];
      sums.first += hits[n][0];
      sums.second += hits[n][1] - 5; // what each copy starts with
    }
    for (const auto &[opcode, count] : report.opcodes)
      expected[opcode] = {count.waves, count.lanes};
    EXPECT_EQ(found, expected);
    EXPECT_EQ(ends, report.waves);
  }
}

TEST_P(SitesTest, UnderHooksThatLeaveNothingAsItWas) {
  for (const char *kernel : {"collatz", "calls", "scan", "wide"}) {
    SCOPED_TRACE(kernel);
    uint32_t n = 0;
    const auto insertions = subject_.everywhere(kernel, [&](const Instr &instr, auto &list) {
      list.push_back(subject_.before(instr, "hostileHit", {Argument::constant(n++)}));
    });
    const Rewrite rewrite = subject_.rewrite(kernel, insertions);
    RunOptions options{.grid = {192}, .workgroup = {64}};
    const Outcome outcome =
        expectSame(machine_, subject_, must(emitMerged(subject_.file.object, {&rewrite.variant, 1})), kernel, options);
    options.count = true;
    const vgpu::LaunchReport report = machine_.run(subject_.file.bytes, kernel, options).report;
    uint64_t lanes = 0;
    for (const uint64_t each : copiesIn<uint64_t>(outcome, kernel, "laneHits"))
      lanes += each;
    if (std::string_view(kernel) != "scan") // waits at barriers, which are counted each time that they are looked at
      EXPECT_EQ(lanes, report.instructions.lanes);
  }
}

/// What a compare compares and what comes of it, in any of its encodings.
TEST_P(SitesTest, OperandsAndResultOfCompares) {
  const std::map<std::string_view, uint64_t> relations = {{"lt", 1}, {"eq", 2}, {"le", 3}, {"gt", 4},
                                                          {"ne", 5}, {"lg", 5}, {"ge", 6}};
  uint64_t all = 0;
  for (const char *kernel : {"collatz", "scan", "calls"}) {
    SCOPED_TRACE(kernel);
    std::set<std::string> opcodes;
    const auto insertions = subject_.everywhere(kernel, [&](const Instr &instr, auto &list) {
      const std::string_view name = instr.mnemonic();
      if (!name.starts_with("v_cmp_") || !(name.ends_with("_u32") || name.ends_with("_i32")))
        return;
      opcodes.emplace(name);
      list.push_back(
          subject_.at(Position::After, instr.address(), "check",
                      {Argument::constant(relations.at(name.substr(6, 2))), Argument::constant(name.ends_with("_i32")),
                       Argument::source(0), Argument::source(1), Argument::instrResult()}));
    });
    if (insertions.empty())
      continue;
    RunOptions options{.grid = {192}, .workgroup = {64}};
    const Outcome outcome = expectSame(machine_, subject_, subject_.rewritten(kernel, insertions), kernel, options);
    options.count = true;
    const vgpu::LaunchReport report = machine_.run(subject_.file.bytes, kernel, options).report;
    uint64_t lanes = 0;
    for (const std::string &opcode : opcodes)
      if (const auto found = report.opcodes.find(opcode); found != report.opcodes.end())
        lanes += found->second.lanes;
    EXPECT_EQ(valueOf<uint32_t>(outcome, "compared"), lanes);
    EXPECT_EQ(valueOf<uint32_t>(outcome, "wrong"), 0u);
    all += lanes;
  }
  EXPECT_GT(all, 0u);
  const Instr &store = subject_.instrs("collatz").back();
  const auto refused = must(subject_.rewriter->rewrite(
      subject_.file.kernel("collatz"), std::vector{subject_.before(store, "give32", {Argument::instrResult()})}));
  EXPECT_THAT(refused.sites[0].rejected, testing::HasSubstr("the result of s_endpgm is there after it only"));
}

/// The kernel's arguments, wherever the hook is: by number, by offset, by name.
TEST_P(SitesTest, KernelArguments) {
  const uint64_t expected[] = {machine_.outAddress(), machine_.inAddress(), 7, 11, 13, 17, uint64_t{1} << 40, 19};
  const bool is64[] = {true, true, false, false, false, false, true, true};
  const char *names[] = {"out", "in", "a", "b", "c", "d", "e", "f"};
  const uint64_t offsets[] = {0, 8, 16, 20, 24, 28, 32, 40};
  const Instr &last = subject_.instrs("manyArguments").back();
  for (const char *by : {"number", "offset", "name"}) {
    SCOPED_TRACE(by);
    std::vector<Insertion> insertions;
    for (unsigned n = 0; n < 8; ++n)
      insertions.push_back(
          subject_.before(last, is64[n] ? "give64" : "give32",
                          {*by == 'n' && by[1] == 'u' ? Argument::kernarg(n)
                           : *by == 'o' ? Argument::kernarg(offsets[n] | uint64_t{is64[n] ? 8u : 4u} << 32)
                                        : Argument::kernarg(std::string(names[n]))}));
    const Rewrite rewrite = subject_.rewrite("manyArguments", insertions);
    const RunOptions options{
        .grid = {128},
        .workgroup = {64},
        .arguments = vgpu::Arguments(expected[0], expected[1], 7u, 11u, 13u, 17u, expected[6], expected[7])};
    const Outcome outcome = expectSame(
        machine_, subject_, must(emitMerged(subject_.file.object, {&rewrite.variant, 1})), "manyArguments", options);
    EXPECT_THAT(copiesIn<uint64_t>(outcome, "manyArguments", "given"), testing::ElementsAreArray(expected));
  }
  const auto rejected = [&](const char *hook, Argument argument) {
    return must(subject_.rewriter->rewrite(subject_.file.kernel("manyArguments"),
                                           std::vector{subject_.before(last, hook, {std::move(argument)})}))
        .sites[0]
        .rejected;
  };
  EXPECT_THAT(rejected("give64", Argument::kernarg("a")),
              testing::HasSubstr("argument 'a' has 4 bytes, the parameter takes 8"));
  EXPECT_THAT(rejected("give32", Argument::kernarg("z")),
              testing::HasSubstr("the kernel has no argument 'z'; it has out, in, a, b, c, d, e, f"));
  EXPECT_THAT(rejected("give32", Argument::kernarg(8)), testing::HasSubstr("the kernel has 8 arguments"));
  EXPECT_THAT(rejected("give32", Argument::kernarg(4000 | uint64_t{4} << 32)),
              testing::HasSubstr("bytes of arguments"));
}

/// A 32-bit address of LDS for a parameter of 64 bits.
TEST_P(SitesTest, AddressesOfLdsAreExtended) {
  const auto insertions = subject_.everywhere("scan", [&](const Instr &instr, auto &list) {
    if (instr.memorySpace() == MemorySpace::Lds)
      list.push_back(subject_.before(instr, "most", {Argument::address()}));
  });
  ASSERT_FALSE(insertions.empty());
  const Outcome outcome = expectSame(machine_, subject_, subject_.rewritten("scan", insertions), "scan");
  const auto most = copiesIn<uint64_t>(outcome, "scan", "given");
  EXPECT_EQ(*std::ranges::max_element(most), 63u * 4);
}

INSTANTIATE_TEST_SUITE_P(Targets, SitesTest,
                         testing::Values(Kind{"gfx908", 64}, Kind{"gfx942", 64}, Kind{"gfx1030", 32},
                                         Kind{"gfx1030", 64}, Kind{"gfx1100", 32}, Kind{"gfx1100", 64},
                                         Kind{"gfx1201", 32}, Kind{"gfx1201", 64}));

} // namespace
} // namespace luthier::rewrite::test
