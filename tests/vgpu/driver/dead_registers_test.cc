// Poison mode on compiled kernels: with what liveness analysis says, results stay the same to the bit; with a single
// register called dead that is not, they do not.

#include "vgpu/driver/dead_registers.h"

#include "isa/decode.h"
#include "isa/target.h"
#include "object/code_object.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <set>
#include <thread>

namespace luthier::vgpu {
namespace {

constexpr unsigned kItems = 128;

class DeadRegistersTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    std::ifstream file(POISON_KERNELS, std::ios::binary);
    const std::vector<char> text((std::istreambuf_iterator<char>(file)), {});
    elf_.resize(text.size());
    memcpy(elf_.data(), text.data(), text.size());
    auto gpu = VirtualGpu::create({.threads = 1});
    ASSERT_TRUE(gpu) << gpu.error().message();
    gpu_ = std::move(*gpu);
    auto module = gpu_->load(elf_);
    ASSERT_TRUE(module) << module.error().message();
    module_ = std::move(*module);
    kernel_ = module_->kernel(GetParam());
    ASSERT_TRUE(kernel_);
    auto liveness = CodeObjectLiveness::create(elf_, "test");
    ASSERT_TRUE(liveness) << liveness.error().message();
    liveness_ = std::move(*liveness);
    const auto object = object::CodeObject::parse(elf_, "test");
    ASSERT_TRUE(object);
    bias_ = kernel_->descriptor - object->find(GetParam())->descriptor;
    out_ = *gpu_->allocate<unsigned>(2 * kItems);
    in_ = *gpu_->allocate<unsigned>(3 * kItems);
    for (unsigned n = 0; n < 3 * kItems; ++n)
      in_[n] = n * 2654435761u >> 7;
  }

  /// What the kernel writes, or nothing when it faults or does not end.
  std::vector<unsigned> run(const DeadRegistersAt &dead, uint64_t seed = 1, bool strict = false) {
    memset(out_, 0, 2 * kItems * sizeof *out_);
    Arguments arguments(out_, in_);
    if (kernel_->explicitBytes() > 16)
      arguments.add(3u);
    const LaunchOptions options{
        .grid = {kItems}, .workgroup = {kItems}, .strictWaits = strict, .poisonDead = dead, .poisonSeed = seed};
    const auto running = gpu_->launch(*kernel_, options, arguments);
    if (!running)
      return {};
    // A loop's counter may be what a planted fault destroys.
    for (unsigned waited = 0; !running->finished(); ++waited) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (waited == 500)
        running->abort();
    }
    return running->wait() ? std::vector<unsigned>(out_, out_ + 2 * kItems) : std::vector<unsigned>();
  }

  std::optional<DeadRegisters> deadAt(uint64_t entry, uint64_t pc) { return liveness_->at(entry - bias_, pc - bias_); }

  std::vector<std::byte> elf_;
  std::unique_ptr<VirtualGpu> gpu_;
  std::unique_ptr<Module> module_;
  std::unique_ptr<CodeObjectLiveness> liveness_;
  const Kernel *kernel_ = nullptr;
  uint64_t bias_ = 0;
  unsigned *out_ = nullptr, *in_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Kernels, DeadRegistersTest,
                         testing::Values("straight", "divergent", "loops", "exchange", "calls", "doubles"),
                         [](const auto &info) { return std::string(info.param); });

TEST_P(DeadRegistersTest, AreNotNeeded) {
  const std::vector<unsigned> right = run({});
  ASSERT_FALSE(right.empty());
  for (const bool strict : {false, true})
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      unsigned known = 0, unknown = 0;
      EXPECT_EQ(run(
                    [&](uint64_t entry, uint64_t pc) {
                      const auto dead = deadAt(entry, pc);
                      ++(dead ? known : unknown);
                      return dead;
                    },
                    seed, strict),
                right)
          << seed;
      EXPECT_GT(known, 5u);
      EXPECT_EQ(unknown, 0u);
    }
}

// One wrong claim at a time: a register that the instruction reads.
TEST_P(DeadRegistersTest, PlantedFaultIsFound) {
  const std::vector<unsigned> right = run({});
  std::set<uint64_t> pcs;
  run([&](uint64_t entry, uint64_t pc) {
    pcs.insert(pc);
    return deadAt(entry, pc);
  });
  auto decoder = isa::Decoder::create(*isa::findTarget("gfx90a"));
  ASSERT_TRUE(decoder);
  unsigned planted = 0, found = 0;
  for (const uint64_t at : pcs) {
    const auto decoded = (*decoder)->decode({reinterpret_cast<const uint8_t *>(at), 8}, at);
    if (!decoded || decoded->instrs().empty())
      continue;
    const Instr &instr = decoded->instrs()[0];
    for (const Operand &operand : instr.operands()) {
      if (operand.kind != OperandKind::Register || !operand.read || operand.regs.empty() ||
          operand.regs.contains(Reg::ExecLo))
        continue;
      const std::vector<unsigned> result = run([&](uint64_t entry, uint64_t pc) {
        auto dead = deadAt(entry, pc);
        if (pc == at && dead) {
          dead->active.insert(operand.regs);
          dead->inactive.insert(operand.regs);
        }
        return dead;
      });
      ++planted;
      found += result != right;
      // What is stored, and where to, decides the result.
      if (instr.is(Property::Store)) {
        EXPECT_NE(result, right) << (*decoder)->text(instr) << ": " << toString(operand.regs);
      }
    }
  }
  printf("%s: %u of %u planted faults change the result\n", GetParam(), found, planted);
  EXPECT_GT(planted, 5u);
  EXPECT_GT(found * 4, planted * 3);
}

} // namespace
} // namespace luthier::vgpu
