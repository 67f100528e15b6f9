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
#include "luthier/result_type.h"

#include <array>
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

namespace rewrite {
struct Insertion;
}
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

enum class VariableKind : uint8_t { Device, PerLaunch, PerWave, PerLane, Lds, PerWorkgroup, PerSite };
/// A variable of the device side, made by the build. `T` may be an array.
template <class T, VariableKind Kind> struct Variable {
  const HookFile *file;
  const char *name;
  static constexpr size_t count = std::extent_v<T> ? std::extent_v<T> : 1;
  using Element = std::remove_extent_t<T>;
};

/// What is passed for a parameter of a hook, when it is not a constant. An Arg is compared with the parameter's size
/// when the kernel is instrumented; what arg:: gives, where its type is known, when the tool is compiled.
class Arg {
public:
  enum class Kind : uint8_t {
    Constant,
    Register,
    Operand,
    Address,
    Width,
    Pc,
    Launch,
    Source,
    Result,
    Kernarg,
    Callee
  };
  Kind kind = Kind::Constant;
  uint64_t value = 0;
  RegRange regs = {};
  LaunchValue launch = {};
  std::string name = {};            ///< of a kernel argument
  std::vector<uint32_t> words = {}; ///< of a constant that is a structure or a vector

  static Arg constant(uint64_t value) { return {Kind::Constant, value, {}, {}}; }
};
/// An Arg for parameters of `Bits` bits: integers and floating-point numbers, or, for 64, pointers.
template <unsigned Bits> class SizedArg : public Arg {};
/// An address: for integers of 64 bits, and pointers.
class AddressArg : public Arg {};
/// A small number, which no parameter is too narrow for: for integers.
class NumberArg : public Arg {};

namespace arg {
inline Arg reg(RegRange regs) { return {Arg::Kind::Register, 0, regs, {}}; }
inline SizedArg<32> reg(Reg reg) { return {{Arg::Kind::Register, 0, {reg, 1}, {}}}; }
inline SizedArg<64> exec() { return {reg(RegRange{Reg::ExecLo, 2})}; }
inline SizedArg<64> vcc() { return {reg(RegRange{Reg::VccLo, 2})}; }
inline SizedArg<32> scc() { return reg(Reg::Scc); }
inline SizedArg<32> m0() { return reg(Reg::M0); }
/// An operand of the instruction: its register's value, or the constant.
inline Arg operand(unsigned index) { return {Arg::Kind::Operand, index, {}, {}}; }
/// The same, counting only operands that it reads: source(0) and source(1) are what any form of v_cmp_* and s_cmp_*
/// compares.
inline Arg source(unsigned index) { return {Arg::Kind::Source, index, {}, {}}; }
/// What the instruction has computed, loaded or compared: for Site::after.
inline Arg result() { return {Arg::Kind::Result, 0, {}, {}}; }
/// Effective address of the instruction's memory access; `access` 1: of the second one (ds_read2_b32). Addresses of LDS
/// and scratch are 32-bit offsets, with zeros above.
inline AddressArg address(unsigned access = 0) { return {{Arg::Kind::Address, access, {}, {}}}; }
inline NumberArg width() { return {{Arg::Kind::Width, 0, {}, {}}}; } ///< bytes of the access, per lane
/// Where the instruction is in the original: its address in the code object's file, the object's number from bit 48 on.
inline AddressArg pc() { return {{Arg::Kind::Pc, 0, {}, {}}}; }
/// Where a call or jump through a register goes: for Site::before. An address of the original code, where it is loaded;
/// Kernel::functionAt has its name.
inline AddressArg callee() { return {{Arg::Kind::Callee, 0, {}, {}}}; }
inline Arg launch(LaunchValue what) { return {Arg::Kind::Launch, 0, {}, what}; }
/// An argument of the kernel: by its number, counted from 0, by offset and size in bytes, or by its name in the source.
/// Names are in code objects only if the compiler was told to put them there (-fhip-kernel-arg-name).
inline Arg kernarg(uint32_t number) { return {Arg::Kind::Kernarg, number, {}, {}}; }
inline Arg kernarg(std::string name) { return {Arg::Kind::Kernarg, 0, {}, {}, std::move(name)}; }
inline Arg kernarg(uint32_t offset, uint32_t bytes) {
  return {Arg::Kind::Kernarg, offset | uint64_t{bytes} << 32, {}, {}};
}
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

/// A way from one block to another.
struct BlockEdge {
  const Block *from = nullptr, *to = nullptr;
};

/// A loop that is entered at one block only: its header, and all blocks from which control can come back to it without
/// leaving the loop. A wave goes around as long as any of its lanes does. A round begins on an entry or a back edge, so
/// that these together count rounds; what begins the loop at the start of a function is the call and no edge.
struct Loop {
  const Block *header = nullptr;
  std::vector<const Block *> blocks; ///< with the header, in the order of the code
  std::vector<BlockEdge> entries;    ///< from outside to the header
  std::vector<BlockEdge> backEdges;  ///< from inside to the header
  std::vector<BlockEdge> exits;      ///< from inside to outside
  const Loop *parent = nullptr;      ///< the smallest one around it
  unsigned depth = 1;                ///< 1: in no other
};

struct SourceLine {
  std::string file;
  uint32_t line = 0;
  std::string function = {}; ///< that the line is in, as in the source; empty when not known
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
  /// The same, followed by the lines of the calls that were inlined, innermost first.
  std::vector<SourceLine> sources(const Instr &instr) const;
  /// The address (in the code object's file) of the function that a call calls, or a jump goes on in; nothing where
  /// that is decided when it is executed, by a function pointer (arg::callee).
  std::optional<uint64_t> callee(const Instr &call) const;
  /// The name of the function of the same code object that is loaded at an address (arg::callee); empty where none is.
  std::string functionAt(uint64_t loaded) const;
  /// Its loops, in the order of their headers; and the smallest that a block is in, null if it is in none. Cycles that
  /// can be entered at several blocks are not among them (hasOtherCycles).
  std::span<const Loop> loops() const;
  const Loop *loop(const Block &block) const;
  bool hasOtherCycles() const;
  /// The block that one of its instructions is in, and its neighbours in memory; null where there is none.
  const Block *block(const Instr &instr) const;
  const Instr *previous(const Instr &instr) const;
  const Instr *next(const Instr &instr) const;

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
  friend struct ToolAccess;
  explicit KernelId(uint64_t number) : number_(number) {}
  uint64_t number_ = 0;
};

struct KernelResources {
  uint32_t sgprs = 0, vgprs = 0, accVgprs = 0, scratch = 0, wavesPerSimd = 0;
};

/// What results of tools depend on: facts of the hardware that a kernel is compiled for.
struct TargetFacts {
  uint32_t cacheLine = 0;                  ///< bytes of a line of the cache that vector memory instructions go to first
  uint32_t ldsBanks = 0, ldsBankBytes = 0; ///< number, and bytes that each gives per cycle
  bool ldsWideReadsInterleave = false;     ///< the groups of lanes that ds_read_b128 serves at once are not consecutive
};

/// An argument of a kernel, as its code object's metadata has it.
struct KernelArgument {
  std::string name, type; ///< may be empty
  uint32_t offset = 0, size = 0;
  bool hidden = false; ///< added by the compiler
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
  TargetFacts targetFacts() const;
  std::vector<KernelArgument> arguments() const;
  /// In which of the tool's ways it is, or is to be, instrumented (Tool::variant); 0 unless the tool has several.
  unsigned variant() const;
  /// Itself first, then all functions that it can reach.
  std::span<const Function> functions() const;
  /// The name of the function that is loaded at an address (arg::callee); empty where there is none of its code object.
  std::string functionAt(uint64_t loaded) const;
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
  /// Inserts instructions, a line each, for those who want to say it themselves: for the kernel's target, as they are
  /// written. Their registers are the kernel's. They may read all of them, and write what is not in use at this point,
  /// or what changes() names; nothing is saved around them.
  Point &assembly(std::string text);
  /// Registers that the assembly given last may change for good; can be repeated.
  Point &changes(RegRange registers);
  /// The hook called last puts what it returns into these registers.
  Point &into(RegRange registers);
  /// The hook called last is copied to this point, or its code is shared by all points that call it. Without these,
  /// large hooks at many points are shared.
  Point &inlined();
  Point &shared();
  /// The hook called last runs in a part of the visits only: in a wave's first one of this point, and every n-th from
  /// there on. A visit that is skipped costs two scalar instructions; four where the kernel needs SCC.
  Point &every(uint32_t n);
  /// The same, but all points with this counter (of hooks in one file, with the same n) count their visits together, in
  /// one register of the wave: for many points, which would need a register each.
  Point &every(uint32_t n, uint32_t counter);
  /// The hook called last runs only while this variable is not zero: in waves, say, that a hook has chosen at their
  /// start. A visit that is skipped costs as much as with `every`.
  template <class T> Point &when(const Variable<T, VariableKind::PerWave> &variable) {
    static_assert(sizeof(T) <= 4 && !std::is_array_v<T>, "a variable that hooks depend on has at most 32 bits");
    return when(*variable.file, variable.name);
  }
  /// The hook called last runs only for the lanes for which this one, a lane hook too, returns true; of wave hooks:
  /// only if it does. Both must be of one file.
  template <class... Parameters, class... Args> Point &when(const Hook<Parameters...> &predicate, Args &&...args) {
    static_assert(sizeof...(Parameters) == sizeof...(Args), "the hook takes another number of arguments");
    const Arg list[] = {convert<Parameters>(args)..., Arg()};
    return when(*predicate.file, predicate.name, std::span(list, sizeof...(Parameters)));
  }

private:
  friend class Site;
  friend struct ToolAccess;
  template <class Parameter, class A> static Arg convert(const A &value) {
    if constexpr (std::is_base_of_v<Arg, A>) {
      static_assert(fits<Parameter>(static_cast<const A *>(nullptr)),
                    "the argument has another size or type than the hook's parameter");
      return value;
    } else if constexpr (std::is_class_v<Parameter>) { // std::array: of the bytes of a structure, or a vector's words
      static_assert(std::is_trivially_copyable_v<A> && !std::is_pointer_v<A> && !std::is_arithmetic_v<A>,
                    "the hook's parameter is a structure: pass one that can be copied byte by byte");
      static_assert(sizeof(A) == sizeof(Parameter), "the argument has another size than the hook's structure");
      Arg arg;
      arg.words.resize((sizeof(A) + 3) / 4);
      __builtin_memcpy(arg.words.data(), static_cast<const void *>(&value), sizeof(A));
      return arg;
    } else {
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
  template <class Parameter> static constexpr bool fits(const Arg *) { return true; }
  template <class Parameter> static constexpr bool fits(const AddressArg *) {
    return sizeof(Parameter) == 8 && (std::is_integral_v<Parameter> || std::is_pointer_v<Parameter>);
  }
  template <class Parameter> static constexpr bool fits(const NumberArg *) { return std::is_integral_v<Parameter>; }
  template <class Parameter, unsigned Bits> static constexpr bool fits(const SizedArg<Bits> *) {
    return Bits == 32 ? sizeof(Parameter) <= 4 : sizeof(Parameter) == Bits / 8;
  }
  void add(const HookFile &file, const char *hook, std::span<const Arg> args);
  void add(rewrite::Insertion insertion);
  Point &as(uint8_t form);
  Point &when(const HookFile &file, const char *variable);
  Point &when(const HookFile &file, const char *predicate, std::span<const Arg> args);

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
  /// The tool wants to know of the kernel's launches (Tool::launch, Tool::finished) even if nobody puts a hook into it.
  void observe() const;
  Point entry(const Block &block) const;
  Point edge(const Block &from, const Block &to) const;
  Point edge(const BlockEdge &edge) const { return this->edge(*edge.from, *edge.to); }
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
  uint64_t workgroups() const;          ///< of the grid
  /// When the GPU began and ended it, in nanoseconds of HSA's system clock; 0 before the end, or where the GPU left no
  /// times.
  uint64_t beginTime() const, endTime() const;
  bool instrumented() const;
  unsigned gpu() const { return kernel().gpu(); }
  /// The kernel's arguments as they are in memory, in Tool::launch only. Empty where the host cannot read them; an
  /// application may also write them after it has submitted the launch.
  std::vector<std::byte> arguments() const;
  /// One of them: the value of type T by its name; nothing where there is none of that name and size.
  template <class T> std::optional<T> argument(std::string_view name) const {
    const std::vector<std::byte> all = arguments();
    for (const KernelArgument &each : kernel().arguments())
      if (each.name == name && each.size == sizeof(T) && each.offset + sizeof(T) <= all.size()) {
        T value;
        __builtin_memcpy(&value, all.data() + each.offset, sizeof value);
        return value;
      }
    return {};
  }

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
  /// A per-workgroup variable of all workgroups, when the launch has finished: first along x, then y, then z. Of an
  /// array, all elements of a workgroup are together.
  template <class T> auto read(const Variable<T, VariableKind::PerWorkgroup> &variable) const {
    using V = Variable<T, VariableKind::PerWorkgroup>;
    std::vector<typename V::Element> values(workgroups() * V::count);
    readGroups(*variable.file, variable.name, values.data(), sizeof(T));
    return values;
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
  void readGroups(const HookFile &file, const char *name, void *to, size_t bytesOfGroup) const;
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

/// The place that a copy of a per-site variable belongs to. What it points to is there until the end of the run.
struct SiteOfValue {
  KernelId kernel;
  unsigned variant = 0;               ///< Kernel::variant()
  const Function *function = nullptr; ///< that the instruction is in
  const Instr *instr = nullptr;       ///< at the point of insertion
  std::string hook;                   ///< its name

  uint64_t address() const { return instr->address(); }
  std::string text() const { return function->text(*instr); }
  std::optional<SourceLine> source() const { return function->source(*instr); }
  /// For people, as cells of a row: the address as `luthier disasm` prints it; and "saxpy.hip:12", with the function
  /// where that is not the kernel itself, as far as these are known.
  LUTHIER_API std::string addressText() const;
  LUTHIER_API std::string sourceText() const;
};
/// A copy of a per-site variable.
template <class T> struct SiteValue : SiteOfValue {
  T value{};
};

/// What to do with a launch.
enum class Decision : uint8_t {
  Instrumented,
  Original, ///< unmodified, and `finished` is not called
  Observed, ///< unmodified, but `finished` is called, with the launch's times
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
  /// Before each launch of an instrumented kernel, or of one that is observed (Site::observe).
  virtual Decision launch(Launch &launch) { return Decision::Instrumented; }
  /// After each launch that some tool wanted, instrumented or observed.
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
  /// A file that the tool writes; by default none if `byDefault` is empty. The name's %pid%, %hostname% and %env{X}%
  /// are replaced; `luthier run` makes it absolute and refuses what cannot be written.
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
  /// The copies of a per-site variable: of each kernel that was instrumented so far, and of each of its places, in the
  /// order of the code. They add up over all launches. An array per site is a std::array.
  template <class T> auto read(const Variable<T, VariableKind::PerSite> &variable) {
    using V = Variable<T, VariableKind::PerSite>;
    using Value = std::conditional_t<std::is_array_v<T>, std::array<typename V::Element, V::count>, T>;
    std::vector<SiteValue<Value>> result;
    readSites(*variable.file, variable.name, [&](const SiteOfValue &site, std::span<const std::byte> bytes) {
      SiteValue<Value> &added = result.emplace_back(SiteValue<Value>{site, {}});
      __builtin_memcpy(&added.value, bytes.data(), bytes.size() < sizeof(Value) ? bytes.size() : sizeof(Value));
    });
    return result;
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
  void readSites(const HookFile &file, const char *name,
                 const std::function<void(const SiteOfValue &, std::span<const std::byte>)> &visit);
};

} // namespace luthier

/// Makes the tool known to Luthier. Once per shared library.
#define LUTHIER_TOOL(Class)                                                                                            \
  extern "C" __attribute__((visibility("default"))) const luthier::ToolAbi luthierToolAbi;                             \
  extern "C" constexpr luthier::ToolAbi luthierToolAbi = {};                                                           \
  extern "C" __attribute__((visibility("default"))) luthier::Tool *luthierCreateTool() { return new Class; }
