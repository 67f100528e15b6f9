// Both sides are compiled by the compiler that built this test: the device side to a code object, the host side to a
// shared library. Many kernels share a compilation.

#include "runner.h"

#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <fstream>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace luthier::vgpu::differential {
namespace {

constexpr uint32_t kOutBytes = kOutputBytes + kOwnBytes;
const uint32_t kAtomBytes = static_cast<uint32_t>(globalAtomics().size() + 1) * kAtomicStride;

/// Starts a program with its output in a file; -1 when it does not start.
pid_t start(const std::vector<std::string> &command, const std::string &log) {
  std::vector<char *> arguments;
  for (const std::string &word : command)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  pid_t child = -1;
  if (posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ) != 0)
    child = -1;
  posix_spawn_file_actions_destroy(&actions);
  return child;
}

Result<void> finish(pid_t child, const std::string &log) {
  int status = 0;
  if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return {};
  std::ifstream file(log);
  std::stringstream text;
  text << file.rdbuf();
  return makeError("the compiler failed:\n{}", text.str().substr(0, 4000));
}

/// Edge values half of the time, otherwise random bits: of floats, mostly with exponents near each other.
uint64_t inputValue(Random &random, Type type) {
  static constexpr uint64_t kIntegers[] = {0,
                                           1,
                                           2,
                                           31,
                                           32,
                                           63,
                                           64,
                                           0x7f,
                                           0x80,
                                           0xff,
                                           0x7fff,
                                           0x8000,
                                           0xffff,
                                           0x7fffffff,
                                           0x80000000,
                                           0xffffffff,
                                           0x7fffffffffffffff,
                                           0x8000000000000000,
                                           0xffffffffffffffff};
  const bool edge = random.chance(40);
  const uint64_t bits = random.next();
  const auto real = [&](unsigned exponentBits, unsigned mantissaBits) -> uint64_t {
    const uint64_t bias = (1ull << (exponentBits - 1)) - 1, mantissa = bits & ((1ull << mantissaBits) - 1);
    uint64_t exponent = bias + random.below(20) - 10;
    uint64_t fraction = mantissa;
    if (edge) {
      const uint64_t exponents[] = {0, 0, 1, bias, 2 * bias, 2 * bias + 1, bias + mantissaBits, bias + 31};
      exponent = exponents[random.below(8)];
      fraction = random.chance(50) ? 0 : random.chance(50) ? mantissa : (1ull << mantissaBits) - 1;
    } else if (random.chance(20)) {
      exponent = bits >> 40 & ((1ull << exponentBits) - 1);
    }
    if (exponent == 2 * bias + 1 && fraction) // the one NaN
      return exponent << mantissaBits | 1ull << (mantissaBits - 1);
    return (bits >> 63) << (exponentBits + mantissaBits) | exponent << mantissaBits | fraction;
  };
  switch (type) {
  case F16:
    return real(5, 10);
  case F16x2:
    return real(5, 10) | real(5, 10) << 16;
  case F32:
    return real(8, 23);
  case F32x2:
    return real(8, 23) | real(8, 23) << 32;
  case F64:
    return real(11, 52);
  default:
    return edge ? kIntegers[random.below(std::size(kIntegers))] : bits >> (random.chance(30) ? random.below(64) : 0);
  }
}

std::string hex(const uint8_t *bytes, uint32_t count) {
  std::string out = "0x";
  char digits[3];
  for (uint32_t n = count; n-- > 0;)
    snprintf(digits, sizeof digits, "%02x", bytes[n]), out += digits;
  return out;
}

struct Library {
  void *handle = nullptr;
  ~Library() {
    if (handle)
      dlclose(handle);
  }
};

} // namespace

Result<std::unique_ptr<Runner>> Runner::create(const Machine &machine) {
  auto runner = std::make_unique<Runner>();
  runner->machine_ = machine;
  runner->gpu_ = LUTHIER_TRY(VirtualGpu::create({.target = machine.gpu, .threads = 1}));
  runner->in_ = LUTHIER_TRY(runner->gpu_->allocate<uint8_t>(kInputBytes));
  runner->out_ = LUTHIER_TRY(runner->gpu_->allocate<uint8_t>(kOutBytes));
  runner->atom_ = LUTHIER_TRY(runner->gpu_->allocate<uint8_t>(kAtomBytes));
  return runner;
}

Runner::~Runner() = default;

Result<void> Runner::compile(const std::vector<Program> &programs, const RunnerOptions &options,
                             const std::string &base) {
  std::ofstream device(base + ".hip"), host(base + ".cc");
  device << printPrelude();
  host << printPrelude();
  for (size_t n = 0; n < programs.size(); ++n) {
    device << printDevice(programs[n], "k" + std::to_string(n));
    host << printHost(programs[n], "k" + std::to_string(n));
  }
  device.close();
  host.close();
  const std::vector<std::string> common = {"-w",
                                           "-ffp-contract=off",
                                           "-fno-strict-aliasing",
                                           "-I" DIFFERENTIAL_SOURCES,
                                           "-std=c++20",
                                           "-DWAVE=" + std::to_string(machine_.lanes),
                                           machine_.halves() ? "-DHALVES=1" : "-DHALVES=0"};
  std::vector<std::string> deviceCommand = {DIFFERENTIAL_COMPILER,
                                            "-x",
                                            "hip",
                                            "--cuda-device-only",
                                            "--no-gpu-bundle-output",
                                            "-nogpulib",
                                            "-nogpuinc",
                                            "--offload-arch=" + machine_.gpu,
                                            "-munsafe-fp-atomics",
                                            "-O" + options.optimise,
                                            base + ".hip",
                                            "-o",
                                            base + ".co"};
  std::vector<std::string> hostCommand = {DIFFERENTIAL_COMPILER,
                                          "-x",
                                          "c++",
                                          "-shared",
                                          "-fPIC",
                                          "-O1",
                                          "-mfma",
                                          "-mf16c",
                                          "-Xclang",
                                          "-ffloat16-excess-precision=none",
                                          base + ".cc",
                                          "-o",
                                          base + ".so"};
  if (!machine_.isGfx9())
    deviceCommand.push_back(machine_.lanes == 64 ? "-mwavefrontsize64" : "-mno-wavefrontsize64");
  deviceCommand.insert(deviceCommand.end(), common.begin(), common.end());
  hostCommand.insert(hostCommand.end(), common.begin(), common.end());
  if (options.plant)
    hostCommand.push_back("-DPLANT_WRONG");
  const pid_t first = start(deviceCommand, base + ".device.log"), second = start(hostCommand, base + ".host.log");
  auto deviceDone = finish(first, base + ".device.log");
  auto hostDone = finish(second, base + ".host.log");
  LUTHIER_TRY(std::move(deviceDone));
  return hostDone;
}

void Runner::fillInputs(const Program &program, std::vector<uint8_t> &atom) {
  Random random(program.seed ^ 0x5eed);
  for (size_t n = 0; n < kVariableTypes.size(); ++n)
    for (uint32_t i = 0; i < 256; ++i) {
      const auto type = static_cast<Type>(kVariableTypes[n]);
      const uint64_t value = inputValue(random, type);
      memcpy(in_ + n * kInputStride + i * typeBytes(type), &value, typeBytes(type));
    }
  memset(out_, 0, kOutBytes);
  for (size_t n = 0; n < globalAtomics().size() + 1; ++n)
    for (uint32_t i = 0; i < kAtomicStride; ++i) {
      const bool real = n < globalAtomics().size() && globalAtomics()[n].type[0] == 'f';
      atom[n * kAtomicStride + i] = real ? 0 : static_cast<uint8_t>(random.next());
    }
  memcpy(atom_, atom.data(), kAtomBytes);
}

std::string Runner::compare(const Program &program, const std::vector<uint8_t> &hostOut,
                            const std::vector<uint8_t> &hostAtom) const {
  for (uint32_t n = 0; n < program.variables.size(); ++n) {
    const uint32_t bytes = typeBytes(program.variables[n]);
    for (uint32_t gid = 0; gid < program.threads * program.groups; ++gid) {
      const uint32_t at = n * kMaxThreads * 8 + gid * bytes;
      if (memcmp(out_ + at, hostOut.data() + at, bytes) != 0)
        return "v" + std::to_string(n) + " (" + std::string(typeName(program.variables[n])) + ") of work-item " +
               std::to_string(gid % program.threads) + " in workgroup " + std::to_string(gid / program.threads) +
               ": virtual GPU " + hex(out_ + at, bytes) + ", host " + hex(hostOut.data() + at, bytes);
    }
  }
  for (uint32_t at = 0; at < kOutBytes; ++at)
    if (out_[at] != hostOut[at])
      return "output byte " + std::to_string(at) + ": virtual GPU " + hex(out_ + at, 1) + ", host " +
             hex(&hostOut[at], 1);
  for (uint32_t at = 0; at < kAtomBytes; at += 4)
    if (memcmp(atom_ + at, &hostAtom[at], 4) != 0) {
      const uint32_t kind = at / kAtomicStride;
      const std::string name = kind < globalAtomics().size()
                                   ? std::string(globalAtomics()[kind].operation) + " " + globalAtomics()[kind].type
                                   : "compare and swap";
      return "atomic " + name + ", byte " + std::to_string(at % kAtomicStride) + ": virtual GPU " + hex(atom_ + at, 4) +
             ", host " + hex(&hostAtom[at], 4);
    }
  return {};
}

Result<Outcome> Runner::run(const std::vector<Program> &programs, const RunnerOptions &options,
                            const std::string &name) {
  const std::string base = options.folder + "/" + name;
  LUTHIER_TRY(compile(programs, options, base));
  auto module = LUTHIER_TRY(gpu_->loadFile(base + ".co"));
  Library library{dlopen((base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL)};
  if (!library.handle)
    return makeError("{}", dlerror());
  Outcome outcome;
  std::vector<uint8_t> hostOut(kOutBytes), hostAtom(kAtomBytes);
  for (size_t n = 0; n < programs.size(); ++n) {
    const Program &program = programs[n];
    const std::string symbol = "k" + std::to_string(n);
    const Kernel *kernel = module->kernel(symbol);
    using HostKernel = void (*)(const uint8_t *, uint8_t *, uint8_t *, uint32_t, uint32_t);
    const auto host = reinterpret_cast<HostKernel>(dlsym(library.handle, symbol.c_str()));
    if (!kernel || !host)
      return makeError("kernel {} is missing", symbol);
    // Twice: as kernels run when nobody looks, in threaded handlers, and counted, one instruction at a time.
    std::string difference;
    for (const bool counted : {false, true}) {
      fillInputs(program, hostAtom);
      hostOut.assign(kOutBytes, 0);
      LaunchOptions launch{.workgroup = {program.width, program.threads / program.width}, .count = counted};
      launch.grid = program.width == program.threads ? Size3{program.threads * program.groups}
                                                     : Size3{program.width, launch.workgroup.y * program.groups};
      auto report = gpu_->run(*kernel, launch, Arguments(in_, out_, atom_, program.argument));
      if (!report) {
        difference = report.error().message();
        break;
      }
      for (const auto &[mnemonic, count] : report->opcodes)
        outcome.opcodes[mnemonic] += count.waves;
      for (uint32_t group = 0; group < program.groups; ++group)
        host(in_, hostOut.data(), hostAtom.data(), program.argument, group);
      difference = compare(program, hostOut, hostAtom);
      if (!difference.empty())
        break;
    }
    outcome.differences.push_back(difference);
  }
  module.reset();
  for (const char *suffix : {".hip", ".cc", ".co", ".so", ".device.log", ".host.log"})
    unlink((base + suffix).c_str());
  return outcome;
}

} // namespace luthier::vgpu::differential
