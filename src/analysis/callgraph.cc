#include "analysis/callgraph.h"

#include "analysis/liveness.h"

#include <algorithm>
#include <set>

namespace luthier::analysis {

std::string_view toString(CallEdge kind) {
  switch (kind) {
  case CallEdge::Call:
    return "call";
  case CallEdge::Tail:
    return "tail";
  case CallEdge::Indirect:
    return "indirect";
  }
  return "call";
}

namespace {

/// What the instructions of one function touch.
void scan(const Function &function, CallNode &node) {
  for (const Instr &instr : function.instrs()) {
    for (RegRange range : instr.reads())
      node.reads.insert(range);
    for (RegRange range : instr.writes())
      node.writes.insert(range);
    switch (instr.memorySpace()) {
    case MemorySpace::Scratch:
      node.usesScratch = true;
      break;
    case MemorySpace::Lds:
      node.usesLds |= instr.is(Property::Load) || instr.is(Property::Store);
      break;
    case MemorySpace::Buffer:
      // Before flat scratch instructions, the stack is a buffer whose resource is in s[0:3] by convention.
      if (const auto access = instr.memory(); access && access->saddr == RegRange{Reg::S0, 4})
        node.usesScratch = true;
      break;
    default:
      break;
    }
  }
}

} // namespace

Result<CallGraph> CallGraph::build(Program &program) {
  CallGraph graph;
  std::set<uint64_t> taken, loadedSlots;
  for (const object::Symbol *symbol : program.functions()) {
    CallNode node;
    node.symbol = symbol;
    node.function = LUTHIER_TRY(program.function(*symbol));
    scan(*node.function, node);
    taken.insert(node.function->addresses().begin(), node.function->addresses().end());
    loadedSlots.insert(node.function->slots().begin(), node.function->slots().end());
    graph.numbers_[symbol] = static_cast<uint32_t>(graph.nodes_.size());
    graph.nodes_.push_back(std::move(node));
  }
  // An entry of the GOT that is only ever called through is no taken address; any other relocated word is.
  for (const object::Relocation &relocation : program.object().relocations())
    if (!loadedSlots.contains(relocation.address))
      taken.insert(relocation.symbolAddress + static_cast<uint64_t>(relocation.addend));

  for (uint32_t n = 0; n < graph.nodes_.size(); ++n) {
    CallNode &node = graph.nodes_[n];
    node.addressTaken = node.symbol->kind == object::SymbolKind::DeviceFunction && taken.contains(node.symbol->address);
    if (node.addressTaken)
      graph.addressTaken_.push_back(n);
    const Cfg &cfg = node.function->cfg();
    const auto add = [&](CallEdge kind, const Instr &at, uint64_t target) {
      CallSite site{n, kNone, kind, at.address(), target};
      if (kind != CallEdge::Indirect)
        if (const object::Symbol *callee = program.startingAt(target))
          site.callee = graph.find(*callee);
      node.hasUnknown |= site.callee == kNone;
      const auto number = static_cast<uint32_t>(graph.sites_.size());
      graph.sites_.push_back(site);
      graph.nodes_[n].calls.push_back(number);
      if (site.callee != kNone)
        graph.nodes_[site.callee].calledFrom.push_back(number);
    };
    for (const Block &block : cfg.blocks()) {
      const Instr &last = cfg.terminator(block);
      if (block.call == CallKind::Direct)
        add(CallEdge::Call, last, block.callTarget);
      else if (block.call == CallKind::Indirect)
        add(CallEdge::Indirect, last, 0);
      if (block.exit == Exit::Tail || (block.exit == Exit::FallsOut && block.reachable))
        add(CallEdge::Tail, last, block.exitTarget);
      else if (block.exit == Exit::Unknown)
        add(CallEdge::Indirect, last, 0);
    }
  }
  graph.findComponents();
  graph.summarize();
  return graph;
}

uint32_t CallGraph::find(const object::Symbol &symbol) const {
  const auto found = numbers_.find(&symbol);
  return found == numbers_.end() ? kNone : found->second;
}

std::vector<uint32_t> CallGraph::successors(uint32_t n) const {
  std::vector<uint32_t> result;
  bool indirect = false;
  for (uint32_t number : nodes_[n].calls) {
    const CallSite &site = sites_[number];
    if (site.callee != kNone)
      result.push_back(site.callee);
    indirect |= site.kind == CallEdge::Indirect;
  }
  if (indirect)
    result.insert(result.end(), addressTaken_.begin(), addressTaken_.end());
  std::ranges::sort(result);
  result.erase(std::ranges::unique(result).begin(), result.end());
  return result;
}

std::vector<uint32_t> CallGraph::reachable(uint32_t root) const {
  std::vector<uint32_t> result = {root};
  std::vector<uint8_t> seen(nodes_.size());
  seen[root] = 1;
  for (size_t n = 0; n < result.size(); ++n)
    for (uint32_t next : successors(result[n]))
      if (!seen[next]) {
        seen[next] = 1;
        result.push_back(next);
      }
  return result;
}

void CallGraph::findComponents() {
  // Tarjan's algorithm with a stack of its own: components come out callees first.
  constexpr uint32_t kUnvisited = UINT32_MAX;
  struct Frame {
    uint32_t node;
    std::vector<uint32_t> next;
    size_t at = 0;
  };
  std::vector<uint32_t> index(nodes_.size(), kUnvisited), low(nodes_.size()), stack;
  std::vector<uint8_t> onStack(nodes_.size());
  uint32_t counter = 0, component = 0;
  for (uint32_t root = 0; root < nodes_.size(); ++root) {
    if (index[root] != kUnvisited)
      continue;
    std::vector<Frame> frames;
    const auto enter = [&](uint32_t n) {
      index[n] = low[n] = counter++;
      stack.push_back(n);
      onStack[n] = 1;
      frames.push_back({n, successors(n)});
    };
    enter(root);
    while (!frames.empty()) {
      Frame &frame = frames.back();
      const uint32_t n = frame.node;
      if (frame.at < frame.next.size()) {
        const uint32_t to = frame.next[frame.at++];
        if (index[to] == kUnvisited)
          enter(to);
        else if (onStack[to])
          low[n] = std::min(low[n], index[to]);
        continue;
      }
      const bool callsItself = std::ranges::binary_search(frame.next, n);
      frames.pop_back();
      if (!frames.empty())
        low[frames.back().node] = std::min(low[frames.back().node], low[n]);
      if (low[n] != index[n])
        continue;
      const bool cycle = stack.back() != n || callsItself;
      for (uint32_t member = kNone; member != n;) {
        member = stack.back();
        stack.pop_back();
        onStack[member] = 0;
        nodes_[member].component = component;
        nodes_[member].recursive = cycle;
      }
      ++component;
    }
  }
}

void CallGraph::summarize() {
  std::vector<uint32_t> order(nodes_.size());
  for (uint32_t n = 0; n < order.size(); ++n)
    order[n] = n;
  std::ranges::sort(order, {}, [&](uint32_t n) { return std::pair(nodes_[n].component, n); });
  // Members of a component reach each other: going round as often as it has members would do, twice does too, since
  // everything is a union and the first round collects it in one member.
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin;
    while (end < order.size() && nodes_[order[end]].component == nodes_[order[begin]].component)
      ++end;
    CallNode all;
    for (size_t k = begin; k < end; ++k) {
      const auto merge = [&](const CallNode &from) {
        all.reads |= from.reads;
        all.writes |= from.writes;
        all.reachesIndirect |= from.reachesIndirect;
        all.reachesUnknown |= from.reachesUnknown;
        all.usesScratch |= from.usesScratch;
        all.usesLds |= from.usesLds;
      };
      merge(nodes_[order[k]]);
      for (uint32_t number : nodes_[order[k]].calls) {
        all.reachesIndirect |= sites_[number].kind == CallEdge::Indirect;
        // A pointer may come from anywhere, also from another code object.
        all.reachesUnknown |= sites_[number].callee == kNone;
      }
      for (uint32_t callee : successors(order[k]))
        merge(nodes_[callee]);
    }
    if (all.reachesUnknown)
      all.reads = all.writes = LiveSets::everything().active;
    for (size_t k = begin; k < end; ++k) {
      CallNode &node = nodes_[order[k]];
      node.reads = all.reads;
      node.writes = all.writes;
      node.reachesIndirect = all.reachesIndirect;
      node.reachesUnknown = all.reachesUnknown;
      node.usesScratch = all.usesScratch;
      node.usesLds = all.usesLds;
    }
    begin = end;
  }
}

} // namespace luthier::analysis
