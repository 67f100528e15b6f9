#include "hook/compiler.h"

#include "hooks.h"

#include <gmock/gmock.h>

namespace luthier::hook {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;

struct Machine {
  const char *name;
  unsigned waveSize;
};
constexpr Machine kMachines[] = {{"gfx906", 64},  {"gfx908", 64},  {"gfx90a", 64},  {"gfx942", 64},
                                 {"gfx1010", 32}, {"gfx1030", 32}, {"gfx1030", 64}, {"gfx1100", 32},
                                 {"gfx1100", 64}, {"gfx1151", 32}, {"gfx1201", 32}, {"gfx1201", 64}};

class Compiled : public testing::Test {
protected:
  void SetUp() override {
    module = load();
    ASSERT_TRUE(module);
  }
  std::shared_ptr<const Fragment> compile(const std::string &name, const Machine &machine = {"gfx90a", 64}) {
    return compile(plainRequest(*module, name), machine);
  }
  std::shared_ptr<const Fragment> compile(const FragmentRequest &request, const Machine &machine = {"gfx90a", 64}) {
    auto fragment = compiler.compile(module, request, target(machine.name), machine.waveSize);
    EXPECT_TRUE(fragment) << fragment.error().message();
    return fragment ? *fragment : nullptr;
  }
  std::shared_ptr<const HookModule> module;
  FragmentCompiler compiler{{}};
};

TEST_F(Compiled, EveryHookForEveryTarget) {
  for (const Machine &machine : kMachines)
    for (const Hook &hook : module->hooks()) {
      SCOPED_TRACE(fmt::format("{} {} {}", machine.name, machine.waveSize, hook.name));
      const auto fragment = compile(hook.name, machine);
      ASSERT_TRUE(fragment);
      EXPECT_EQ(fragment->hook, hook.name);
      EXPECT_EQ(fragment->kind, hook.kind);
      for (const Instr &instr : fragment->code.instrs()) {
        EXPECT_FALSE(instr.is(Property::EndProgram));
        if (const auto to = instr.target())
          EXPECT_LE(*to, fragment->bytes.size());
      }
      for (const FragmentRelocation &relocation : fragment->relocations) {
        EXPECT_LE(relocation.offset + 4, fragment->bytes.size());
        EXPECT_EQ(module->variables()[relocation.variable].storage, Storage::Device);
      }
      // A port of both lists has one place.
      for (const Port &out : fragment->outputs)
        for (const Port &in : fragment->inputs)
          if (in.kind == out.kind && in.index == out.index && in.guest == out.guest)
            EXPECT_EQ(in.regs, out.regs);
    }
}

TEST_F(Compiled, PerWaveCounterIsTwoInstructions) {
  for (const char *name : {"gfx906", "gfx90a", "gfx942"}) {
    const auto fragment = compile("countWave", {name, 64});
    ASSERT_TRUE(fragment);
    EXPECT_THAT(textOf(*fragment, target(name)), ElementsAre("s_add_u32 s0, s0, s2", "s_addc_u32 s1, s1, 0"));
    const unsigned seen = static_cast<unsigned>(module->findVariable("seen") - module->variables().data());
    const Port *in = findPort(fragment->inputs, Port::Kind::WaveVariable, seen);
    const Port *out = findPort(fragment->outputs, Port::Kind::WaveVariable, seen);
    ASSERT_TRUE(in && out);
    EXPECT_EQ(in->regs, (RegRange{Reg::S0, 2}));
    EXPECT_EQ(out->regs, in->regs);
    EXPECT_EQ(findPort(fragment->inputs, Port::Kind::Parameter)->regs, (RegRange{Reg::S0 + 2, 1}));
    EXPECT_FALSE(fragment->vector);
    EXPECT_FALSE(fragment->pendingVector || fragment->pendingScalar);
    EXPECT_TRUE(fragment->relocations.empty());
    EXPECT_EQ(fragment->sgprs, 3u);
    EXPECT_EQ(fragment->vgprs, 0u);
    EXPECT_TRUE(fragment->writes.contains(Reg::Scc));
  }
}

TEST_F(Compiled, PerLaneCounterIsOneInstruction) {
  for (const char *name : {"gfx906", "gfx90a", "gfx942"}) {
    const auto fragment = compile("visit", {name, 64});
    ASSERT_TRUE(fragment);
    EXPECT_THAT(textOf(*fragment, target(name)), ElementsAre("v_add_u32_e32 v0, 1, v0"));
    const unsigned visits = static_cast<unsigned>(module->findVariable("visits") - module->variables().data());
    const Port *in = findPort(fragment->inputs, Port::Kind::LaneVariable, visits);
    const Port *out = findPort(fragment->outputs, Port::Kind::LaneVariable, visits);
    ASSERT_TRUE(in && out);
    EXPECT_EQ(in->regs, (RegRange{Reg::V0, 1}));
    EXPECT_EQ(out->regs, in->regs);
    EXPECT_TRUE(fragment->safeWhenEmpty);
  }
}

TEST_F(Compiled, WaveAtomicHasNoLanesToAddUp) {
  const auto fragment = compile("countAtomic");
  ASSERT_TRUE(fragment);
  EXPECT_THAT(textOf(*fragment, target()),
              ElementsAre("v_mov_b32_e32 v0, 1", "s_mov_b32 s1, 0", "s_mov_b32 s0, 0", "v_mov_b32_e32 v2, 0",
                          "v_mov_b32_e32 v1, 0", "global_atomic_add_x2 v2, v[0:1], s[0:1]"));
  ASSERT_EQ(fragment->relocations.size(), 2u);
  const auto counters = static_cast<uint32_t>(module->findVariable("counters") - module->variables().data());
  EXPECT_EQ(fragment->relocations[0], (FragmentRelocation{8, true, counters, 0}));
  EXPECT_EQ(fragment->relocations[1], (FragmentRelocation{16, false, counters, 0}));
  EXPECT_TRUE(fragment->inputs.empty());
  EXPECT_TRUE(fragment->vector);
  EXPECT_FALSE(fragment->crossLane);
  EXPECT_TRUE(fragment->pendingVector); // LLVM's wait at the end is gone
  EXPECT_FALSE(fragment->pendingScalar);
  EXPECT_FALSE(fragment->safeWhenEmpty);
}

TEST_F(Compiled, WaveHooksBranchOnScalars) {
  for (const char *name : {"flush", "branchy"}) {
    const auto fragment = compile(name);
    ASSERT_TRUE(fragment);
    EXPECT_FALSE(fragment->writes.contains(Reg::ExecLo)) << name;
  }
}

TEST_F(Compiled, InputsAreLeftAlone) {
  for (const char *name : {"countAt", "histogram", "watch", "storeAddress", "launchValues", "addFour"}) {
    const auto fragment = compile(name);
    ASSERT_TRUE(fragment);
    for (const Port &in : fragment->inputs)
      EXPECT_FALSE(fragment->writes.containsAny(in.regs)) << name << " " << toString(in.regs);
  }
}

TEST_F(Compiled, Registers) {
  const auto scalar = compile("changeScalar");
  ASSERT_TRUE(scalar);
  ASSERT_EQ(scalar->inputs.size(), 2u);
  ASSERT_EQ(scalar->outputs.size(), 1u);
  EXPECT_EQ(scalar->inputs[0].guest, (RegRange{Reg::S0 + 5, 1}));
  EXPECT_EQ(scalar->inputs[1].guest, (RegRange{Reg::S0 + 7, 1}));
  EXPECT_EQ(scalar->outputs[0], scalar->inputs[1]);

  const auto vector = compile("changeVector");
  ASSERT_TRUE(vector);
  ASSERT_EQ(vector->outputs.size(), 1u);
  EXPECT_EQ(vector->outputs[0].guest, (RegRange{vgpr(9), 1}));
  EXPECT_TRUE(isVector(vector->outputs[0].regs.first));
}

TEST_F(Compiled, LaunchValues) {
  const auto fragment = compile("launchValues");
  ASSERT_TRUE(fragment);
  // Only what is asked for, though workgroupId looks at all three.
  ASSERT_EQ(fragment->inputs.size(), 3u);
  EXPECT_EQ(fragment->inputs[0].launch, static_cast<uint8_t>(LaunchValue::WorkgroupIdX));
  EXPECT_EQ(fragment->inputs[1].launch, static_cast<uint8_t>(LaunchValue::WorkgroupIdZ));
  EXPECT_EQ(fragment->inputs[2].launch, static_cast<uint8_t>(LaunchValue::KernargPtr));
  EXPECT_EQ(fragment->inputs[2].regs.count, 2u);

  const auto block = compile("countLaunch");
  ASSERT_TRUE(block);
  ASSERT_TRUE(findPort(block->inputs, Port::Kind::LaunchBlock));
  EXPECT_EQ(findPort(block->inputs, Port::Kind::LaunchBlock)->regs.count, 2u);
  EXPECT_TRUE(block->relocations.empty());
}

TEST_F(Compiled, ExecIsAPortOfWaveHooksOnly) {
  const auto wave64 = compile("countLanes"), wave32 = compile("countLanes", {"gfx1030", 32}), lane = compile("lanes");
  ASSERT_TRUE(wave64 && wave32 && lane);
  ASSERT_TRUE(findPort(wave64->inputs, Port::Kind::Register));
  EXPECT_EQ(findPort(wave64->inputs, Port::Kind::Register)->guest, (RegRange{Reg::ExecLo, 2}));
  ASSERT_TRUE(findPort(wave32->inputs, Port::Kind::Register));
  EXPECT_EQ(findPort(wave32->inputs, Port::Kind::Register)->guest, (RegRange{Reg::ExecLo, 1}));
  EXPECT_FALSE(findPort(lane->inputs, Port::Kind::Register));
}

TEST_F(Compiled, WhatIsReadOffTheCode) {
  EXPECT_TRUE(compile("loop")->loops);
  EXPECT_FALSE(compile("loop")->safeWhenEmpty);
  EXPECT_FALSE(compile("twice")->loops);
  EXPECT_TRUE(compile("twice")->safeWhenEmpty);
  EXPECT_TRUE(compile("histogram")->safeWhenEmpty);
  EXPECT_TRUE(compile("countLane")->safeWhenEmpty);
  EXPECT_TRUE(compile("first_only")->crossLane);
  EXPECT_FALSE(compile("ticket")->pendingVector); // its result has arrived
  EXPECT_FALSE(compile("lookUp")->pendingScalar);
  EXPECT_TRUE(compile("watch")->writes.contains(Reg::ExecLo));
}

TEST_F(Compiled, TablesAreReadByScalarLoads) {
  const auto text = textOf(*compile("lookUp"), target());
  EXPECT_THAT(text, testing::Contains(HasSubstr("s_load_dword")));
  EXPECT_EQ(text.back(), "s_waitcnt lgkmcnt(0)");
}

/// The scalar cache does not see what other hooks, and the kernel, store.
TEST_F(Compiled, VariablesAreNotReadByScalarLoads) {
  for (const Machine &machine : kMachines)
    for (const char *name : {"readsDevice", "readsLimit", "readsLaunch", "readsLane", "readsMemory", "readsNarrow",
                             "readsPointer", "readsWide"}) {
      SCOPED_TRACE(fmt::format("{} {} {}", machine.name, machine.waveSize, name));
      const auto fragment = compile(name, machine);
      ASSERT_TRUE(fragment);
      unsigned loads = 0;
      for (const Instr &instr : fragment->code.instrs()) {
        loads += instr.is(Property::Load);
        EXPECT_NE(instr.memorySpace(), MemorySpace::Scalar) << instr.mnemonic();
      }
      EXPECT_GT(loads, 0u);
    }
}

/// What docs/hooks.md shows.
TEST(Example, IsTrue) {
  const auto module = load(EXAMPLE_HOOKS);
  ASSERT_TRUE(module);
  FragmentCompiler compiler{{}};
  const auto text = [&](const char *name) {
    const auto fragment = compiler.compile(module, plainRequest(*module, name), target(), 64);
    EXPECT_TRUE(fragment) << fragment.error().message();
    return fragment ? textOf(**fragment, target()) : std::vector<std::string>();
  };
  EXPECT_THAT(text("count"), ElementsAre("s_add_u32 s0, s0, s2", "s_addc_u32 s1, s1, 0"));
  EXPECT_THAT(text("flush"),
              ElementsAre("v_mov_b32_e32 v0, s0", "v_mov_b32_e32 v1, s1", "s_mov_b32 s3, 0", "s_mov_b32 s2, 0",
                          "v_mov_b32_e32 v2, 0", "global_atomic_add_x2 v2, v[0:1], s[2:3]"));
  EXPECT_THAT(text("clamp"), ElementsAre("v_cmp_ngt_f32_e32 vcc, 0, v0", "v_cndmask_b32_e32 v1, 0, v0, vcc"));
  EXPECT_FALSE(text("access").empty());
}

TEST(HipHeaders, BeforeAndAfter) {
  const std::string files = HIP_HOOKS;
  if (files.empty())
    GTEST_SKIP() << "built without HIP";
  for (size_t begin = 0; begin < files.size();) {
    const size_t end = std::min(files.find(':', begin), files.size());
    const auto module = load(files.substr(begin, end - begin));
    ASSERT_TRUE(module);
    FragmentCompiler compiler{{}};
    for (const Hook &hook : module->hooks()) {
      const auto fragment = compiler.compile(module, plainRequest(*module, hook.name), target(), 64);
      EXPECT_TRUE(fragment) << fragment.error().message();
    }
    EXPECT_EQ(module->hooks().size(), 4u);
    begin = end + 1;
  }
}

// Without stack, calls or variables, on every target and for both sizes of waves.
TEST(Printing, Compiles) {
  const auto module = load(PRINTING_HOOKS);
  ASSERT_TRUE(module);
  FragmentCompiler compiler{{}};
  for (const Machine &machine : kMachines)
    for (const Hook &hook : module->hooks()) {
      SCOPED_TRACE(fmt::format("{} {} {}", machine.name, machine.waveSize, hook.name));
      const auto fragment =
          compiler.compile(module, plainRequest(*module, hook.name), target(machine.name), machine.waveSize);
      ASSERT_TRUE(fragment) << fragment.error().message();
      const auto asksFor = [&](LaunchValue value) {
        return std::ranges::any_of((*fragment)->inputs, [&](const Port &port) {
          return port.kind == Port::Kind::Launch && port.launch == static_cast<uint8_t>(value);
        });
      };
      EXPECT_TRUE(asksFor(LaunchValue::HostcallBuffer)) << hook.name;
      EXPECT_EQ(asksFor(LaunchValue::LaunchNumber), hook.name == "asserts") << hook.name;
      EXPECT_FALSE((*fragment)->safeWhenEmpty) << hook.name;
    }
}

TEST(Printing, ExampleOfTheDocumentation) {
  const auto module = load(PRINTING_EXAMPLE);
  ASSERT_TRUE(module);
  FragmentCompiler compiler{{}};
  const auto fragment = compiler.compile(module, plainRequest(*module, "look"), target(), 64);
  EXPECT_TRUE(fragment) << fragment.error().message();
}

TEST(Variables, ExampleOfTheDocumentation) {
  const auto module = load(VARIABLES_EXAMPLE);
  ASSERT_TRUE(module);
  FragmentCompiler compiler{{}};
  for (const Hook &hook : module->hooks()) {
    const auto fragment = compiler.compile(module, plainRequest(*module, hook.name), target(), 64);
    ASSERT_TRUE(fragment) << fragment.error().message();
    if (hook.name == "count")
      EXPECT_THAT(textOf(**fragment, target()), ElementsAre("v_add_u32_e32 v1, v1, v0"));
  }
}

class Rejected : public testing::Test {
protected:
  void SetUp() override {
    module = load(BAD_HOOKS);
    ASSERT_TRUE(module);
  }
  std::string reason(const std::string &name, const char *machine = "gfx90a") {
    return reason(plainRequest(*module, name), machine);
  }
  std::string reason(const FragmentRequest &request, const char *machine = "gfx90a", unsigned waveSize = 64) {
    const auto fragment = compiler.compile(module, request, target(machine), waveSize);
    EXPECT_FALSE(fragment);
    return fragment ? "" : fragment.error().message();
  }
  std::shared_ptr<const HookModule> module;
  FragmentCompiler compiler{{}};
};

TEST_F(Rejected, ByName) {
  EXPECT_THAT(reason("largeFrame"), HasSubstr("hook largeFrame has more than 65536 bytes of local variables"));
  EXPECT_THAT(reason("deepFrame"), HasSubstr("hook deepFrame has more than 65536 bytes of local variables"));
  EXPECT_THAT(reason("variableFrame"), HasSubstr("hook variableFrame allocates local memory whose size is not a"));
  EXPECT_THAT(reason("alignedFrame"), HasSubstr("hook alignedFrame has a local variable that is aligned to 256"));
  EXPECT_THAT(reason("manyValues", "gfx1030"), HasSubstr("hook manyValues has more values at a time than there are"));
  EXPECT_THAT(reason("otherFrame"), HasSubstr("hook otherFrame"));
  EXPECT_THAT(reason("trap"), HasSubstr("hook trap would end the wave"));
  EXPECT_THAT(reason("otherTrap"), HasSubstr("hook otherTrap would end the wave"));
  EXPECT_THAT(reason("writesPerWave"), HasSubstr("hook writesPerWave runs per lane and cannot write seen"));
  EXPECT_THAT(reason("writesScalar"), HasSubstr("hook writesScalar runs per lane and cannot write s3"));
  EXPECT_THAT(reason("writesVector"), HasSubstr("hook writesVector runs once per wave and cannot write v3"));
  EXPECT_THAT(reason("readsVector"), HasSubstr("hook readsVector runs once per wave and cannot read v3"));
  EXPECT_THAT(reason("asksWorkitem"), HasSubstr("hook asksWorkitem runs once per wave and cannot ask"));
  EXPECT_THAT(reason("variableRegister"), HasSubstr("hook variableRegister: the number of a register"));
  EXPECT_THAT(reason("noRegister"), HasSubstr("hook noRegister: there is no register number 140"));
  EXPECT_THAT(reason("writesExec"), HasSubstr("hook writesExec writes EXEC, which controls the active lanes"));
  EXPECT_THAT(reason("hiddenArguments"),
              HasSubstr("hook hiddenArguments uses hidden arguments of the kernel, which hooks do not have"));
  EXPECT_THAT(reason("readsAccumulator", "gfx906"), HasSubstr("gfx906 has no AccVGPRs"));
  EXPECT_THAT(reason("manyRegisters"), HasSubstr("hook manyRegisters needs 50 scalar"));
  EXPECT_THAT(reason("atomicPerWave"), HasSubstr("hook atomicPerWave uses seen atomically"));
  EXPECT_THAT(reason("addressPerWave"), HasSubstr("hook addressPerWave"));
  EXPECT_THAT(reason("waveReadsPerLane"),
              HasSubstr("hook waveReadsPerLane runs once per wave and cannot use visits, which is per lane"));
  EXPECT_THAT(reason("waveWritesPerLane"),
              HasSubstr("hook waveWritesPerLane runs once per wave and cannot use visits, which is per lane"));
  EXPECT_THAT(reason("addressPerLane"), HasSubstr("hook addressPerLane"));
  EXPECT_THAT(reason("atomicPerLane"), HasSubstr("hook atomicPerLane uses visits atomically, which is per lane"));
  EXPECT_THAT(reason("addressLds"),
              HasSubstr("hook addressLds stores or computes with the address of bins, which is in LDS"));
  EXPECT_THAT(reason("breaksLlvm"), HasSubstr("hook breaksLlvm"));
  EXPECT_THAT(reason("nothing"), HasSubstr("there is no hook nothing"));
}

/// Local variables that are indexed, function pointers and recursion (docs/hooks.md), on every generation.
TEST(Compiler, FramesExample) {
  const auto module = load(FRAMES_EXAMPLE);
  ASSERT_TRUE(module);
  const Variable *orders = module->findVariable("orders");
  ASSERT_TRUE(orders);
  EXPECT_EQ(orders->contents.size(), 16u); // numbers of functions
  FragmentCompiler compiler{{}};
  for (const auto &[name, waveSize] :
       {std::pair("gfx900", 64u), std::pair("gfx908", 64u), std::pair("gfx90a", 64u), std::pair("gfx942", 64u),
        std::pair("gfx1030", 32u), std::pair("gfx1100", 64u), std::pair("gfx1201", 32u)}) {
    const auto fragment = compiler.compile(module, plainRequest(*module, "median"), target(name), waveSize);
    ASSERT_TRUE(fragment) << fragment.error().message();
    EXPECT_GT((*fragment)->frameBytes, 12u);
    EXPECT_TRUE(findPort((*fragment)->inputs, Port::Kind::Frame));
  }
}

TEST_F(Rejected, Arguments) {
  EXPECT_THAT(reason(FragmentRequest{"takesLane", {}}),
              HasSubstr("hook takesLane has 1 parameters, but 0 arguments are given"));
  EXPECT_THAT(reason({"takesWave", {{.kind = SourceKind::Vector}}}), HasSubstr("parameter 0 cannot be a vector"));
  EXPECT_THAT(reason({"takesWave", {{.kind = SourceKind::LdsAddress, .vaddr = true}}}),
              HasSubstr("cannot be an address that differs by lane"));
  EXPECT_THAT(reason({"takesLane", {{.kind = SourceKind::FlatAddress}}}),
              HasSubstr("parameter 0 cannot hold an address of 64 bits"));
  EXPECT_THAT(reason(plainRequest(*module, "takesLane"), "gfx90a", 32), HasSubstr("gfx90a has no waves of 32 lanes"));
}

} // namespace
} // namespace luthier::hook
