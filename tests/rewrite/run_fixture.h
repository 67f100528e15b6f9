// Original and rewritten kernels, run on the virtual GPU without ROCr.
//
// Test kernels take two pointers, out and in. A run fills both, runs the kernel, and hands back what is in them and in
// the tool's variables.
#pragma once

#include "emit_fixture.h"
#include "luthier/vgpu.h"
#include "rewrite/rewriter.h"
#include "support/variables.h"

#include <chrono>
#include <cstring>
#include <functional>
#include <thread>

namespace luthier::rewrite::test {

using vgpu::Size3;

struct RunOptions {
  Size3 grid = {64}, workgroup = {64};
  bool strict = false;
  bool count = false;
  uint32_t dynamicLds = 0;
  std::optional<uint64_t> resources = {};        ///< a seed: on the physical machine (--strict-resources)
  std::optional<vgpu::Arguments> arguments = {}; ///< instead of the two pointers
};

struct Outcome {
  std::string error; ///< empty: it ended well
  std::vector<uint32_t> out, in;
  vgpu::LaunchReport report;
  std::function<std::vector<std::byte>(std::string_view)> variable; ///< contents of one by name
};

/// A GPU with the two buffers, which are at the same addresses in all runs.
class Machine {
public:
  static constexpr size_t kWords = 1 << 14;
  static constexpr unsigned kPatience = 400; ///< rounds: 20 seconds

  explicit Machine(std::string target = "gfx90a")
      : gpu_(must(vgpu::VirtualGpu::create({.target = std::move(target), .threads = 1}))) {
    out_ = must(gpu_->allocate<uint32_t>(kWords));
    in_ = must(gpu_->allocate<uint32_t>(kWords));
  }

  void fill() {
    uint32_t random = 12345;
    for (size_t n = 0; n < kWords; ++n) {
      out_[n] = 0xcccccccc;
      in_[n] = (random = random * 1664525 + 1013904223) >> 3;
    }
  }

  Outcome run(const std::vector<std::byte> &file, std::string_view kernel, const RunOptions &options = {}) {
    Outcome outcome;
    fill();
    auto module = gpu_->load(file);
    if (!module) {
      outcome.error = module.error().message();
      return outcome;
    }
    const vgpu::Kernel *found = (*module)->kernel(kernel);
    if (!found) {
      outcome.error = "no kernel";
      return outcome;
    }
    vgpu::LaunchOptions launch{.grid = options.grid, .workgroup = options.workgroup};
    launch.strictWaits = options.strict;
    launch.dynamicLds = options.dynamicLds;
    launch.strictResources = options.resources;
    launch.count = options.count;
    const vgpu::RunningLaunch running = must(gpu_->launch(*found, launch, options.arguments.value_or(arguments())));
    // A kernel that was rewritten wrongly may never end.
    for (unsigned n = 0; !running.finished() && n < kPatience; ++n)
      std::this_thread::sleep_for(std::chrono::milliseconds(n < 50 ? 1 : 50));
    if (!running.finished())
      running.abort();
    if (const auto report = running.wait(); report)
      outcome.report = *report;
    else
      outcome.error = report.error().message();
    outcome.out.assign(out_, out_ + kWords);
    outcome.in.assign(in_, in_ + kWords);
    std::shared_ptr<vgpu::Module> keep = *std::move(module);
    outcome.variable = [keep](std::string_view name) {
      const auto variable = keep->variable(name);
      if (!variable)
        return std::vector<std::byte>();
      const auto *begin = reinterpret_cast<const std::byte *>(variable->address);
      return std::vector<std::byte>(begin, begin + variable->bytes);
    };
    return outcome;
  }

  vgpu::Arguments arguments() const { return vgpu::Arguments(out_, in_); }
  vgpu::VirtualGpu &gpu() { return *gpu_; }
  uint64_t outAddress() const { return reinterpret_cast<uint64_t>(out_); }
  uint64_t inAddress() const { return reinterpret_cast<uint64_t>(in_); }

private:
  std::unique_ptr<vgpu::VirtualGpu> gpu_;
  uint32_t *out_ = nullptr, *in_ = nullptr;
};

template <class T> T valueOf(const Outcome &outcome, std::string_view variable) {
  const std::vector<std::byte> bytes = outcome.variable(variable);
  T value{};
  EXPECT_EQ(bytes.size(), sizeof value) << variable;
  if (bytes.size() == sizeof value)
    memcpy(&value, bytes.data(), sizeof value);
  return value;
}

/// Inline, unless the environment says otherwise: CTest runs suites a second time with all hooks shared.
inline HookForm defaultForm() {
  return static_cast<HookForm>(must(env::choice(env::kHookForm, static_cast<size_t>(HookForm::Inline))));
}

/// A code object, and what is needed to rewrite its kernels.
class Subject {
public:
  explicit Subject(const std::string &path, const std::string &hooks = STATE_HOOKS)
      : Subject(fileBytes(path), path, hooks) {}
  Subject(std::vector<std::byte> bytes, const std::string &origin, const std::string &hooks)
      : file(std::move(bytes), origin), module(must(hook::HookModule::load(fileBytes(hooks), hooks))),
        rewriter(must(Rewriter::create(file.object, compiler, LaunchBlocks::Variables))) {
    rewriter->setForm(defaultForm());
  }

  File file;
  hook::FragmentCompiler compiler;
  std::shared_ptr<const hook::HookModule> module;
  std::unique_ptr<Rewriter> rewriter;

  const analysis::Function &function(std::string_view name) {
    const object::Symbol *symbol = file.object.find(name);
    if (!symbol) {
      ADD_FAILURE() << "no function " << name;
      std::abort();
    }
    return *must(rewriter->program().function(*symbol));
  }
  std::span<const Instr> instrs(std::string_view name) { return function(name).instrs(); }
  /// The n-th instruction of that mnemonic.
  const Instr &instr(std::string_view function, std::string_view mnemonic, unsigned n = 0) {
    for (const Instr &one : instrs(function))
      if (one.mnemonic() == mnemonic && n-- == 0)
        return one;
    ADD_FAILURE() << "no " << mnemonic << " in " << function;
    std::abort();
  }

  Insertion at(Position position, uint64_t address, std::string hook, std::vector<Argument> arguments = {},
               RegRange result = {}) const {
    Insertion insertion;
    insertion.position = position;
    insertion.address = address;
    insertion.module = module;
    insertion.hook = std::move(hook);
    insertion.arguments = std::move(arguments);
    insertion.result = result;
    return insertion;
  }
  Insertion before(const Instr &instr, std::string hook, std::vector<Argument> arguments = {},
                   RegRange result = {}) const {
    return at(Position::Before, instr.address(), std::move(hook), std::move(arguments), result);
  }
  Insertion inFunction(Insertion insertion, std::string_view name) const {
    insertion.function = file.object.find(name);
    return insertion;
  }

  /// All must be placed.
  Rewrite rewrite(std::string_view kernel, std::span<const Insertion> insertions) {
    Rewrite result = must(rewriter->rewrite(file.kernel(kernel), insertions));
    for (size_t n = 0; n < result.sites.size(); ++n)
      EXPECT_TRUE(result.sites[n].placed) << n << ": " << result.sites[n].rejected;
    return result;
  }
  std::vector<std::byte> rewritten(std::string_view kernel, std::span<const Insertion> insertions) {
    const Rewrite result = rewrite(kernel, insertions);
    return must(emitMerged(file.object, {&result.variant, 1}));
  }

  /// Before every instruction of the kernel and all it can reach: `make` says what, or nothing.
  std::vector<Insertion> everywhere(std::string_view kernel,
                                    const std::function<void(const Instr &, std::vector<Insertion> &)> &make) {
    std::vector<Insertion> all;
    for (const object::Symbol *symbol : must(rewriter->functionsOf(file.kernel(kernel))))
      for (const Instr &instr : must(rewriter->program().function(*symbol))->instrs()) {
        const size_t first = all.size();
        make(instr, all);
        for (size_t n = first; n < all.size(); ++n)
          all[n].function = symbol;
      }
    return all;
  }
};

/// The rewritten kernel leaves the same in memory as the original, in both modes of the virtual GPU. Returns the
/// outcome in normal mode.
inline Outcome expectSame(Machine &machine, const Subject &subject, const std::vector<std::byte> &rewritten,
                          std::string_view kernel, RunOptions options = {}) {
  Outcome normal;
  for (const bool strict : {true, false}) {
    SCOPED_TRACE(strict ? "strict" : "normal");
    options.strict = strict;
    const Outcome original = machine.run(subject.file.bytes, kernel, options);
    EXPECT_EQ(original.error, "");
    normal = machine.run(rewritten, kernel, options);
    EXPECT_EQ(normal.error, "");
    EXPECT_TRUE(normal.in == original.in);
    for (size_t n = 0; n < original.out.size(); ++n)
      if (normal.out[n] != original.out[n]) {
        ADD_FAILURE() << "word " << n << " is " << normal.out[n] << " instead of " << original.out[n];
        break;
      }
  }
  return normal;
}

} // namespace luthier::rewrite::test
