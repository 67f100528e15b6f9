// A random program as a tree, how it is made, and how it is printed as C++ for the device and for the host.
//
// A Program is one kernel. Its variables are per lane and typed; statements are a tree; an expression's node names a
// row of the operation table (operations.cc), which has the C text. So the tree can be cut anywhere, and any node
// replaced by another of its type: that is what the shrinker does.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace luthier::vgpu::differential {

/// A small generator of our own, so that a seed means the same program everywhere (splitmix64).
class Random {
public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>((next() >> 32) * limit >> 32); }
  bool chance(uint32_t percent) { return below(100) < percent; }

private:
  uint64_t state_;
};

/// What programs are for.
struct Machine {
  std::string gpu = "gfx90a";
  uint32_t lanes = 64; ///< of a wave

  bool isGfx9() const { return gpu.starts_with("gfx9"); }
  /// DPP: wave_shl and its kin; row_newbcast or row_share; row_xmask.
  bool waveShifts() const { return isGfx9(); }
  bool rowShare() const { return !isGfx9() || gpu.starts_with("gfx90a") || gpu.starts_with("gfx94"); }
  bool rowXmask() const { return !isGfx9(); }
  /// Permutations through LDS stay within half a wave.
  bool halves() const { return lanes == 64 && (gpu.starts_with("gfx10") || gpu.starts_with("gfx11")); }
};

/// Letters of operation signatures: a type of a value.
enum Type : char {
  Bool = 'b',
  U8 = 'c',
  U16 = 's',
  U32 = 'u',
  I32 = 'i',
  U64 = 'l',
  I64 = 'j',
  F16 = 'e',
  F32 = 'f',
  F64 = 'd',
  U16x2 = 'S',
  I16x2 = 'I',
  F16x2 = 'E',
  F32x2 = 'F',
};
/// Those that variables can have. The position of a type is also that of its input array.
inline constexpr std::string_view kVariableTypes = "csuiljefdSIEF";
std::string_view typeName(Type type);
uint32_t typeBytes(Type type);

/// Memory that every kernel gets: inputs of each type, atomics' targets, and a region of the output per variable.
inline constexpr uint32_t kInputStride = 256 * 8, kInputBytes = 13 * kInputStride;
inline constexpr uint32_t kAtomicStride = 64 * 8, kMaxThreads = 512, kMaxVariables = 16;
inline constexpr uint32_t kOutputBytes = kMaxThreads * 8 * kMaxVariables, kOwnBytes = kMaxThreads * 16;

/// An operation: `signature` is the result's letter, a colon and the operands' letters; `text` is C with $0, $1, $2 for
/// the operands.
struct Operation {
  const char *signature;
  const char *text;
};
std::span<const Operation> operations();

/// A target of global atomics: operation, type, and how a value is made fit for it.
struct AtomicKind {
  const char *operation, *type, *value;
};
std::span<const AtomicKind> globalAtomics();

struct Expr {
  enum Kind { Operate, Variable, Literal, Text } kind = Literal;
  Type type = U32;
  uint32_t index = 0; ///< operation or variable
  std::string text;   ///< of Literal and Text
  std::vector<Expr> operands;
};

struct Stmt {
  enum Kind {
    Assign,       ///< variable = e[0]
    If,           ///< e[0], body, other
    Loop,         ///< e[0] & `parameter` turns, per lane; leaves early when e[1] holds
    Switch,       ///< e[0] & 3 chooses one of body's statements
    Private,      ///< array in scratch: [e[0]] = e[1]
    Own,          ///< a byte of the work-item's own output: [e[0]] = e[1]
    GlobalAtomic, ///< index e[0], value e[1]
    UniformLoop,  ///< `parameter` turns in all lanes, or `arg` & parameter
    LdsExchange,  ///< e[0] into LDS, then variable = element e[1]
    LdsAtomic,    ///< on LDS at e[0] with value e[1], then variable = element e[2]
    Cross,        ///< variable = exchange between lanes
  } kind = Assign;
  uint32_t variable = 0;
  uint32_t parameter = 0;
  uint32_t id = 0;       ///< names loop counters
  std::string text;      ///< atomics' operation, exchange's name
  std::string arguments; ///< exchange's constants
  std::vector<Expr> e;
  std::vector<Stmt> body, other;

  /// Has lanes meet: the host must run it statement by statement for all lanes.
  bool synchronous() const;
};

struct Program {
  uint64_t seed = 0;
  uint32_t threads = 64, groups = 1, argument = 0;
  uint32_t width = 64; ///< of a workgroup; a row is the whole of it, or workgroups are in a column
  std::vector<Type> variables;
  std::vector<uint32_t> start; ///< where each variable's initial values begin in the inputs
  bool usesPrivate = true;
  std::vector<Stmt> body;
};

Program generate(uint64_t seed, const Machine &machine = {});

/// One kernel's definition for each side.
std::string printDevice(const Program &program, const std::string &name);
std::string printHost(const Program &program, const std::string &name);
/// What precedes the kernels.
std::string printPrelude();
/// Which variables the program mentions: only those are declared and stored.
std::vector<bool> usedVariables(const Program &program);
/// Nodes and statements: what shrinking makes less.
uint32_t size(const Program &program);

} // namespace luthier::vgpu::differential
