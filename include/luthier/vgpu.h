// The virtual GPU without ROCr: load a code object, launch its kernels, look at memory and registers.
//
//   auto gpu = VirtualGpu::create({.target = "gfx90a"});
//   auto module = (*gpu)->loadFile("kernels.co");
//   auto data = (*gpu)->allocate<float>(1024);
//   auto report = (*gpu)->run(*(*module)->kernel("scale"), {.grid = {1024}, .workgroup = {256}},
//                             Arguments(*data, 2.0f, 1024u));
//   if (!report)
//     puts(report.error().message().c_str());
//
// For unit tests of instructions and kernels, for targets that the installed ROCr refuses, and for debuggers. Addresses
// that kernels see are addresses of this process: what `allocate` returns is read and written directly.
//
// Everything that can fail returns a Result; nothing aborts the process. All functions may be called from any thread.
// A VirtualGpu must outlive the modules, launches and steppers made from it.
#pragma once

#include "luthier/reg.h"
#include "support/result.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace luthier::vgpu {

struct Wave;
class Workgroup;
class WaveView;

struct Size3 {
  uint32_t x = 1, y = 1, z = 1;
};

struct GpuOptions {
  std::string target = "gfx90a"; ///< may carry features: "gfx90a:xnack-"
  unsigned threads = 0;          ///< that execute waves; 0: LUTHIER_VGPU_THREADS, or all cores
  uint32_t computeUnits = 104;   ///< decides how many workgroups can be resident at once
};

/// One argument of a kernel, as its code object describes it.
struct KernelArgument {
  std::string name; ///< may be empty
  std::string kind; ///< "by_value", "global_buffer", "hidden_block_count_x", ... (AMDGPUUsage, code object metadata)
  uint32_t offset = 0;
  uint32_t size = 0;
  bool hidden() const { return kind.starts_with("hidden_"); }
};

struct Kernel {
  std::string name;
  uint64_t descriptor = 0; ///< address of its kernel descriptor, which AQL packets call the kernel object
  uint32_t kernargBytes = 0;
  uint32_t ldsBytes = 0;     ///< static; a launch may add to it
  uint32_t scratchBytes = 0; ///< per lane
  bool dynamicStack = false; ///< scratchBytes is only the part that the compiler knows of
  bool hasMetadata = false;  ///< `arguments` is known
  std::vector<KernelArgument> arguments;

  /// Bytes of the arguments that the program passes, without the hidden ones.
  uint32_t explicitBytes() const;
};

struct Variable {
  uint64_t address = 0;
  uint64_t bytes = 0;
};

/// A loaded code object. Its destructor unloads it, as soon as no launch of it is running any more.
class Module {
public:
  virtual ~Module() = default;
  /// Null when there is none of that name.
  virtual const Kernel *kernel(std::string_view name) const = 0;
  virtual std::span<const Kernel> kernels() const = 0;
  /// A __device__ or __constant__ variable, or any other object symbol.
  virtual std::optional<Variable> variable(std::string_view name) const = 0;
};

/// Explicit kernel arguments, laid out as the compiler does: each at its natural alignment.
class Arguments {
public:
  Arguments() = default;
  template <class... T>
    requires(sizeof...(T) > 0)
  explicit Arguments(const T &...values) {
    (add(values), ...);
  }

  /// An array counts as a pointer to it, as in a call.
  template <class T> Arguments &add(const T &value) {
    if constexpr (std::is_array_v<T>)
      return add(&value[0]);
    static_assert(std::is_trivially_copyable_v<T>);
    const size_t at = (bytes_.size() + alignof(T) - 1) / alignof(T) * alignof(T);
    bytes_.resize(at + sizeof(T));
    memcpy(bytes_.data() + at, &value, sizeof(T));
    return *this;
  }

  std::span<const std::byte> bytes() const { return bytes_; }

private:
  std::vector<std::byte> bytes_;
};

/// Registers that hold no value which is still needed, before an instruction.
struct DeadRegisters {
  RegSet active;   ///< in the lanes that EXEC has on there
  RegSet inactive; ///< in the other lanes; scalar registers are in both sets or in none
};
/// What is dead before the instruction at `pc` when the kernel whose code starts at `entry` runs, if that is known.
/// Called on several threads at a time, once per instruction and launch.
using DeadRegistersAt = std::function<std::optional<DeadRegisters>(uint64_t entry, uint64_t pc)>;

struct LaunchOptions {
  Size3 grid = {};      ///< in work-items, need not be a multiple of the workgroup
  Size3 workgroup = {}; ///< in work-items
  uint32_t dynamicLds = 0;
  void *hostcallBuffer = nullptr;  ///< what the kernel calls the host by (docs/hostcall.md), if it does
  uint32_t stackBytes = 4096;      ///< scratch per lane for a kernel whose stack the compiler could not bound
  bool count = false;              ///< fill the report's counts
  bool strictWaits = false;        ///< using a loaded value before an s_waitcnt covers it ends the launch: EarlyAccess
  DeadRegistersAt poisonDead = {}; ///< overwrite these registers with garbage before every instruction
  uint64_t poisonSeed = 1;         ///< of the garbage
  /// A seed: run on the physical machine of the target (docs/virtual-gpu.md, "Strict resources"). Using a register that
  /// is not allocated ends the launch: MissingRegister.
  std::optional<uint64_t> strictResources = {};
  bool strictL1 = false;       ///< on that machine, compute units have a vector L1 that keeps what it has read
  std::string traceFile = {};  ///< each executed instruction becomes a line at its end (docs/virtual-gpu.md, "Trace")
  uint64_t traceFirstWave = 0; ///< of the grid's waves, the first and last to trace
  uint64_t traceLastWave = UINT64_MAX;
  /// Called when a wave has ended or faulted, with the registers it left; on the thread that ran the wave, several at
  /// a time. The view is valid during the call only.
  std::function<void(const WaveView &)> onWaveEnd = {};
};

/// How often something was executed: by waves, and by lanes that were active in EXEC.
struct ExecutionCount {
  uint64_t waves = 0;
  uint64_t lanes = 0;
};

/// What a finished launch did. The counts are zero unless LaunchOptions::count was set.
struct LaunchReport {
  uint64_t waves = 0;
  ExecutionCount instructions;
  std::map<std::string, ExecutionCount> opcodes; ///< by mnemonic without encoding suffix: "v_add_f32"
  uint64_t nanoseconds = 0;                      ///< from the first wave's start to the last one's end
  uint64_t translatedWaves =
      0; ///< that ran in host code to their end (docs/virtual-gpu.md); none when watched or counted
};

enum class FaultKind { None, Memory, IllegalInstruction, Trap, BadLaunch, Aborted, EarlyAccess, MissingRegister };

/// Why a launch ended before its last wave did.
struct FaultInfo {
  FaultKind kind = FaultKind::None;
  uint64_t address = 0; ///< of the access for Memory, of the instruction otherwise
  bool write = false;
  std::string text; ///< kernel, PC, instruction, encoding, EXEC, workgroup and wave
};

/// A launch under way. Copies refer to the same launch.
class RunningLaunch {
public:
  /// Waits for the end. A fault is an error with the fault's text; its code is the FaultKind.
  Result<LaunchReport> wait() const;
  bool finished() const;
  /// Ends it as soon as its waves come up for air; `wait` then reports FaultKind::Aborted.
  void abort() const;
  /// The fault of a finished launch, with FaultKind::None when there was none.
  FaultInfo fault() const;

  struct State;
  explicit RunningLaunch(std::shared_ptr<State> state) : state_(std::move(state)) {}

private:
  std::shared_ptr<State> state_;
};

/// Registers of one wave. Register numbers beyond the register file give 0.
class WaveView {
public:
  WaveView(const Workgroup &group, const Wave &wave) : group_(&group), wave_(&wave) {}

  std::array<uint32_t, 3> workgroup() const;
  uint32_t wave() const;  ///< index within the workgroup
  uint32_t lanes() const; ///< 64 or 32
  bool ended() const;     ///< at s_endpgm
  bool faulted() const;
  uint64_t pc() const; ///< of the next instruction; of the last one for a wave that has ended or faulted

  uint32_t s(unsigned reg) const; ///< by its number in the encoding: 106 is VCC_LO, 124 M0, 126 EXEC_LO
  uint64_t s64(unsigned reg) const;
  uint32_t v(unsigned reg, unsigned lane) const;
  uint64_t v64(unsigned reg, unsigned lane) const;
  uint32_t acc(unsigned reg, unsigned lane) const;
  uint64_t exec() const;
  uint64_t vcc() const;
  uint32_t m0() const;
  bool scc() const;
  uint32_t mode() const;
  std::span<const uint8_t> lds() const;

protected:
  const Workgroup *group_;
  const Wave *wave_;
};

/// The same, of a wave that is being stepped and may be changed.
class WaveRef : public WaveView {
public:
  using WaveView::WaveView;
  void setS(unsigned reg, uint32_t value);
  void setV(unsigned reg, unsigned lane, uint32_t value);
  void setAcc(unsigned reg, unsigned lane, uint32_t value);
  void setExec(uint64_t mask);
  void setScc(bool value);
};

enum class StepState {
  Ready,   ///< the next instruction can be executed
  Barrier, ///< waits for the other waves of its workgroup
  Waiting, ///< waits for other workgroups (global wave sync)
  Ended,
  Faulted, ///< see Stepper::fault
};

/// Executes a launch one instruction at a time, on the caller's thread: one workgroup after the other, and within it
/// the wave that the caller names. Not thread-safe.
class Stepper {
public:
  virtual ~Stepper() = default;

  virtual uint32_t waves() const = 0; ///< of the current workgroup
  virtual WaveRef wave(uint32_t index) = 0;
  /// The wave's next instruction as assembly text.
  virtual std::string instruction(uint32_t wave) = 0;

  /// Executes one instruction of the wave, unless it waits or has ended.
  virtual StepState step(uint32_t wave) = 0;
  /// Steps the wave until it waits or ends, or `limit` instructions have been executed.
  virtual StepState stepMany(uint32_t wave, uint64_t limit) = 0;
  /// Runs all waves of the workgroup to their end.
  virtual Result<void> finishWorkgroup() = 0;

  /// Goes to the next workgroup in grid order, leaving the current one where it is; false when there is none.
  virtual bool nextWorkgroup() = 0;

  virtual FaultInfo fault() const = 0;
};

class VirtualGpu {
public:
  static Result<std::unique_ptr<VirtualGpu>> create(const GpuOptions &options = {});
  /// Ends what is running.
  virtual ~VirtualGpu() = default;

  virtual std::string_view target() const = 0;
  virtual unsigned threads() const = 0;

  /// Loads an AMD GPU ELF file (a linked code object of version 3 or later, not a bundle).
  virtual Result<std::unique_ptr<Module>> load(std::span<const std::byte> elf) = 0;
  Result<std::unique_ptr<Module>> loadFile(const std::string &path);

  /// Zeroed memory that kernels may access, in pages of its own: accesses outside fault, up to the page's end excepted.
  virtual Result<void *> allocateBytes(uint64_t bytes) = 0;
  template <class T> Result<T *> allocate(uint64_t count) {
    void *memory = LUTHIER_TRY(allocateBytes(count * sizeof(T)));
    return static_cast<T *>(memory);
  }
  virtual Result<void> free(void *memory) = 0;

  /// Lets kernels access memory of the process (whole pages), until `unmapHost`.
  virtual void mapHost(const void *memory, uint64_t bytes) = 0;
  virtual void unmapHost(const void *memory, uint64_t bytes) = 0;

  /// Code that was written to GPU memory is decoded anew by launches after this. Loading a module implies it.
  virtual void invalidateCode() = 0;

  /// Starts a kernel. Hidden arguments are filled in where the code object describes them, otherwise they are 0; with a
  /// description, the size of `arguments` must be right. Features that need a host (OpenCL's printf, malloc,
  /// enqueueing) get null pointers.
  virtual Result<RunningLaunch> launch(const Kernel &kernel, const LaunchOptions &options,
                                       const Arguments &arguments) = 0;
  /// Starts a kernel and waits for it.
  Result<LaunchReport> run(const Kernel &kernel, const LaunchOptions &options, const Arguments &arguments);
  /// Prepares a kernel for execution step by step. `onWaveEnd` is honoured, `count` is not.
  virtual Result<std::unique_ptr<Stepper>> step(const Kernel &kernel, const LaunchOptions &options,
                                                const Arguments &arguments) = 0;
};

} // namespace luthier::vgpu
