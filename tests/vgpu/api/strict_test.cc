// Strict mode on compiled kernels: as compiled they run clean, and with any s_waitcnt weakened they are stopped exactly
// where the value is missed.
//
// Where that is, the test finds out by itself: it takes the trace of a clean run and follows the counters through it.
#include "luthier/vgpu.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

namespace luthier::vgpu {
namespace {

using nlohmann::json;

struct Step {
  uint64_t pc;
  std::string text, space;
  std::set<std::string> in, out;
  bool inLds; ///< FLAT: all lanes address LDS
};

struct Operation {
  std::set<std::string> registers;
  std::string space;
};

/// The pc of the first instruction that touches a register of an operation in flight; 0 when there is none. The wait at
/// `changed` counts as `immediate`.
uint64_t firstEarly(const std::vector<Step> &steps, uint64_t changed, uint32_t immediate,
                    const std::map<uint64_t, uint32_t> &waits) {
  std::vector<Operation> vector, other;
  for (const Step &step : steps) {
    if (const auto wait = waits.find(step.pc); wait != waits.end()) {
      const uint32_t value = step.pc == changed ? immediate : wait->second;
      const auto finish = [](std::vector<Operation> &queue, size_t left, auto &&disorderly) {
        if (left && std::any_of(queue.begin(), queue.end(), disorderly))
          return;
        if (queue.size() > left)
          queue.erase(queue.begin(), queue.end() - static_cast<std::ptrdiff_t>(left));
      };
      finish(vector, (value & 15) | (value >> 14 & 3) << 4, [](const Operation &o) { return o.space == "flat"; });
      finish(other, value >> 8 & 15, [](const Operation &o) { return o.space != "lds"; });
      continue;
    }
    std::set<std::string> touched = step.in;
    touched.insert(step.out.begin(), step.out.end());
    for (const auto *queue : {&vector, &other})
      for (const Operation &operation : *queue)
        for (const std::string &reg : operation.registers)
          if (touched.contains(reg))
            return step.pc;
    // FLAT counts in both; the data comes from where the address is.
    const std::set<std::string> nothing;
    if (step.space == "global" || step.space == "flat")
      vector.push_back({step.inLds ? nothing : step.out, step.space});
    if (step.space == "lds" || step.space == "scalar" || step.space == "flat")
      other.push_back({step.space == "flat" && !step.inLds ? nothing : step.out, step.space});
  }
  return 0;
}

class StrictWaits : public testing::Test {
protected:
  void SetUp() override {
    auto gpu = VirtualGpu::create({.target = "gfx90a", .threads = 1});
    ASSERT_TRUE(gpu);
    gpu_ = std::move(*gpu);
    auto module = gpu_->loadFile(STRICT_KERNELS);
    ASSERT_TRUE(module) << module.error().message();
    module_ = std::move(*module);
    for (unsigned **memory : {&out_, &in_})
      *memory = *gpu_->allocate<unsigned>(1024);
  }

  Result<LaunchReport> run(const std::string &name, const std::string &traceFile = "") {
    for (unsigned n = 0; n < 1024; ++n) {
      in_[n] = n * 7 % 64;
      out_[n] = 0;
    }
    const Kernel &kernel = *module_->kernel(name);
    const bool third = kernel.explicitBytes() > 16;
    const LaunchOptions options{.grid = {64}, .workgroup = {64}, .strictWaits = true, .traceFile = traceFile};
    return gpu_->run(kernel, options, third ? Arguments(out_, in_, argument_) : Arguments(out_, in_));
  }

  void check(const std::string &name, unsigned argument = 3) {
    argument_ = argument;
    const std::string file = std::filesystem::temp_directory_path() / ("luthier-strict-" + std::to_string(getpid()));
    std::filesystem::remove(file);
    const auto clean = run(name, file);
    ASSERT_TRUE(clean) << clean.error().message();
    const std::vector<unsigned> right(out_, out_ + 64);

    std::vector<Step> steps;
    std::map<uint64_t, uint32_t> waits; // pc and immediate
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
      const json j = json::parse(line);
      Step step{std::stoull(j["pc"].get<std::string>(), nullptr, 16), j["inst"], j.value("space", ""), {}, {}, false};
      step.inLds = step.space == "flat" && j["addresses"][0].get<uint64_t>() >> 48 == 1; // the aperture's default
      for (const auto &[reg, value] : j["in"].items())
        step.in.insert(reg);
      for (const auto &[reg, value] : j["out"].items())
        step.out.insert(reg);
      const uint32_t word = *reinterpret_cast<const uint32_t *>(step.pc);
      if (word >> 16 == 0xbf8c)
        waits[step.pc] = word & 0xffff;
      steps.push_back(std::move(step));
    }
    std::filesystem::remove(file);
    ASSERT_FALSE(waits.empty());
    ASSERT_EQ(firstEarly(steps, 0, 0, waits), 0u);

    for (const auto &[pc, immediate] : waits) {
      // Removed; and one more operation allowed in flight, for each counter.
      std::set<uint32_t> weaker = {0xffff};
      const uint32_t vector = (immediate & 15) | (immediate >> 14 & 3) << 4, other = immediate >> 8 & 15;
      if (vector < 63)
        weaker.insert((immediate & ~0xc00fu) | ((vector + 1) & 15) | (vector + 1) >> 4 << 14);
      if (other < 15)
        weaker.insert(immediate + 0x100);
      for (const uint32_t value : weaker) {
        auto *code = reinterpret_cast<uint32_t *>(pc);
        const uint32_t original = *code;
        *code = value == 0xffff ? 0xbf800000 : 0xbf8c0000 | value; // s_nop 0
        gpu_->invalidateCode();
        const auto report = run(name);
        *code = original;
        gpu_->invalidateCode();
        const uint64_t expected = firstEarly(steps, pc, value, waits);
        if (expected) {
          ++reported_;
          ASSERT_FALSE(report) << name << ": nothing reported without the wait at " << std::hex << pc;
          EXPECT_EQ(report.error().code(), static_cast<int>(FaultKind::EarlyAccess)) << report.error().message();
          std::ostringstream where;
          where << "pc          0x" << std::hex << expected << "\n";
          EXPECT_NE(report.error().message().find(where.str()), std::string::npos)
              << name << ": expected " << where.str() << report.error().message();
        } else {
          EXPECT_TRUE(report) << report.error().message();
          EXPECT_EQ(std::vector<unsigned>(out_, out_ + 64), right);
        }
      }
    }
    EXPECT_GT(reported_, 0u) << name;
  }

  std::unique_ptr<VirtualGpu> gpu_;
  std::unique_ptr<Module> module_;
  unsigned *out_ = nullptr, *in_ = nullptr;
  unsigned argument_ = 0;
  unsigned reported_ = 0;
};

TEST_F(StrictWaits, Saxpy) { check("saxpy"); }
TEST_F(StrictWaits, Stencil) { check("stencil"); }
TEST_F(StrictWaits, Reverse) { check("reverse"); }
TEST_F(StrictWaits, Chase) { check("chase", 5); }
TEST_F(StrictWaits, Uniform) { check("uniform"); }
TEST_F(StrictWaits, Ticket) { check("ticket"); }
TEST_F(StrictWaits, GenericGlobal) { check("generic", 0); }
TEST_F(StrictWaits, GenericLds) { check("generic", 1); }

} // namespace
} // namespace luthier::vgpu
