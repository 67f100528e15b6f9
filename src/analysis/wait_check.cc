#include "analysis/wait_check.h"

#include "analysis/block_flow.h"
#include "analysis/exec_masks.h"
#include "analysis/in_flight.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace luthier::analysis {

namespace {

using namespace flight;

class Checker {
public:
  Checker(const isa::Target &target, std::span<const CheckedFunction> functions) : target_(target) {
    nodes_.reserve(functions.size());
    for (uint32_t n = 0; n < functions.size(); ++n) {
      nodes_.emplace_back(functions[n]);
      const Cfg &cfg = *functions[n].cfg;
      if (cfg.instrs().empty())
        continue;
      byAddress_.try_emplace(cfg.instrs().front().address(), n);
      for (const Instr &instr : cfg.instrs())
        if (instr.is(Property::Load) && instr.writes().empty())
          if (const auto memory = instr.memory(); memory && memory->toLds)
            ldsLoads_.try_emplace(&instr, static_cast<uint16_t>(kFirstLdsLoad + ldsLoads_.size()));
    }
  }

  WaitReport run() {
    for (uint32_t n = 0; n < nodes_.size(); ++n) {
      if (nodes_[n].function.cfg->instrs().empty())
        continue;
      if (nodes_[n].function.kernel)
        enter(n, {});
      else if (nodes_[n].function.unknownCallers)
        enter(n, InFlight::unknown(target_));
    }
    while (!work_.empty()) {
      const uint32_t n = *work_.begin();
      work_.erase(work_.begin());
      flow(n);
    }
    for (uint32_t n = 0; n < nodes_.size(); ++n)
      collect(n);
    finish();
    return std::move(report_);
  }

private:
  struct Node {
    explicit Node(const CheckedFunction &checked) : function(checked), flow(*checked.cfg) {}
    CheckedFunction function;
    InFlight entry;
    bool entered = false;
    BlockFlow<InFlight> flow;
    InFlight returned;
    bool returns = false;
    std::set<std::pair<uint32_t, uint32_t>> callers; ///< functions and blocks that go on when it returns
  };

  void enter(uint32_t n, const InFlight &state) {
    Node &node = nodes_[n];
    if (node.entered && !node.entry.merge(state))
      return;
    if (!node.entered)
      node.entry = state;
    node.entered = true;
    // A loop may come back to the first block; what it brings is merged there.
    if (node.flow.enter(0, state))
      work_.insert(n);
    // What comes back depends on what came in.
    for (const auto &[caller, block] : node.callers)
      if (nodes_[caller].flow.reached(block)) {
        nodes_[caller].flow.lookAgain(block);
        work_.insert(caller);
      }
  }

  const uint32_t *functionAt(uint64_t address) const {
    const auto found = byAddress_.find(address);
    return found == byAddress_.end() ? nullptr : &found->second;
  }

  /// Runs a function's blocks until nothing in it changes.
  void flow(uint32_t n) {
    Node &node = nodes_[n];
    const Cfg &cfg = *node.function.cfg;
    node.flow.run([&](uint32_t number, InFlight state) {
      const Block &block = cfg.blocks()[number];
      for (const Instr &instr : cfg.instrs(block))
        step(state, instr, [](const Touch &) {});
      if (leave(n, number, state))
        for (const Edge &edge : cfg.successors(block))
          node.flow.enter(edge.to, state);
    });
  }

  /// What happens at a block's end, beyond its successors; false: nothing goes on to them, as far as is known yet.
  bool leave(uint32_t n, uint32_t number, InFlight &state) {
    Node &node = nodes_[n];
    const Block &block = node.function.cfg->blocks()[number];
    const auto returnTo = [&](uint32_t callee) -> const Node & {
      nodes_[callee].callers.insert({n, number});
      enter(callee, state);
      return nodes_[callee];
    };
    if (block.call == CallKind::Direct) {
      if (const uint32_t *callee = functionAt(block.callTarget)) {
        const Node &called = returnTo(*callee);
        if (!called.returns)
          return false;
        state = InFlight::behindCall(called.returned, called.entry, state);
        return true;
      }
    }
    if (block.call != CallKind::None)
      state.waitForAll(); // LLVM's convention
    if (block.exit == Exit::Tail || block.exit == Exit::FallsOut) {
      const uint32_t *callee = functionAt(block.exitTarget);
      if (!callee) {
        returnWith(n, {}); // LLVM's convention
        return true;
      }
      const Node &called = returnTo(*callee);
      if (called.returns)
        returnWith(n, InFlight::behindCall(called.returned, called.entry, state));
    } else if (block.exit == Exit::Return || (block.exit == Exit::Unknown && !node.function.kernel))
      returnWith(n, state); // which a jump to an unknown place most likely is
    return true;
  }

  void returnWith(uint32_t n, const InFlight &state) {
    Node &node = nodes_[n];
    const bool changed = !node.returns || node.returned.merge(state);
    if (!node.returns)
      node.returned = state;
    node.returns = true;
    if (!changed)
      return;
    for (const auto &[caller, block] : node.callers) {
      nodes_[caller].flow.lookAgain(block);
      work_.insert(caller);
    }
  }

  /// Something that an instruction must not do yet.
  struct Touch {
    WaitFinding::Kind kind;
    Entry entry; ///< without an operation: of an unknown caller
  };

  /// Registers of an instruction of which it is known that it reads or writes them.
  template <class Visit> void forEachUse(const Instr &instr, Visit &&visit) const {
    if (instr.is(Property::Indexed))
      return; // which ones they are depends on M0
    RegRange merged = {}, address = {};
    if (instr.is(Property::PartialWrite) && instr.is(Property::Load) && !instr.is(Property::Atomic)) {
      // A half that stays is not read: it comes together in the register.
      if (const auto memory = instr.memory(); memory && memory->result != memory->vaddr)
        merged = memory->result;
    }
    if (instr.memorySpace() == MemorySpace::Image && target_.imageAddressByResource)
      if (const auto memory = instr.memory())
        address = memory->vaddr; // the resource says how many of these there are
    for (const RegRange range : instr.reads())
      if (isAwaited(range.first) && range != merged && range != address)
        visit(range, false);
    for (const RegRange range : instr.writes())
      if (isAwaited(range.first))
        visit(range, true);
  }

  template <class Report> void step(InFlight &state, const Instr &instr, Report &&report) const {
    if (instr.is(Property::Wait)) {
      const WaitLimits limits = waitLimitsOf(instr, target_);
      for (unsigned n = 0; n < kCounters; ++n)
        if (limits.left[n] != WaitLimits::kAny)
          state.wait(static_cast<Counter>(n), limits.unknown ? 0 : limits.left[n]);
      return;
    }
    const WaitEvents events = waitEventsOf(instr, target_);
    if (!state.empty())
      check(state, instr, events, report);
    for (const WaitEvent &event : events) {
      state.issue(event, target_);
      if (event.results)
        for (const RegRange range : instr.writes())
          addAll(state, instr, event, range, false);
      if (event.sources && event.kind != EventKind::Scalar)
        for (const RegRange range : instr.reads())
          addAll(state, instr, event, range, true);
    }
    if (!ldsLoads_.empty() && !events.empty())
      if (const auto load = ldsLoads_.find(&instr); load != ldsLoads_.end())
        state.add({load->second, events.begin()->counter, 0, events.begin()->kind, false, kBothHalves, &instr});
  }

  static void addAll(InFlight &state, const Instr &instr, const WaitEvent &event, RegRange range, bool late) {
    if (!isAwaited(range.first))
      return;
    const uint8_t halves = late ? kBothHalves : loadedHalves(instr);
    for (unsigned n = 0; n < range.count; ++n)
      state.add({static_cast<uint16_t>(number(range.first) + n), event.counter, 0, event.kind, late, halves, &instr});
  }

  /// Reports what the instruction touches too early, and takes it for done then: one report per path is enough.
  template <class Report>
  void check(InFlight &state, const Instr &instr, const WaitEvents &events, Report &&report) const {
    std::vector<std::pair<uint16_t, Counter>> touched;
    bool uses = false;
    forEachUse(instr, [&](RegRange range, bool write) {
      uses = true;
      state.forEach(range, [&](const Entry &entry) {
        if (entry.late && !write)
          return;
        if (entry.halves != kBothHalves &&
            ((write && (loadedHalves(instr) & entry.halves) == 0) || mayUseOneHalf(instr)))
          return; // the other half, or perhaps the other half
        if (write && !entry.late)
          for (const WaitEvent &event : events)
            if (event.results && event.counter == entry.counter && writesInOrder(entry.kind, event.kind, target_))
              return;
        // Interpolation waits for EXP_CNT itself.
        const bool waits = entry.kind == EventKind::LdsDirect && instr.mnemonic().starts_with("v_interp");
        if (std::ranges::find(touched, entry.key()) != touched.end())
          return;
        touched.push_back(entry.key());
        if (!waits)
          report(Touch{entry.late ? WaitFinding::Kind::LateSource
                       : write    ? WaitFinding::Kind::Overwritten
                                  : WaitFinding::Kind::Read,
                       entry});
      });
    });
    if (state.fromCaller() && uses) {
      for (unsigned n = 0; n < kCounters; ++n)
        if (state.fromCaller() & setOf(static_cast<Counter>(n)))
          report(Touch{WaitFinding::Kind::Read, {.counter = static_cast<Counter>(n)}});
      state.forgetCaller();
    }
    if (!ldsLoads_.empty() && instr.memorySpace() == MemorySpace::Lds && instr.is(Property::Load))
      state.forEach({static_cast<Reg>(kFirstLdsLoad), static_cast<uint16_t>(ldsLoads_.size())},
                    [&](const Entry &entry) { report(Touch{WaitFinding::Kind::Lds, entry}); });
    if (!touched.empty())
      state.erase([&](const Entry &entry) { return std::ranges::find(touched, entry.key()) != touched.end(); });
  }

  uint32_t functionOf(const Instr &instr) const {
    for (uint32_t n = 0; n < nodes_.size(); ++n) {
      const auto instrs = nodes_[n].function.cfg->instrs();
      if (!instrs.empty() && &instr >= instrs.data() && &instr < instrs.data() + instrs.size())
        return n;
    }
    return 0;
  }

  WaitFinding &findingFor(uint32_t n, const Instr &instr, WaitFinding::Kind kind, const Instr *earlier) {
    for (WaitFinding &finding : report_.findings)
      if (finding.function == n && finding.instr == &instr && finding.kind == kind && finding.earlier == earlier)
        return finding;
    WaitFinding &finding = report_.findings.emplace_back();
    finding.kind = kind;
    finding.function = n;
    finding.instr = &instr;
    finding.earlier = earlier;
    if (earlier)
      finding.earlierFunction = functionOf(*earlier);
    return finding;
  }

  static void addNeed(WaitFinding &finding, const InFlight &state, Counter counter, unsigned behind) {
    const bool unordered = state.unordered(counter);
    const auto most = static_cast<uint8_t>(unordered ? 0 : behind);
    for (WaitFinding::Need &need : finding.needs)
      if (need.counter == counter) {
        need.most = std::min(need.most, most);
        return;
      }
    finding.needs.push_back({counter, most, unordered});
  }

  static void addReg(WaitFinding &finding, uint16_t reg) {
    for (RegRange &range : finding.regs) {
      if (range.contains(static_cast<Reg>(reg)))
        return;
      if (number(range.first) + range.count == reg && isScalar(range.first) == isScalar(static_cast<Reg>(reg)) &&
          isAccumulator(range.first) == isAccumulator(static_cast<Reg>(reg))) {
        ++range.count;
        return;
      }
    }
    finding.regs.push_back({static_cast<Reg>(reg), 1});
  }

  void collect(uint32_t n) {
    Node &node = nodes_[n];
    const Cfg &cfg = *node.function.cfg;
    if (!node.entered && !cfg.instrs().empty())
      report_.gaps.push_back({n, &cfg.instrs().front(), "no path leads to it"});
    for (uint32_t number = 0; number < cfg.blocks().size(); ++number) {
      const Block &block = cfg.blocks()[number];
      if (!node.flow.reached(number))
        continue;
      InFlight state = node.flow.start(number);
      for (const Instr &instr : cfg.instrs(block)) {
        step(state, instr, [&](const Touch &touch) { // before the state changes
          if (touch.kind == WaitFinding::Kind::Lds) {
            noteLdsRead(n, instr, touch.entry, state);
            return;
          }
          WaitFinding &finding = findingFor(n, instr, touch.kind, touch.entry.op);
          addNeed(finding, state, touch.entry.counter, touch.entry.behind);
          if (touch.entry.op)
            addReg(finding, touch.entry.reg);
        });
      }
      if (block.exit == Exit::Return && node.function.unknownCallers)
        for (const Entry &entry : state.entries())
          if (entry.reg < kFirstLdsLoad && !entry.late) {
            WaitFinding &finding = findingFor(n, cfg.terminator(block), WaitFinding::Kind::Returned, entry.op);
            addNeed(finding, state, entry.counter, entry.behind);
            addReg(finding, entry.reg);
          }
      collectGaps(n, block);
    }
  }

  void collectGaps(uint32_t n, const Block &block) {
    const Cfg &cfg = *nodes_[n].function.cfg;
    const auto gap = [&](std::string why) { report_.gaps.push_back({n, &cfg.terminator(block), std::move(why)}); };
    for (const Instr &instr : cfg.instrs(block))
      if (instr.is(Property::Indexed))
        report_.gaps.push_back({n, &instr, "registers that depend on M0 are not checked"});
      else if (instr.is(Property::SkipMode))
        report_.gaps.push_back({n, &instr, "instructions may be skipped behind it"});
      else if (instr.is(Property::Wait) && waitLimitsOf(instr, target_).unknown)
        report_.gaps.push_back({n, &instr, "waits for a number in a register, which is taken for 0"});
    if (block.call == CallKind::Direct && !functionAt(block.callTarget))
      gap("calls code that is in no function");
    if ((block.exit == Exit::Tail || block.exit == Exit::FallsOut) && !functionAt(block.exitTarget))
      gap("goes on in code that is in no function");
    if (block.exit == Exit::Unknown)
      gap("goes to an unknown place");
  }

  struct LdsUse {
    uint32_t function = 0;
    const Instr *early = nullptr; ///< the first read with the load in flight
    WaitFinding::Need need;
    bool landed = false; ///< there is a read behind a wait
  };

  void noteLdsRead(uint32_t n, const Instr &instr, const Entry &entry, const InFlight &state) {
    LdsUse &use = ldsUses_[entry.op];
    if (entry.counter == kLanded) {
      use.landed = true;
      return;
    }
    if (use.early && use.early->address() <= instr.address())
      return;
    const bool unordered = state.unordered(entry.counter);
    use.function = n;
    use.early = &instr;
    use.need = {entry.counter, static_cast<uint8_t>(unordered ? 0 : entry.behind), unordered};
  }

  /// The last wait for one of the counters on the shortest way back from the instruction to the operation.
  const Instr *lastWait(const WaitFinding &finding) const {
    if (!finding.earlier || finding.earlierFunction != finding.function)
      return nullptr;
    const Cfg &cfg = *nodes_[finding.function].function.cfg;
    std::vector<uint8_t> seen(cfg.blocks().size());
    struct Place {
      uint32_t block, end;
    };
    std::vector<Place> places = {{cfg.blockOf(*finding.instr), cfg.indexOf(*finding.instr)}};
    for (size_t at = 0; at < places.size(); ++at) {
      const auto [number, end] = places[at];
      const Block &block = cfg.blocks()[number];
      bool reached = false;
      for (uint32_t k = end; k > block.first && !reached;) {
        const Instr &instr = cfg.instrs()[--k];
        reached = &instr == finding.earlier;
        if (!instr.is(Property::Wait))
          continue;
        const WaitLimits limits = waitLimitsOf(instr, target_);
        for (const WaitFinding::Need &need : finding.needs)
          if (limits.of(need.counter) < largestCount(need.counter, target_))
            return &instr;
      }
      if (reached)
        return nullptr;
      for (const uint32_t number2 : cfg.predecessors(block)) {
        const uint32_t from = cfg.edges()[number2].from;
        if (seen[from])
          continue;
        seen[from] = 1;
        places.push_back({from, cfg.blocks()[from].first + cfg.blocks()[from].count});
      }
    }
    return nullptr;
  }

  void finish() {
    for (const auto &[load, use] : ldsUses_)
      if (use.early && !use.landed) {
        WaitFinding &finding = findingFor(use.function, *use.early, WaitFinding::Kind::Lds, load);
        finding.needs.push_back(use.need);
      }
    std::map<uint32_t, ExecMasks> masks;
    std::erase_if(report_.findings, [&](WaitFinding &finding) {
      finding.wait = lastWait(finding);
      const bool vectors = std::ranges::all_of(finding.regs, [](RegRange r) { return !isScalar(r.first); });
      if (!finding.earlier || finding.regs.empty() || !vectors || finding.earlierFunction != finding.function ||
          finding.kind == WaitFinding::Kind::Returned || ignoresExec(*finding.instr) || ignoresExec(*finding.earlier))
        return false;
      const Cfg &cfg = *nodes_[finding.function].function.cfg;
      auto at = masks.find(finding.function);
      if (at == masks.end())
        at = masks.emplace(finding.function, ExecMasks::compute(cfg)).first;
      finding.lanesMayDiffer = !at->second.same(*finding.earlier, *finding.instr);
      return finding.earlier->address() < finding.instr->address() &&
             at->second.disjoint(*finding.earlier, *finding.instr);
    });
    std::ranges::sort(report_.findings, {}, [](const WaitFinding &f) {
      return std::tuple(f.function, f.instr->address(), f.earlier ? f.earlier->address() : 0);
    });
  }

  static bool ignoresExec(const Instr &instr) {
    return instr.is(Property::IgnoresExec) || instr.is(Property::CrossLane);
  }

  const isa::Target &target_;
  std::vector<Node> nodes_;
  std::map<uint64_t, uint32_t> byAddress_;
  std::map<const Instr *, uint16_t> ldsLoads_;
  std::set<uint32_t> work_;
  std::map<const Instr *, LdsUse> ldsUses_;
  WaitReport report_;
};

} // namespace

WaitReport checkWaits(const isa::Target &target, std::span<const CheckedFunction> functions) {
  return Checker(target, functions).run();
}

} // namespace luthier::analysis
