// Rewrites a kernel: hooks placed at chosen points of it and of the functions that it can reach.
//
// The kernel and the functions are copied with their bytes, the compiled hooks are put in between with their registers
// renamed into ones that are free at each point, and everything that depends on where code is gets re-aimed. The
// original object is not changed: the result is a Variant, which rewrite/emit.h makes a file of. Each insertion is
// either done or refused with a reason; a refused one leaves no trace in the code. Only what makes the kernel as a
// whole impossible to rewrite is an error.
#pragma once

#include "analysis/callgraph.h"
#include "analysis/program.h"
#include "hook/compiler.h"
#include "rewrite/hook_form.h"
#include "rewrite/variant.h"

#include <optional>

namespace luthier::rewrite {

enum class Position : uint8_t {
  Before,        ///< each time control gets to the instruction
  After,         ///< each time it goes on behind the instruction; not for those that end a block (calls may)
  Replace,       ///< instead of the instruction
  Remove,        ///< the instruction goes; s_nop comes where neighbours may rely on the distance
  BlockEntry,    ///< before the first instruction of a block, and before all that is Before it
  Edge,          ///< each time control goes from one block to another
  FunctionEntry, ///< when the function is called: not when it loops to its first instruction
  FunctionExit,  ///< before each return, and each jump to another function
  KernelEntry,
  KernelExit, ///< before each s_endpgm, in functions that the kernel calls too
};
std::string_view toString(Position position);

/// What is passed for a hook's parameter.
struct Argument {
  enum class Kind : uint8_t {
    Constant, ///< `value`, 32 or 64 bits as the parameter is; of a structure or vector, all of its `words`
    Register, ///< `regs` of the guest: scalar, vector or accumulation registers; VCC, EXEC, SCC, M0 too
    Operand,  ///< operand number `value` of the instruction: a register or a constant
    Address,  ///< effective address of the instruction's memory access; `value` 1: of its second one (ds_read2)
    Width,    ///< bytes of its memory access, per lane
    Pc,     ///< address of the instruction in the original file; with `value` in the upper 16 bits: the object's number
    Launch, ///< `launch`
    Source, ///< number `value` of the operands that the instruction reads and does not write
    Result, ///< what the instruction writes, After it
    /// The kernel's argument `name`; without a name, at offset `value`, its size from bit 32 on; without a size, number
    /// `value`.
    Kernarg,
    Callee, ///< where a call or jump through a register goes, before it: an address of loaded, original code
  };
  Kind kind = Kind::Constant;
  uint64_t value = 0;
  RegRange regs = {};
  hook::LaunchValue launch = {};
  std::string name = {};
  std::vector<uint32_t> words = {};

  static Argument constant(uint64_t value) { return {.kind = Kind::Constant, .value = value}; }
  static Argument constant(std::vector<uint32_t> words) { return {.kind = Kind::Constant, .words = std::move(words)}; }
  static Argument reg(RegRange regs) { return {.kind = Kind::Register, .regs = regs}; }
  static Argument exec() { return reg({Reg::ExecLo, 2}); }
  static Argument vcc() { return reg({Reg::VccLo, 2}); }
  static Argument scc() { return reg({Reg::Scc, 1}); }
  static Argument m0() { return reg({Reg::M0, 1}); }
  static Argument operand(unsigned index) { return {.kind = Kind::Operand, .value = index}; }
  static Argument address(unsigned access = 0) { return {.kind = Kind::Address, .value = access}; }
  static Argument width() { return {.kind = Kind::Width}; }
  static Argument pc(uint64_t object = 0) { return {.kind = Kind::Pc, .value = object}; }
  static Argument source(unsigned index) { return {.kind = Kind::Source, .value = index}; }
  static Argument instrResult() { return {.kind = Kind::Result}; }
  static Argument callee() { return {.kind = Kind::Callee}; }
  static Argument kernarg(std::string name) { return {.kind = Kind::Kernarg, .name = std::move(name)}; }
  static Argument kernarg(uint64_t where) { return {.kind = Kind::Kernarg, .value = where}; }
  static Argument launchValue(hook::LaunchValue what) { return {.kind = Kind::Launch, .launch = what}; }
};

/// Of the visits of an insertion's point, those in which its hook runs.
struct Sampling {
  uint32_t every = 1; ///< a wave's first visit, and every so many-th from there on; not 0
  /// Insertions of a module with the same number (and `every`) count their visits together; none: each its own.
  std::optional<uint32_t> counter = {};
  std::string when = {}; ///< a PerWave variable of the module: only while that is not zero; empty: always

  bool any() const { return every != 1 || !when.empty(); }
};

/// Instructions as text, for the kernel's target; they are placed as they are written (rewrite/assembly.h).
struct Assembly {
  std::string text;
  RegSet changes = {}; ///< registers of the kernel that it may change for good
};

struct Insertion {
  Position position = Position::Before;
  const object::Symbol *function = nullptr; ///< null: the kernel
  /// Of an instruction (Before, After, Replace, Remove), of a block's first (BlockEntry), or of the last one of the
  /// block that an Edge leaves; in the file.
  uint64_t address = 0;
  uint64_t edgeTo = 0;                            ///< Edge: address of the block that it goes to
  std::shared_ptr<const hook::HookModule> module; ///< null only for Assembly, Remove, and Replace by nothing
  std::string hook;
  std::vector<Argument> arguments; ///< one per parameter of the hook
  RegRange result = {};            ///< guest registers that get what the hook returns; none: it is dropped
  HookForm form = HookForm::Auto;
  Sampling sampling = {};
  std::string predicate =
      {}; ///< a hook of the module that decides whether, or for which lanes, it runs; empty: it does
  std::vector<Argument> predicateArguments = {};
  std::optional<Assembly> assembly = {}; ///< instead of a hook

  bool inserts() const { return module || assembly; }
  /// The predicate's, then the hook's.
  size_t argumentCount() const { return predicateArguments.size() + arguments.size(); }
  const Argument &argument(size_t n) const {
    return n < predicateArguments.size() ? predicateArguments[n] : arguments[n - predicateArguments.size()];
  }
};

/// What became of an insertion.
struct SiteAccount {
  bool placed = false;
  std::string rejected;      ///< why not: hook, place and reason; empty if it was placed
  std::string reason;        ///< the reason alone
  uint32_t places = 0;       ///< in the code; several for FunctionExit and KernelExit
  uint32_t calls = 0;        ///< of these, those that call a shared copy of the hook
  uint32_t instructions = 0; ///< inserted, at all places
  uint32_t saved = 0;        ///< live registers that had to be saved around it
  uint32_t waits = 0;        ///< places with a wait that the guest did not have
  bool late = false;         ///< for the rewriter: refused when code was being written
};

struct Rewrite {
  Variant variant;
  std::vector<SiteAccount> sites; ///< as in the request
  uint64_t originalInstructions = 0, insertedInstructions = 0;
  /// Indirect calls and jumps whose targets are not all known: what they reach elsewhere runs as it was.
  uint32_t openCalls = 0;
  uint32_t sharedHooks = 0; ///< that the kernel has one copy of
};

/// Where PerLaunch variables are.
enum class LaunchBlocks : uint8_t {
  Segment,   ///< whoever launches the kernel puts their addresses into a segment (Variant::segment)
  Variables, ///< one copy for all launches, as variables: for files that are launched by nobody who knows of them
};

/// For one code object. Not thread-safe.
class Rewriter {
public:
  /// Object and compiler must outlive it.
  static Result<std::unique_ptr<Rewriter>> create(const object::CodeObject &object, hook::FragmentCompiler &compiler,
                                                  LaunchBlocks blocks = LaunchBlocks::Segment);
  ~Rewriter();

  Result<Rewrite> rewrite(const object::Symbol &kernel, std::span<const Insertion> insertions);
  /// What HookForm::Auto means from now on.
  void setForm(HookForm form);

  analysis::Program &program();
  Result<const analysis::CallGraph *> callGraph(); ///< made when first asked for
  /// The functions that a rewritten kernel has copies of: itself first, then all it can reach.
  Result<std::vector<const object::Symbol *>> functionsOf(const object::Symbol &kernel);

private:
  friend class VariantBuilder;
  struct Impl;
  explicit Rewriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace luthier::rewrite
