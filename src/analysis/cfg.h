// Basic blocks of a function and how control goes between them.
//
// A block is a run of instructions that is entered at its first one only, as far as the code shows: it ends at a
// branch, a call, an end of the program, or before an instruction that something branches to. Blocks that nothing
// reaches are kept: they may be what an unresolved jump goes to, and every instruction belongs to exactly one block.
//
// A call ends its block and goes on to the next one when it returns. A call of a function that never returns, and a
// last instruction with nothing behind it, have no successor: compilers leave nothing behind a call that does not
// return, or behind a trap, not even an s_endpgm. Where control leaves the function (a return, a jump or fall into
// other code, the program's end, a jump to who knows where) the block says so in `exit`. After a jump
// with unknown targets anything may happen, so those who follow edges must take everything for possible there; blocks
// whose address the function itself forms are kept as possible targets of it (edges of kind Indirect).
#pragma once

#include "luthier/instr.h"
#include "support/result.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace luthier::analysis {

class ScalarValues;

enum class EdgeKind : uint8_t {
  Fallthrough = 1,
  Taken = 2,
  Both = 3,     ///< a conditional branch to the next instruction
  Indirect = 4, ///< a possible target of a jump that could not be resolved
};

struct Edge {
  uint32_t from = 0, to = 0; ///< blocks
  EdgeKind kind = EdgeKind::Fallthrough;
};

/// How control leaves the function at the end of a block, other than by a call that returns.
enum class Exit : uint8_t {
  None,
  End,      ///< s_endpgm
  Return,   ///< s_setpc_b64 to where the function was called from
  Tail,     ///< a branch, or s_setpc_b64 with a known address, to outside of the function: `exitTarget`
  FallsOut, ///< the last instruction goes on behind the function's end, at `exitTarget`
  RunsOut,  ///< nothing follows: a call that never returns, or the last instruction with no code behind it
  Unknown,  ///< s_setpc_b64 to an unknown address, s_rfe_b64, s_cbranch_*_fork
};
std::string_view toString(Exit exit);

enum class CallKind : uint8_t {
  None,
  Direct,   ///< to `callTarget`
  Indirect, ///< through a pointer that could not be resolved
};

struct Block {
  uint32_t first = 0; ///< index of the first instruction
  uint32_t count = 0; ///< instructions, at least one
  Exit exit = Exit::None;
  CallKind call = CallKind::None;
  bool reachable = false;    ///< from the entry, along edges
  bool addressTaken = false; ///< the function forms its address
  uint64_t exitTarget = 0;
  uint64_t callTarget = 0;

  // Ranges of the Cfg's tables.
  uint32_t successorBegin = 0, successorCount = 0;
  uint32_t predecessorBegin = 0, predecessorCount = 0;

  uint32_t last() const { return first + count - 1; }
};

class Cfg {
public:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// What decides about jumps through registers. Nothing is known of any without `values`.
  struct Context {
    bool kernel = true;                   ///< kernels have nowhere to return to
    const ScalarValues *values = nullptr; ///< of the same instructions
    /// Whether a call of the function at an address may come back; without it, all may.
    std::function<bool(uint64_t address)> mayReturn = {};
    /// Where control goes behind the last instruction, if that goes on; nothing: there is no code. Without it: to the
    /// address behind it.
    std::function<std::optional<uint64_t>(const Instr &last)> behind = {};
  };

  /// Blocks of `instrs`, which are in ascending order of address and without holes; the first is the entry. The
  /// instructions must outlive the Cfg.
  static Cfg build(std::span<const Instr> instrs, const Context &context);

  std::span<const Instr> instrs() const { return instrs_; }
  std::span<const Block> blocks() const { return blocks_; } ///< ascending by address; the entry is number 0
  std::span<const Edge> edges() const { return edges_; }    ///< ascending by `from`

  std::span<const Instr> instrs(const Block &block) const { return instrs_.subspan(block.first, block.count); }
  std::span<const Edge> successors(const Block &block) const {
    return std::span(edges_).subspan(block.successorBegin, block.successorCount);
  }
  /// Numbers of edges, which see edges().
  std::span<const uint32_t> predecessors(const Block &block) const {
    return std::span(predecessors_).subspan(block.predecessorBegin, block.predecessorCount);
  }
  const Instr &terminator(const Block &block) const { return instrs_[block.last()]; }
  uint64_t start(const Block &block) const { return instrs_[block.first].address(); }

  uint32_t number(const Block &block) const { return static_cast<uint32_t>(&block - blocks_.data()); }
  uint32_t indexOf(const Instr &instr) const { return static_cast<uint32_t>(&instr - instrs_.data()); }
  uint32_t blockOf(uint32_t instr) const; ///< of the instruction with that index
  uint32_t blockOf(const Instr &instr) const { return blockOf(indexOf(instr)); }
  /// The index of the instruction that starts at the address, or kNone.
  uint32_t find(uint64_t address) const;

  /// Blocks in an order where successors come first as far as loops permit; unreachable ones at the end.
  std::span<const uint32_t> postorder() const { return postorder_; }
  /// Whether control may ever go along an edge: not out of blocks that nothing reaches (padding before a loop), unless
  /// there is a jump that may go anywhere.
  bool mayBeTaken(const Edge &edge) const {
    return blocks_[edge.from].reachable || !blocks_[edge.to].reachable || unknownExit_;
  }

private:
  friend struct CfgPeer; // lets the tests of verify() break one
  void order();

  std::span<const Instr> instrs_;
  std::vector<Block> blocks_;
  std::vector<Edge> edges_;
  std::vector<uint32_t> predecessors_;
  std::vector<uint32_t> postorder_;
  bool unknownExit_ = false;
};

/// Checks every property that users of a Cfg rely on, against the instructions; the error names block and address.
Result<void> verify(const Cfg &cfg);

} // namespace luthier::analysis
