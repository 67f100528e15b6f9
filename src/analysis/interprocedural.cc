#include "analysis/interprocedural.h"

#include <algorithm>
#include <deque>

namespace luthier::analysis {

const Transfer *CallSummaries::at(uint64_t address) {
  const auto found = entries_.find(address);
  if (found != entries_.end()) {
    Entry &entry = found->second;
    if (entry.done)
      return &entry.transfer;
    if (entry.depth) {
      // A recursive call: what is known so far, and whoever started this entry will come round again.
      entry.asked = true;
      lowest_ = std::min(lowest_, entry.depth);
      return &entry.transfer;
    }
  }
  const object::Symbol *symbol = program_->startingAt(address);
  if (!symbol || depth_ == kMaxCallDepth)
    return nullptr;
  const auto function = program_->function(*symbol);
  if (!function)
    return nullptr;
  return compute(entries_[address], **function);
}

const Transfer *CallSummaries::compute(Entry &entry, const Function &function) {
  const unsigned outer = lowest_;
  entry.depth = ++depth_;
  unsigned lowest = UINT32_MAX;
  for (;;) {
    entry.asked = false;
    lowest_ = UINT32_MAX;
    const Transfer next = summarize(function.cfg(), context());
    lowest = lowest_;
    const bool changed = !(next == entry.transfer);
    entry.transfer = next;
    if (!changed || !entry.asked)
      break;
  }
  // Not final while it rests on an entry further out that is still being computed.
  entry.done = lowest >= entry.depth;
  entry.depth = 0;
  --depth_;
  lowest_ = std::min(outer, entry.done ? UINT32_MAX : lowest);
  return &entry.transfer;
}

const WaitState *CallWaits::at(uint64_t address) {
  if (const auto found = states_.find(address); found != states_.end())
    return found->second ? &*found->second : nullptr;
  const object::Symbol *symbol = program_->startingAt(address);
  if (!symbol || depth_ == kMaxCallDepth)
    return nullptr;
  states_[address]; // nothing yet: a recursive question gets null
  const auto function = program_->function(*symbol);
  if (!function)
    return nullptr;
  ++depth_;
  WaitState state = Waits::compute((*function)->cfg(), program_->object().target(), context(false)).atReturn();
  --depth_;
  return &states_[address].emplace(std::move(state));
}

Result<ProgramLiveness> ProgramLiveness::compute(Program &program, const CallGraph &graph, const object::Symbol &root) {
  const uint32_t node = graph.find(root);
  if (node == CallGraph::kNone)
    return makeError("{}: no function {}", program.object().origin(), root.name);
  return compute(program, graph, graph.reachable(node), node);
}

Result<ProgramLiveness> ProgramLiveness::compute(Program &program, const CallGraph &graph) {
  std::vector<uint32_t> nodes(graph.nodes().size());
  for (uint32_t n = 0; n < nodes.size(); ++n)
    nodes[n] = n;
  return compute(program, graph, nodes, CallGraph::kNone);
}

Result<ProgramLiveness> ProgramLiveness::compute(Program &program, const CallGraph &graph,
                                                 const std::vector<uint32_t> &nodes, uint32_t root) {
  ProgramLiveness result;
  result.summaries_ = std::make_unique<CallSummaries>(program);

  // What is live where each function returns to: grows until nothing changes.
  std::map<uint32_t, LiveSets> atReturn;
  std::map<uint64_t, uint32_t> byAddress;
  std::deque<uint32_t> work;
  std::set<uint32_t> queued;
  for (uint32_t n : nodes) {
    const CallNode &node = graph.nodes()[n];
    // Pointers may be called from code that is not seen. A function that nothing calls, or that is
    // the root, is looked at for itself.
    const bool unknownCallers = node.addressTaken || node.calledFrom.empty() || n == root;
    atReturn[n] = unknownCallers ? LiveSets::everything() : LiveSets();
    work.push_back(n);
    queued.insert(n);
  }
  const auto flow = [&](uint64_t target, const LiveSets &live) {
    const object::Symbol *symbol = program.startingAt(target);
    if (!symbol)
      return;
    const uint32_t callee = graph.find(*symbol);
    const auto at = atReturn.find(callee);
    if (at == atReturn.end())
      return;
    LiveSets merged = at->second;
    merged |= live;
    if (merged == at->second)
      return;
    at->second = merged;
    if (queued.insert(callee).second)
      work.push_back(callee);
  };
  while (!work.empty()) {
    const uint32_t n = work.front();
    work.pop_front();
    queued.erase(n);
    const CallNode &node = graph.nodes()[n];
    LivenessContext context = result.summaries_->context();
    context.atReturn = atReturn[n];
    const Cfg &cfg = node.function->cfg();
    Liveness liveness = Liveness::compute(cfg, context);
    for (uint32_t b = 0; b < cfg.blocks().size(); ++b) {
      const Block &block = cfg.blocks()[b];
      if (block.call == CallKind::Direct)
        flow(block.callTarget, liveness.atEnd(b));
      if (block.exit == Exit::Tail || block.exit == Exit::FallsOut)
        flow(block.exitTarget, atReturn[n]);
    }
    result.liveness_.insert_or_assign(node.symbol, std::move(liveness));
  }
  return result;
}

const Liveness *ProgramLiveness::of(const object::Symbol &symbol) const {
  const auto found = liveness_.find(&symbol);
  return found == liveness_.end() ? nullptr : &found->second;
}

} // namespace luthier::analysis
