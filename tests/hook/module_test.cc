#include "hook/module.h"

#include "hooks.h"

#include <gmock/gmock.h>

namespace luthier::hook {
namespace {

using namespace test;
using testing::HasSubstr;

TEST(HookModule, Describes) {
  const auto module = load();
  ASSERT_TRUE(module);
  EXPECT_EQ(module->origin(), "hooks.bc");
  EXPECT_EQ(module->hooks()[0].name, "empty");
  EXPECT_EQ(module->hooks()[1].name, "countWave");

  const Hook *mixed = module->findHook("mixed");
  ASSERT_TRUE(mixed);
  EXPECT_EQ(mixed->kind, HookKind::Lane);
  EXPECT_EQ(mixed->symbol, "_Z5mixedfDF16_bsdh");
  EXPECT_EQ(module->findHook(mixed->symbol), mixed);
  const std::vector<HookParameter> expected = {{ValueType::Float, 1},   {ValueType::Float, 1}, {ValueType::Integer, 1},
                                               {ValueType::Integer, 1}, {ValueType::Float, 2}, {ValueType::Integer, 1}};
  EXPECT_EQ(mixed->parameters, expected);
  EXPECT_EQ(mixed->result, (HookParameter{ValueType::Float, 2}));

  const Hook *peek = module->findHook("peek");
  ASSERT_TRUE(peek);
  EXPECT_EQ(peek->parameters[0], (HookParameter{ValueType::Pointer, 2}));
  EXPECT_EQ(module->findHook("flush")->kind, HookKind::Wave);
  EXPECT_EQ(module->findHook("flush")->result, (HookParameter{ValueType::Void, 0}));
  EXPECT_EQ(module->findHook("nothing"), nullptr);
}

TEST(HookModule, TypesAsTheHostNamesThem) {
  const auto module = load();
  ASSERT_TRUE(module);
  using testing::ElementsAre;
  EXPECT_THAT(module->findHook("mixed")->hostTypes,
              ElementsAre("float", "_Float16", "bool", "int16_t", "double", "uint8_t"));
  EXPECT_THAT(module->findHook("peek")->hostTypes, ElementsAre("const void *"));
  EXPECT_THAT(module->findHook("addFour")->hostTypes, ElementsAre("std::array<uint32_t, 4>"));
  EXPECT_TRUE(module->findHook("empty")->hostTypes.empty());
  EXPECT_EQ(module->findVariable("counters")->hostType, "uint64_t[16]");
  EXPECT_EQ(module->findVariable("sum")->hostType, "float");
  EXPECT_EQ(module->findVariable("plain")->hostType, "uint32_t");
}

TEST(HookModule, StructuresAreOneParameterEach) {
  const auto module = load();
  ASSERT_TRUE(module);
  using testing::ElementsAre;
  const HookParameter address{ValueType::Integer, 2}, number{ValueType::Integer, 1};
  EXPECT_THAT(module->findHook("within")->parameters, ElementsAre(address, HookParameter{ValueType::Structure, 8}));
  EXPECT_THAT(module->findHook("within")->hostTypes, ElementsAre("uint64_t", "std::array<std::byte, 32>"));
  EXPECT_THAT(module->findHook("odd")->parameters,
              ElementsAre(HookParameter{ValueType::Structure, 2}, HookParameter{ValueType::Structure, 1},
                          HookParameter{ValueType::Structure, 1}));
  EXPECT_THAT(module->findHook("odd")->hostTypes,
              ElementsAre("std::array<std::byte, 6>", "std::array<std::byte, 4>", "std::array<std::byte, 4>"));
  EXPECT_THAT(module->findHook("ends")->parameters, ElementsAre(HookParameter{ValueType::Structure, 20}, number));
}

TEST(HookModule, ShortNamesAreNoTypes) {
  const auto module = load();
  ASSERT_TRUE(module);
  for (const char *name : {"n", "x", "i"}) {
    ASSERT_TRUE(module->findVariable(name)) << name;
    EXPECT_EQ(module->findVariable(name)->name, name);
    EXPECT_EQ(module->findVariable(name)->hostType, "uint32_t");
  }
}

TEST(HookModule, OverloadsAreNamedWithParameters) {
  const auto module = load();
  ASSERT_TRUE(module);
  EXPECT_EQ(module->findHook("my::count"), nullptr);
  ASSERT_TRUE(module->findHook("my::count(unsigned int)"));
  ASSERT_TRUE(module->findHook("my::count(unsigned long)"));
}

TEST(HookModule, Variables) {
  const auto module = load();
  ASSERT_TRUE(module);
  const Variable *counters = module->findVariable("counters");
  ASSERT_TRUE(counters);
  EXPECT_EQ(counters->storage, Storage::Device);
  EXPECT_EQ(counters->size, 128u);
  EXPECT_TRUE(counters->contents.empty());
  const Variable *initialized = module->findVariable("initialized");
  ASSERT_TRUE(initialized);
  ASSERT_EQ(initialized->contents.size(), 12u);
  EXPECT_EQ(initialized->contents[4], std::byte{8});
  ASSERT_TRUE(module->findVariable("plain"));
  EXPECT_EQ(module->findVariable("plain")->storage, Storage::Device);
  ASSERT_TRUE(module->findVariable("table"));
  EXPECT_EQ(module->findVariable("table")->contents.size(), 16u);
  EXPECT_EQ(module->findVariable("seen")->storage, Storage::PerWave);
  EXPECT_EQ(module->findVariable("visits")->storage, Storage::PerLane);
  EXPECT_EQ(module->findVariable("binSum")->storage, Storage::Lds);
  EXPECT_EQ(module->findVariable("binSum")->offset, 64u);
  EXPECT_EQ(module->block(Storage::Lds).bytes, 72u);
  EXPECT_EQ(module->block(Storage::Lds).alignment, 16u);
  EXPECT_EQ(module->findVariable("groupSum")->storage, Storage::PerWorkgroup);
  EXPECT_EQ(module->findVariable("groupSum")->offset, 8u);
  EXPECT_EQ(module->block(Storage::PerWorkgroup).stride(), 16u);

  EXPECT_EQ(module->findVariable("first")->offset, 0u);
  EXPECT_EQ(module->findVariable("launches")->offset, 8u);
  EXPECT_EQ(module->perLaunchBytes(), 16u);
  EXPECT_EQ(module->perLaunchAlignment(), 8u);
}

struct Refusal {
  const char *file;
  const char *text;
};
void PrintTo(const Refusal &refusal, std::ostream *out) { *out << refusal.file; }

class Refused : public testing::TestWithParam<Refusal> {};

TEST_P(Refused, ByName) {
  const auto module = loadFile(std::string(REFUSED_FOLDER) + "/" + GetParam().file + ".bc");
  ASSERT_FALSE(module);
  EXPECT_THAT(module.error().message(), HasSubstr(GetParam().text));
}

INSTANTIATE_TEST_SUITE_P(
    Hooks, Refused,
    testing::Values(
        Refusal{"lds", "which belongs to the kernel; LUTHIER_LDS is the hooks' own"},
        Refusal{"recursion", "hook hook calls itself through helper, which does not say how deep"},
        Refusal{"recursion_depth", "is marked LUTHIER_RECURSION(many); numbers from 1 to 4096"},
        Refusal{"recursive_hook", "hook hook calls itself; put the recursion into a separate function"},
        Refusal{"pointer_elsewhere", "takes the address of function helper"},
        Refusal{"undefined_function", "hook hook calls helper, which is not defined"},
        Refusal{"printf", "; luthier::printf of luthier/hostcall.h is for"},
        Refusal{"undefined_variable", "hook hook uses elsewhere, which is not defined"},
        Refusal{"huge_aggregate", "hook hook: parameter 0 is a structure of more than 128 bytes"},
        Refusal{"result", "hook hook returns neither a number nor a pointer"},
        Refusal{"kind", "hook hook is of kind 'thread'"},
        Refusal{"storage", "variable odd has the unknown storage 'per_thread'"},
        Refusal{"mark", "odd has the unknown marker 'luthier:what'"},
        Refusal{"barrier", "hook hook waits at a barrier of the workgroup"},
        Refusal{"pointer_call", "hook hook calls a function through a pointer, and its file has no function of"},
        Refusal{"address", "the initializer of variable pointer contains an address"},
        Refusal{"initialized_per_wave", "variable odd is per wave and starts as zero: it cannot have an initializer"},
        Refusal{"large_per_wave", "variable odd is per wave, in registers: it has 68 bytes"},
        Refusal{"initialized_per_lane", "variable odd is per lane and starts as zero"},
        Refusal{"large_per_lane", "variable odd is per lane, in registers: it has 68 bytes"},
        Refusal{"initialized_per_workgroup", "variable odd is per workgroup and starts as zero"},
        Refusal{"large_lds", "variable odd is in LDS: it has 65540 bytes, a workgroup has 65536"},
        Refusal{"misplaced_lds", "variable odd is marked as in LDS, but is not in LDS"},
        Refusal{"misplaced_device", "variable odd is marked as per launch, but is in LDS"},
        Refusal{"variadic", "hook hook takes a variable number of arguments"},
        Refusal{"empty", "there is no hook in it"}),
    [](const auto &info) { return info.param.file; });

TEST(HookModule, ForeignBytes) {
  for (const std::string &text :
       {std::string(), std::string("hello"), std::string("BC\xc0\xde"), std::string(4096, '\0'),
        std::string("\x7f"
                    "ELF")}) {
    const auto module = HookModule::load(std::as_bytes(std::span(text)), "odd.bc", {});
    ASSERT_FALSE(module);
    EXPECT_THAT(module.error().message(), HasSubstr("odd.bc"));
  }
}

TEST(HookModule, CutOff) {
  const std::string whole = readFile(HOOKS);
  for (size_t size = 0; size < whole.size(); size += 61) {
    const auto module = HookModule::load(std::as_bytes(std::span(whole).first(size)), "cut.bc", {});
    EXPECT_FALSE(module) << size;
  }
}

/// LLVM's reader crashes on some of these.
TEST(HookModule, Damaged) {
  const std::string whole = readFile(HOOKS);
  unsigned refused = 0;
  for (size_t at = 0; at < whole.size(); at += 97) {
    std::string text = whole;
    text[at] ^= static_cast<char>(1 << at % 8);
    refused += !HookModule::load(std::as_bytes(std::span(text)), "damaged.bc", {});
  }
  EXPECT_GT(refused, 50u);
}

} // namespace
} // namespace luthier::hook
