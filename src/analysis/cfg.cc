#include "analysis/cfg.h"

#include "analysis/scalar_values.h"

#include <algorithm>

namespace luthier::analysis {

std::string_view toString(Exit exit) {
  switch (exit) {
  case Exit::None:
    return "none";
  case Exit::End:
    return "end";
  case Exit::Return:
    return "return";
  case Exit::Tail:
    return "tail";
  case Exit::FallsOut:
    return "falls out";
  case Exit::RunsOut:
    return "runs out";
  case Exit::Unknown:
    return "unknown";
  }
  return "unknown";
}

namespace {

/// What the last instruction of a block says about where control goes.
struct Flow {
  bool ends = false; ///< a block ends here
  bool fallsThrough = true;
  std::optional<uint64_t> taken = {};
  Exit exit = Exit::None;
  CallKind call = CallKind::None;
  uint64_t callTarget = 0;
};

Flow flowOf(const Instr &instr, uint32_t index, const Cfg::Context &context) {
  using Kind = ScalarValues::Kind;
  if (!instr.is(Property::Terminator) && !instr.is(Property::Branch) && !instr.is(Property::Call))
    return {};
  Flow flow;
  flow.ends = true;
  if (instr.is(Property::EndProgram)) {
    flow.fallsThrough = false;
    flow.exit = Exit::End;
  } else if (instr.is(Property::Call)) {
    if (const auto target = instr.target()) {
      flow.call = CallKind::Direct;
      flow.callTarget = *target;
    } else {
      const auto known = context.values ? context.values->target(index) : ScalarValues::Target();
      flow.call = known.kind == Kind::Address ? CallKind::Direct : CallKind::Indirect;
      flow.callTarget = known.address;
    }
    if (flow.call == CallKind::Direct && context.mayReturn && !context.mayReturn(flow.callTarget)) {
      flow.fallsThrough = false;
      flow.exit = Exit::RunsOut;
    }
  } else if (instr.is(Property::IndirectBranch)) {
    flow.fallsThrough = instr.is(Property::Conditional); // s_cbranch_g_fork, s_cbranch_join
    const auto known = context.values ? context.values->target(index) : ScalarValues::Target();
    if (known.kind == Kind::Address)
      flow.taken = known.address;
    else
      flow.exit = known.kind == Kind::ReturnAddress && !context.kernel ? Exit::Return : Exit::Unknown;
  } else if (instr.is(Property::Branch)) {
    flow.taken = instr.target();
    flow.fallsThrough = instr.is(Property::Conditional);
    if (!flow.taken)
      flow.exit = Exit::Unknown;
  } else {
    flow.fallsThrough = false;
    flow.exit = Exit::Unknown;
  }
  return flow;
}

constexpr size_t kMaxIndirectEdges = 1 << 16;

uint32_t findInstr(std::span<const Instr> instrs, uint64_t address) {
  const auto found = std::ranges::lower_bound(instrs, address, {}, [](const Instr &i) { return i.address(); });
  return found != instrs.end() && found->address() == address ? static_cast<uint32_t>(found - instrs.begin())
                                                              : Cfg::kNone;
}

} // namespace

uint32_t Cfg::find(uint64_t address) const { return findInstr(instrs_, address); }

uint32_t Cfg::blockOf(uint32_t instr) const {
  const auto found = std::ranges::upper_bound(blocks_, instr, {}, &Block::first);
  return static_cast<uint32_t>(found - blocks_.begin()) - 1;
}

Cfg Cfg::build(std::span<const Instr> instrs, const Context &context) {
  Cfg cfg;
  cfg.instrs_ = instrs;
  if (instrs.empty())
    return cfg;

  enum : uint8_t { kLeader = 1, kTaken = 2 };
  std::vector<uint8_t> marks(instrs.size());
  struct End {
    uint32_t instr;
    Flow flow;
  };
  std::vector<End> ends;
  marks[0] = kLeader;
  bool unknown = false;
  for (uint32_t n = 0; n < instrs.size(); ++n) {
    Flow flow = flowOf(instrs[n], n, context);
    if (!flow.ends)
      continue;
    if (n + 1 < instrs.size())
      marks[n + 1] |= kLeader;
    if (flow.taken)
      if (const uint32_t target = findInstr(instrs, *flow.taken); target != kNone)
        marks[target] |= kLeader;
    unknown |= flow.exit == Exit::Unknown;
    ends.push_back({n, flow});
  }
  if (context.values)
    for (uint64_t address : context.values->taken())
      if (const uint32_t target = findInstr(instrs, address); target != kNone && unknown)
        marks[target] |= kLeader | kTaken;

  size_t leaders = 0;
  for (uint8_t mark : marks)
    leaders += mark & kLeader;
  cfg.blocks_.reserve(leaders);
  for (uint32_t n = 0; n < instrs.size(); ++n) {
    if (marks[n] & kLeader) {
      Block &block = cfg.blocks_.emplace_back();
      block.first = n;
      block.addressTaken = marks[n] & kTaken;
    }
    ++cfg.blocks_.back().count;
  }

  std::vector<uint32_t> taken;
  for (uint32_t n = 0; n < cfg.blocks_.size(); ++n)
    if (cfg.blocks_[n].addressTaken)
      taken.push_back(n);
  // Every jump to every address makes more edges than memory has room for, if a file is made for that. Without them
  // the blocks are still marked, and nothing that is said of such functions depends on the edges.
  const auto jumps =
      static_cast<size_t>(std::ranges::count_if(ends, [](const End &end) { return end.flow.exit == Exit::Unknown; }));
  if (jumps * taken.size() > kMaxIndirectEdges)
    taken.clear();

  cfg.edges_.reserve(cfg.blocks_.size() * 2);
  size_t nextEnd = 0;
  for (uint32_t n = 0; n < cfg.blocks_.size(); ++n) {
    Block &block = cfg.blocks_[n];
    Flow flow;
    if (nextEnd < ends.size() && ends[nextEnd].instr == block.last())
      flow = ends[nextEnd++].flow;
    block.exit = flow.exit;
    block.call = flow.call;
    block.callTarget = flow.callTarget;
    block.successorBegin = static_cast<uint32_t>(cfg.edges_.size());
    uint32_t takenBlock = kNone;
    if (flow.taken) {
      const uint32_t target = findInstr(instrs, *flow.taken);
      if (target == kNone) {
        block.exit = Exit::Tail;
        block.exitTarget = *flow.taken;
      } else
        takenBlock = cfg.blockOf(target);
    }
    if (flow.fallsThrough) {
      if (n + 1 < cfg.blocks_.size()) {
        const bool both = takenBlock == n + 1;
        cfg.edges_.push_back({n, n + 1, both ? EdgeKind::Both : EdgeKind::Fallthrough});
        if (both)
          takenBlock = kNone;
      } else if (const auto behind = context.behind ? context.behind(instrs.back()) : instrs.back().end(); !behind) {
        if (block.exit == Exit::None)
          block.exit = Exit::RunsOut;
      } else if (block.exit == Exit::None) {
        block.exit = Exit::FallsOut;
        block.exitTarget = *behind;
      } else {
        // A conditional jump out at the very end: two ways out, and one place to say it.
        block.exit = Exit::Unknown;
        unknown = true;
      }
    }
    if (takenBlock != kNone)
      cfg.edges_.push_back({n, takenBlock, EdgeKind::Taken});
    if (flow.exit == Exit::Unknown)
      for (uint32_t target : taken)
        cfg.edges_.push_back({n, target, EdgeKind::Indirect});
    block.successorCount = static_cast<uint32_t>(cfg.edges_.size()) - block.successorBegin;
  }
  cfg.unknownExit_ = unknown;

  for (const Edge &edge : cfg.edges_)
    ++cfg.blocks_[edge.to].predecessorCount;
  uint32_t begin = 0;
  for (Block &block : cfg.blocks_) {
    block.predecessorBegin = begin;
    begin += block.predecessorCount;
    block.predecessorCount = 0;
  }
  cfg.predecessors_.resize(cfg.edges_.size());
  for (uint32_t n = 0; n < cfg.edges_.size(); ++n) {
    Block &block = cfg.blocks_[cfg.edges_[n].to];
    cfg.predecessors_[block.predecessorBegin + block.predecessorCount++] = n;
  }
  cfg.order();
  return cfg;
}

void Cfg::order() {
  // Depth first without recursion: functions may have tens of thousands of blocks.
  struct Visit {
    uint32_t block, next;
  };
  std::vector<uint8_t> seen(blocks_.size());
  std::vector<Visit> stack;
  postorder_.reserve(blocks_.size());
  const auto from = [&](uint32_t root) {
    if (seen[root])
      return;
    seen[root] = 1;
    stack.push_back({root, 0});
    while (!stack.empty()) {
      const uint32_t n = stack.back().block;
      const Block &block = blocks_[n];
      if (stack.back().next == block.successorCount) {
        postorder_.push_back(n);
        stack.pop_back();
        continue;
      }
      const uint32_t to = edges_[block.successorBegin + stack.back().next++].to;
      if (!seen[to]) {
        seen[to] = 1;
        stack.push_back({to, 0});
      }
    }
  };
  from(0);
  for (uint32_t n : postorder_)
    blocks_[n].reachable = true;
  for (uint32_t n = 0; n < blocks_.size(); ++n)
    from(n);
}

Result<void> verify(const Cfg &cfg) {
  const auto instrs = cfg.instrs();
  const auto blocks = cfg.blocks();
  const auto edges = cfg.edges();
  if (instrs.empty())
    return blocks.empty() ? Result<void>() : makeError("blocks without instructions");

  for (size_t n = 1; n < instrs.size(); ++n)
    if (instrs[n].address() != instrs[n - 1].end())
      return makeError("instruction at {:#x} does not follow the one at {:#x}", instrs[n].address(),
                       instrs[n - 1].address());

  uint32_t next = 0;
  size_t nextEdge = 0;
  for (uint32_t n = 0; n < blocks.size(); ++n) {
    const Block &block = blocks[n];
    if (block.first != next || block.count == 0)
      return makeError("block {} does not start where the one before ends", n);
    next += block.count;
    if (next > instrs.size())
      return makeError("block {} goes beyond the function", n);
    const auto at = [&](std::string_view what) {
      return makeError("block {} at {:#x}: {}", n, cfg.start(block), what);
    };
    for (uint32_t k = block.first; k <= block.last(); ++k) {
      if (cfg.blockOf(k) != n)
        return at("does not own its instructions");
      const Instr &instr = instrs[k];
      if (k != block.last() &&
          (instr.is(Property::Terminator) || instr.is(Property::Branch) || instr.is(Property::Call)))
        return at("goes on behind a branch");
    }

    // Edges, against the last instruction.
    const Instr &last = cfg.terminator(block);
    if (block.successorBegin != nextEdge || nextEdge + block.successorCount > edges.size())
      return at("its successors are not in their place");
    nextEdge += block.successorCount;
    unsigned fallthrough = 0, taken = 0;
    for (const Edge &edge : cfg.successors(block)) {
      if (edge.from != n || edge.to >= blocks.size())
        return at("an edge has wrong ends");
      const auto preds = cfg.predecessors(blocks[edge.to]);
      const auto own = static_cast<uint32_t>(&edge - edges.data());
      if (std::ranges::count(preds, own) != 1)
        return at("an edge is unknown at its other end");
      const auto kind = static_cast<uint8_t>(edge.kind);
      if (kind & static_cast<uint8_t>(EdgeKind::Fallthrough)) {
        ++fallthrough;
        if (edge.to != n + 1)
          return at("falls through to a block that does not follow");
      }
      if (kind & static_cast<uint8_t>(EdgeKind::Taken)) {
        ++taken;
        if (last.is(Property::Branch) && last.target() != cfg.start(blocks[edge.to]))
          return at("the edge does not go where the branch does");
        if (!last.is(Property::Branch) && !last.is(Property::IndirectBranch))
          return at("a taken edge without a branch");
      }
      if (edge.kind == EdgeKind::Indirect && (!blocks[edge.to].addressTaken || block.exit != Exit::Unknown))
        return at("an indirect edge for no reason");
    }
    if (fallthrough > 1 || taken > 1)
      return at("has an edge twice");

    const bool conditional = last.is(Property::Conditional);
    const bool stops = last.is(Property::EndProgram) ||
                       ((last.is(Property::Branch) || last.is(Property::IndirectBranch)) && !conditional);
    const bool runsOut = block.exit == Exit::RunsOut;
    const bool goesOn =
        !stops && !runsOut && (conditional || last.is(Property::Call) || !last.is(Property::Terminator));
    if (stops && fallthrough)
      return at("falls through behind an unconditional branch");
    if (runsOut && (stops || fallthrough || (!last.is(Property::Call) && n + 1 != blocks.size())))
      return at("runs out where code follows");
    if (goesOn && !fallthrough && block.exit != Exit::FallsOut && block.exit != Exit::Unknown)
      return at("has no way on to the next block");
    if (goesOn && !fallthrough && n + 1 != blocks.size())
      return at("leaves the function before its end");
    if (last.is(Property::Branch) && !taken && block.exit != Exit::Tail && block.exit != Exit::Unknown)
      return at("a branch without a target");
    if (last.is(Property::Branch) && block.exit == Exit::Tail && cfg.find(block.exitTarget) != Cfg::kNone)
      return at("leaves the function to a place within it");
    if (last.is(Property::EndProgram) != (block.exit == Exit::End))
      return at("an end of the program that is none");
    if (block.exit == Exit::Return && !last.is(Property::IndirectBranch))
      return at("returns without s_setpc_b64");
    if (last.is(Property::Call) != (block.call != CallKind::None))
      return at("a call that is none");
    if (block.predecessorCount == 0 && n != 0 && block.reachable)
      return at("is reached from nowhere");
  }
  if (next != instrs.size())
    return makeError("{} instructions belong to no block", instrs.size() - next);
  if (nextEdge != edges.size())
    return makeError("{} edges belong to no block", edges.size() - nextEdge);
  size_t incoming = 0;
  for (uint32_t n = 0; n < blocks.size(); ++n)
    for (uint32_t edge : cfg.predecessors(blocks[n])) {
      ++incoming;
      if (edge >= edges.size() || edges[edge].to != n)
        return makeError("block {}: a predecessor that is none", n);
    }
  if (incoming != edges.size())
    return makeError("{} edges arrive, {} leave", incoming, edges.size());
  std::vector<uint32_t> order(cfg.postorder().begin(), cfg.postorder().end());
  std::ranges::sort(order);
  for (uint32_t n = 0; n < blocks.size(); ++n)
    if (order.size() != blocks.size() || order[n] != n)
      return makeError("the postorder leaves out block {}", n);
  return {};
}

} // namespace luthier::analysis
