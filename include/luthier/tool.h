// What a tool is written with: the host side. The device side is luthier/hook.h.
//
//   #include <luthier/tool.h>
//   #include "instr_count_hooks.h" // handles of the hooks and variables of instr_count.hip, made by the build
//
//   struct InstrCount : luthier::Tool {
//     void instrument(luthier::Kernel &kernel, luthier::Site at) override {
//       for (const luthier::Function &function : kernel.functions())
//         for (const luthier::Block &block : function.blocks())
//           at.entry(block).call(hooks::count, block.size());
//       at.exit(kernel).call(hooks::flush);
//     }
//     void finished(const luthier::Launch &launch) override {
//       report().row(launch.kernel(), launch.read(hooks::instructions));
//     }
//   };
//   LUTHIER_TOOL(InstrCount)
//
// A tool is a shared library (CMake: luthier_add_tool), started with `luthier run --tool NAME -- app`. Its functions
// are never called by two threads at a time. Whatever fails in them, the application goes on.
#pragma once

#include "luthier/abi.h"
#include "luthier/api.h"
#include "luthier/instr.h"
#include "luthier/launch_value.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace luthier {

class Kernel;
class Function;
class Launch;

/// The bitcode of a .hip file, embedded into the tool by the build.
struct HookFile {
  const char *name;
  const unsigned char *bitcode;
  size_t size;
};

/// A hook with its parameters, made by the build; a wrong name, number or type of arguments does not compile.
template <class... Parameters> struct Hook {
  const HookFile *file;
  const char *name;
};

enum class VariableKind : uint8_t { Device, PerLaunch, PerWave };
/// A variable of the device side, made by the build. `T` may be an array.
template <class T, VariableKind Kind> struct Variable {
  const HookFile *file;
  const char *name;
  static constexpr size_t count = std::extent_v<T> ? std::extent_v<T> : 1;
  using Element = std::remove_extent_t<T>;
};

/// What is passed for a parameter of a hook, when it is not a constant.
class Arg {
public:
  enum class Kind : uint8_t { Constant, Register, Operand, Address, Width, Pc, Launch };
  Kind kind = Kind::Constant;
  uint64_t value = 0;
  RegRange regs = {};
  LaunchValue launch = {};

  static Arg constant(uint64_t value) { return {Kind::Constant, value, {}, {}}; }
};
namespace arg {
inline Arg reg(RegRange regs) { return {Arg::Kind::Register, 0, regs, {}}; }
inline Arg reg(Reg reg) { return {Arg::Kind::Register, 0, {reg, 1}, {}}; }
inline Arg exec() { return reg(RegRange{Reg::ExecLo, 2}); }
inline Arg vcc() { return reg(RegRange{Reg::VccLo, 2}); }
inline Arg scc() { return reg(Reg::Scc); }
inline Arg m0() { return reg(Reg::M0); }
/// An operand of the instruction: its register's value, or the constant.
inline Arg operand(unsigned index) { return {Arg::Kind::Operand, index, {}, {}}; }
/// Effective address of the instruction's memory access; `access` 1: of the second one (ds_read2_b32).
inline Arg address(unsigned access = 0) { return {Arg::Kind::Address, access, {}, {}}; }
inline Arg width() { return {Arg::Kind::Width, 0, {}, {}}; } ///< bytes of the access, per lane
/// Where the instruction is in the original: its address in the code object's file, the object's number from bit 48 on.
inline Arg pc() { return {Arg::Kind::Pc, 0, {}, {}}; }
inline Arg launch(LaunchValue what) { return {Arg::Kind::Launch, 0, {}, what}; }
} // namespace arg

/// A run of instructions that is entered at its first one only.
class LUTHIER_API Block {
public:
  std::span<const Instr> instrs() const;
  uint32_t size() const { return static_cast<uint32_t>(instrs().size()); }
  const Instr &front() const { return instrs().front(); }
  const Instr &back() const { return instrs().back(); }
  uint32_t number() const { return number_; }
  const Function &function() const { return *function_; }
  /// Its parts, throughout each of which the same lanes are active: it is cut behind what may write EXEC.
  std::vector<std::span<const Instr>> runs() const {
    std::vector<std::span<const Instr>> parts;
    size_t begin = 0;
    for (size_t n = 0; n < size(); ++n)
      if (n + 1 == size() || instrs()[n].is(Property::WritesExec)) {
        parts.push_back(instrs().subspan(begin, n + 1 - begin));
        begin = n + 1;
      }
    return parts;
  }
  /// Blocks that control may go to from here, as far as is known.
  std::vector<uint32_t> successors() const;

private:
  friend class Function;
  friend struct ToolAccess;
  const Function *function_ = nullptr;
  uint32_t number_ = 0;
};

struct SourceLine {
  std::string file;
  uint32_t line = 0;
};

/// A kernel's own code, or a device function that it can call.
class LUTHIER_API Function {
public:
  Function();
  ~Function();
  Function(Function &&) noexcept;

  std::string name() const; ///< as in the source
  std::string symbol() const;
  std::span<const Instr> instrs() const;
  std::span<const Block> blocks() const;
  uint64_t address() const; ///< in the code object's file, as Instr::address
  /// Assembly text.
  std::string text(const Instr &instr) const;
  std::optional<SourceLine> source(const Instr &instr) const;

private:
  friend class Block;
  friend struct ToolAccess;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Which kernel: the same code under the same name on the same GPU, also when it has been unloaded and loaded again. It
/// can be kept, unlike a Kernel. What a tool adds up by kernel belongs under this, not under a name: two code objects
/// may have kernels of the same name.
class LUTHIER_API KernelId {
public:
  KernelId() = default; ///< of no kernel
  std::string name() const;
  /// The order of first launches.
  auto operator<=>(const KernelId &) const = default;

private:
  friend class Kernel;
  friend class Report;
  explicit KernelId(uint64_t number) : number_(number) {}
  uint64_t number_ = 0;
};

struct KernelResources {
  uint32_t sgprs = 0, vgprs = 0, accVgprs = 0, scratch = 0, wavesPerSimd = 0;
};

/// A kernel that the application launches.
class LUTHIER_API Kernel {
public:
  KernelId id() const;
  std::string name() const; ///< as in the source, with its parameters' types; may not be unique
  std::string symbol() const;
  unsigned gpu() const;       ///< that it is loaded on, counted from 0 in ROCr's order
  std::string target() const; ///< "gfx90a:sramecc+:xnack-"
  unsigned waveSize() const;
  uint64_t objectNumber() const; ///< of the code object that it is in, counted from 1 in the order of loading
  std::string objectUri() const; ///< where that came from
  KernelResources resources() const;
  /// In which of the tool's ways it is, or is to be, instrumented (Tool::variant); 0 unless the tool has several.
  unsigned variant() const;
  /// Itself first, then all functions that it can reach.
  std::span<const Function> functions() const;
  /// Of its own code.
  std::span<const Block> blocks() const { return functions().front().blocks(); }
  std::span<const Instr> instrs() const { return functions().front().instrs(); }

  struct Impl;
  explicit Kernel(Impl &impl) : impl_(&impl) {}

private:
  friend struct ToolAccess;
  Impl *impl_;
};

/// Code that ROCr has loaded for a GPU: a file with kernels.
class LUTHIER_API CodeObject {
public:
  uint64_t number() const; ///< counted from 1 in the order of loading, as Kernel::objectNumber
  std::string uri() const; ///< where it came from
  std::string target() const;
  /// Names of its kernels, as in the source. The file is read when this, or `target`, is first asked for.
  std::vector<std::string> kernels() const;

  struct Impl;
  explicit CodeObject(const Impl &impl) : impl_(&impl) {}

private:
  const Impl *impl_;
};

/// A point of a kernel, to call hooks at. Several calls at one point happen in this order.
class LUTHIER_API Point {
public:
  /// Arguments are constants, or Args.
  template <class... Parameters, class... Args> Point &call(const Hook<Parameters...> &hook, Args &&...args) {
    static_assert(sizeof...(Parameters) == sizeof...(Args), "the hook takes another number of arguments");
    const Arg list[] = {convert<Parameters>(args)..., Arg()};
    add(*hook.file, hook.name, std::span(list, sizeof...(Parameters)));
    return *this;
  }
  /// The hook called last puts what it returns into these registers.
  Point &into(RegRange registers);

private:
  friend class Site;
  friend struct ToolAccess;
  template <class Parameter, class A> static Arg convert(const A &value) {
    if constexpr (std::is_same_v<std::remove_cvref_t<A>, Arg>)
      return value;
    else {
      static_assert(std::is_convertible_v<A, Parameter>, "the argument has another type than the hook's parameter");
      static_assert(!std::is_floating_point_v<A> || std::is_floating_point_v<Parameter>,
                    "the argument has another type than the hook's parameter");
      if constexpr (std::is_integral_v<A> && std::is_integral_v<Parameter>)
        static_assert(sizeof(A) <= sizeof(Parameter) || sizeof(A) <= sizeof(int) /* literals */,
                      "the argument has more bits than the hook's parameter");
      const Parameter converted = static_cast<Parameter>(value);
      uint64_t bits = 0;
      static_assert(sizeof converted <= sizeof bits);
      __builtin_memcpy(&bits, static_cast<const void *>(&converted), sizeof converted);
      return Arg::constant(bits);
    }
  }
  void add(const HookFile &file, const char *hook, std::span<const Arg> args);

  struct Place {
    uint8_t position;
    const Function *function;
    uint64_t address, edgeTo;
  };
  Point(Kernel::Impl &kernel, Place place) : kernel_(&kernel), place_(place) {}
  Kernel::Impl *kernel_;
  Place place_;
  size_t last_ = SIZE_MAX;
};

/// Points of the kernel that is being instrumented.
class LUTHIER_API Site {
public:
  Point before(const Instr &instr) const;  ///< of any function of the kernel
  Point after(const Instr &instr) const;   ///< not for those that end a block
  Point replace(const Instr &instr) const; ///< the hook takes the instruction's place
  void remove(const Instr &instr) const;
  Point entry(const Block &block) const;
  Point edge(const Block &from, const Block &to) const;
  Point entry(const Function &function) const; ///< when it is called
  Point exit(const Function &function) const;  ///< before it returns
  Point entry(const Kernel &kernel) const;     ///< when a wave starts
  Point exit(const Kernel &kernel) const;      ///< before a wave ends, wherever that is

  explicit Site(Kernel::Impl &kernel) : kernel_(&kernel) {}

private:
  Point at(uint8_t position, const Instr &instr) const;
  Kernel::Impl *kernel_;
};

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
};

/// One dispatch of a kernel.
class LUTHIER_API Launch {
public:
  const Kernel &kernel() const;
  uint64_t number() const;         ///< of all launches, counted from 1 in the order of submission
  uint64_t numberOfKernel() const; ///< of this kernel's (Kernel::id), also when it has been loaded again meanwhile
  uint64_t queue() const;
  Dim3 grid() const, workgroup() const; ///< in work-items
  /// When the GPU began and ended it, in nanoseconds of HSA's system clock; 0 before the end, or where the GPU left no
  /// times.
  uint64_t beginTime() const, endTime() const;
  bool instrumented() const;

  /// A per-launch variable, when the launch has finished.
  template <class T> auto read(const Variable<T, VariableKind::PerLaunch> &variable) const {
    using V = Variable<T, VariableKind::PerLaunch>;
    if constexpr (std::is_array_v<T>) {
      std::vector<typename V::Element> value(V::count);
      readBytes(*variable.file, variable.name, value.data(), sizeof(T));
      return value;
    } else {
      T value{};
      readBytes(*variable.file, variable.name, &value, sizeof value);
      return value;
    }
  }
  /// Before it starts: what the variable holds at the start.
  template <class T>
  void write(const Variable<T, VariableKind::PerLaunch> &variable, const std::type_identity_t<T> &value) {
    writeBytes(*variable.file, variable.name, &value, sizeof value);
  }

  struct Impl;
  explicit Launch(Impl &impl) : impl_(&impl) {}

private:
  friend struct ToolAccess;
  void readBytes(const HookFile &file, const char *name, void *to, size_t bytes) const;
  void writeBytes(const HookFile &file, const char *name, const void *from, size_t bytes);
  Impl *impl_;
};

/// A table of results: text for people, CSV or JSON, as the user asked (-f), to where the user asked (-o).
class LUTHIER_API Report {
public:
  /// Names of the columns, once, before the first row.
  void columns(std::vector<std::string> names);
  /// Cells are text, numbers, or kernels (Kernel, KernelId): these are shown by name, with a column `object` or `gpu`
  /// behind it where names alone do not tell the table's kernels apart.
  template <class... Values> void row(const Values &...values) { add({cell(values)...}); }

  struct Cell {
    std::string text;
    bool number = false;
    uint64_t kernel = 0;
  };
  void add(std::vector<Cell> cells);

private:
  static Cell cell(const KernelId &id) { return {id.name(), false, id.number_}; }
  static Cell cell(const Kernel &kernel) { return cell(kernel.id()); }
  template <class T> static Cell cell(const T &value) {
    if constexpr (std::is_floating_point_v<T>) {
      char text[64]; // shortest form that reads back as the same number
      return {std::string(text, std::to_chars(text, text + sizeof text, value).ptr), true};
    } else if constexpr (std::is_arithmetic_v<T>)
      return {std::to_string(value), true};
    else
      return {std::string(value), false};
  }
};

/// What to do with a launch.
enum class Decision : uint8_t {
  Instrumented,
  Original,
};

class LUTHIER_API Tool {
public:
  virtual ~Tool();

  /// Before anything else; options have been read.
  virtual void start() {}
  /// When the application has loaded code, most of which is never launched.
  virtual void loaded(const CodeObject &object) {}
  /// Once per kernel, when it is launched first, and again when its code was unloaded and loaded again: which hooks go
  /// where. Without any, the kernel runs unmodified.
  virtual void instrument(Kernel &kernel, Site at) = 0;
  /// A kernel can be instrumented in several ways, and each launch be run in another one: `instrument` is called once
  /// for each number that is returned here, with that as Kernel::variant(). Asked before `launch`, about kernels that
  /// have hooks in variant 0.
  virtual unsigned variant(const Launch &launch) { return 0; }
  /// Before each launch of an instrumented kernel.
  virtual Decision launch(Launch &launch) { return Decision::Instrumented; }
  /// After each launch of an instrumented kernel, run instrumented or not.
  virtual void finished(const Launch &launch) {}
  /// At the end, when all launches have finished.
  virtual void exit() {}

  /// Options of the command line, --TOOL.NAME=VALUE; to be called in the constructor. `luthier run` refuses values that
  /// do not fit before it starts the application.
  std::string option(const std::string &name, const std::string &byDefault, const std::string &help);
  /// One of these names; the first is the default.
  std::string choice(const std::string &name, const std::vector<std::string> &choices, const std::string &help);
  /// Off, unless the user says --TOOL.NAME.
  bool flag(const std::string &name, const std::string &help);
  uint64_t number(const std::string &name, uint64_t byDefault, const std::string &help, uint64_t least = 0,
                  uint64_t most = UINT64_MAX);
  /// Hexadecimal numbers, separated by commas; none by default.
  std::vector<uint64_t> addresses(const std::string &name, const std::string &help);
  /// A file that the tool writes. The name's %pid%, %hostname% and %env{X}% are replaced; `luthier run` makes it
  /// absolute and refuses what cannot be written.
  std::string outputFile(const std::string &name, const std::string &byDefault, const std::string &help);

  Report &report();
  /// A message to the user.
  void warn(const std::string &message);
  /// That many records did not make it to the user: the account of the run says so.
  void lost(uint64_t records);

  /// Variables of Storage Device, one copy per GPU: the sum over all GPUs for numbers.
  template <class T> T read(const Variable<T, VariableKind::Device> &variable) {
    T sum{};
    for (unsigned gpu = 0; gpu < gpus(); ++gpu) {
      T value{};
      readBytes(gpu, *variable.file, variable.name, &value, sizeof value);
      sum += value;
    }
    return sum;
  }
  template <class T, size_t N> std::vector<T> read(const Variable<T[N], VariableKind::Device> &variable, unsigned gpu) {
    std::vector<T> values(N);
    readBytes(gpu, *variable.file, variable.name, values.data(), sizeof(T) * N);
    return values;
  }
  /// The sums of each element.
  template <class T, size_t N> std::vector<T> read(const Variable<T[N], VariableKind::Device> &variable) {
    std::vector<T> sums(N);
    for (unsigned gpu = 0; gpu < gpus(); ++gpu) {
      const std::vector<T> values = read(variable, gpu);
      for (size_t n = 0; n < N; ++n)
        sums[n] += values[n];
    }
    return sums;
  }
  template <class T>
  void write(const Variable<T, VariableKind::Device> &variable, const std::type_identity_t<T> &value) {
    for (unsigned gpu = 0; gpu < gpus(); ++gpu)
      writeBytes(gpu, *variable.file, variable.name, &value, sizeof value);
  }
  unsigned gpus() const; ///< that have run instrumented code
  /// Memory that host and GPUs can use at the same time, zeroed; lives as long as the process. Null when there is none.
  void *sharedMemory(size_t bytes);

private:
  void readBytes(unsigned gpu, const HookFile &file, const char *name, void *to, size_t bytes);
  void writeBytes(unsigned gpu, const HookFile &file, const char *name, const void *from, size_t bytes);
};

} // namespace luthier

/// Makes the tool known to Luthier. Once per shared library.
#define LUTHIER_TOOL(Class)                                                                                            \
  extern "C" __attribute__((visibility("default"))) const luthier::ToolAbi luthierToolAbi;                             \
  extern "C" constexpr luthier::ToolAbi luthierToolAbi = {};                                                           \
  extern "C" __attribute__((visibility("default"))) luthier::Tool *luthierCreateTool() { return new Class; }
