#include "analysis/count_plan.h"

#include "analysis/exec_masks.h"
#include "analysis/frequencies.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace luthier::analysis {

namespace {

constexpr uint32_t kNowhere = 0; ///< the node of all that is outside of the function

/// Counters that are visited more often are better in registers: those take two or three instructions each time and
/// about four when the wave ends, memory about nine each time.
constexpr double kWorthSlot = 0.6;
/// Blocks that are looked at to find where EXEC gets back what it held.
constexpr uint64_t kMostLooks = 20'000'000;

/// Where the lanes of a run end or begin because EXEC is written.
struct Seam {
  uint32_t node, block, instr, mask;
};

/// Whether control gets from the end of block `from` (or the function's entry, where it is none) to one for which
/// `there` holds, without passing `avoided`.
template <class There> bool reaches(const Cfg &cfg, std::vector<uint32_t> open, uint32_t avoided, const There &there) {
  std::vector<uint8_t> seen(cfg.blocks().size());
  while (!open.empty()) {
    const uint32_t block = open.back();
    open.pop_back();
    if (seen[block])
      continue;
    seen[block] = 1;
    if (there(block))
      return true;
    if (block != avoided)
      for (const Edge &edge : cfg.successors(cfg.blocks()[block]))
        open.push_back(edge.to);
  }
  return false;
}

std::vector<uint32_t> behind(const Cfg &cfg, uint32_t block) {
  std::vector<uint32_t> result;
  for (const Edge &edge : cfg.successors(cfg.blocks()[block]))
    result.push_back(edge.to);
  return result;
}

} // namespace

class CountPlan::Builder {
public:
  Builder(CountPlan &plan, std::span<const Cfg *const> functions, const Options &options)
      : plan_(plan), functions_(functions), options_(options), facts_(functions.size()) {
    for (uint32_t n = 0; n < functions.size(); ++n)
      if (!functions[n]->instrs().empty())
        byAddress_.emplace(functions[n]->instrs().front().address(), n);
  }

  void build() {
    plan_.flows_.resize(functions_.size());
    findFacts();
    for (uint32_t n = 0; n < functions_.size(); ++n) {
      plan_.flows_[n].firstRun = static_cast<uint32_t>(plan_.runs_.size());
      addRuns(n);
      frequencies_.emplace_back(
          *functions_[n], n == 0 ? 1 : std::max(facts_[n].entries, 0.1) * (callsItself(n) ? Frequencies::kRounds : 1));
      noteCalls(n);
      if (!addVisits(n)) {
        facts_[n].irregular = true;
        plan_.flows_[n].visits = {};
        plan_.flows_[n].ofBlock.clear();
        addVisits(n);
      }
    }
    takeCounters(What::Visits);
    takeSlots(What::Visits, (5 * options_.slots + 7) / 8); // the others are kept for lanes
    for (uint32_t n = 0; n < functions_.size(); ++n)
      if (!addLanes(n)) {
        facts_[n].irregular = true;
        plan_.flows_[n].lanes = {};
        plan_.flows_[n].ofRun.clear();
        addLanes(n);
      }
    takeCounters(What::Lanes);
    takeSlots(What::Lanes, options_.slots);
    orderSlots();
  }

private:
  struct Facts {
    bool irregular = false;   ///< control may go where the graph does not say
    bool returns = true;      ///< every call of it comes back
    bool keepsExec = true;    ///< with the EXEC that it found
    bool trustsMasks = true;  ///< so do all that it calls
    double entries = 0;       ///< per wave: a guess
    ExecMasks::Numbers masks; ///< what EXEC holds
  };
  struct Place {
    uint32_t instr;
    std::optional<uint32_t> edge;
    double frequency;
  };

  const Cfg &cfg(uint32_t function) const { return *functions_[function]; }
  std::optional<uint32_t> startingAt(uint64_t address) const {
    const auto found = byAddress_.find(address);
    return found == byAddress_.end() ? std::nullopt : std::optional(found->second);
  }
  /// Whether a call at the end of a block is known to come back, or to do so with the same EXEC.
  bool callReturns(const Block &block) const {
    const auto callee = startingAt(block.callTarget);
    return block.call == CallKind::Direct && callee && facts_[*callee].returns;
  }
  bool callKeepsExec(const Block &block) const {
    const auto callee = startingAt(block.callTarget);
    return block.call == CallKind::Direct && callee && facts_[*callee].keepsExec;
  }

  void findFacts() {
    for (uint32_t n = 0; n < functions_.size(); ++n) {
      Facts &facts = facts_[n];
      facts.masks = ExecMasks::compute(cfg(n)).numbered();
      facts.irregular |= options_.everywhere || cfg(n).blocks().empty();
      for (const Block &block : cfg(n).blocks()) {
        facts.irregular |= block.exit == Exit::Unknown || block.addressTaken;
        for (const uint64_t target : {block.exitTarget, block.callTarget})
          leadTo(target);
      }
      facts.irregular |=
          std::ranges::any_of(cfg(n).edges(), [](const Edge &edge) { return edge.kind == EdgeKind::Indirect; });
    }
    // What holds of all functions that are called holds of the caller: from "everything" downwards.
    for (bool again = true; again;) {
      again = false;
      for (uint32_t n = 0; n < functions_.size(); ++n) {
        Facts &facts = facts_[n];
        const bool returns = facts.returns, keeps = facts.keepsExec;
        const auto blocks = cfg(n).blocks();
        for (uint32_t k = 0; k < blocks.size(); ++k) {
          const Block &block = blocks[k];
          if (!block.reachable)
            continue;
          const auto next = block.exit == Exit::Tail ? startingAt(block.exitTarget) : std::nullopt;
          const bool leaves = block.exit == Exit::Return || next;
          facts.returns &= block.exit == Exit::None || (leaves && (!next || facts_[*next].returns));
          facts.returns &= block.call == CallKind::None || callReturns(block);
          facts.keepsExec &=
              block.exit == Exit::None || !leaves || (facts.masks.atEnd[k] == 0 && (!next || facts_[*next].keepsExec));
          facts.trustsMasks &= block.call == CallKind::None || callKeepsExec(block);
        }
        facts.keepsExec &= facts.trustsMasks && !facts.irregular;
        again |= returns != facts.returns || keeps != facts.keepsExec;
      }
    }
  }

  /// Control comes from a call or a jump out of a function: fine where another one starts.
  void leadTo(uint64_t target) {
    for (uint32_t n = 0; target && n < functions_.size(); ++n)
      if (const auto instrs = cfg(n).instrs();
          !instrs.empty() && target >= instrs.front().address() && target <= instrs.back().address())
        facts_[n].irregular |= target != instrs.front().address() || n == 0;
  }

  void addRuns(uint32_t function) {
    const Cfg &code = cfg(function);
    for (uint32_t block = 0; block < code.blocks().size(); ++block) {
      uint32_t first = code.blocks()[block].first;
      for (uint32_t k = first; k <= code.blocks()[block].last(); ++k)
        if (k == code.blocks()[block].last() || code.instrs()[k].is(Property::WritesExec)) {
          plan_.runs_.push_back({function, block, first, k + 1 - first});
          first = k + 1;
        }
    }
  }

  bool callsItself(uint32_t function) const {
    return std::ranges::any_of(cfg(function).blocks(), [&](const Block &block) {
      return block.call == CallKind::Direct && startingAt(block.callTarget) == function;
    });
  }

  void noteCalls(uint32_t function) {
    for (uint32_t n = 0; n < cfg(function).blocks().size(); ++n) {
      const Block &block = cfg(function).blocks()[n];
      for (const uint64_t target : {block.exitTarget, block.callTarget})
        if (const auto callee = startingAt(target))
          facts_[*callee].entries += frequencies_[function].ofBlock[n];
      if (block.call == CallKind::Indirect) // to any of them
        for (size_t callee = 1; callee < functions_.size(); ++callee)
          facts_[callee].entries += frequencies_[function].ofBlock[n] / static_cast<double>(functions_.size() - 1);
    }
  }

  /// Adds what is known of an edge of the graph, between two nodes of a network.
  void addEdge(FlowNetwork &network, std::vector<std::optional<Place>> &places, uint32_t function, uint32_t n,
               uint32_t from, uint32_t to) {
    const Edge &edge = cfg(function).edges()[n];
    const double frequency = frequencies_[function].ofEdge[n];
    const bool possible = edge.kind == EdgeKind::Fallthrough || edge.kind == EdgeKind::Taken;
    // A block of its own, with a branch, where control is taken away from the order of the code.
    const double cost = frequency * (edge.kind == EdgeKind::Taken ? 1.5 : 1.1);
    network.addEdge(from, to, possible ? cost : FlowNetwork::kImpossible);
    places.emplace_back(Place{cfg(function).blocks()[edge.from].last(), n, frequency});
  }

  bool addVisits(uint32_t function) {
    const Cfg &code = cfg(function);
    Flows &flows = plan_.flows_[function];
    FlowNetwork &network = flows.visits;
    auto &places = placesOfVisits_[function];
    places.clear();
    network.addNode();
    const bool regular = !facts_[function].irregular;
    const auto outside = [&](uint32_t from, uint32_t to, double cost) {
      network.addEdge(from, to, cost);
      places.emplace_back();
    };
    std::vector<uint32_t> in, out;
    for (size_t n = 0; n < code.blocks().size(); ++n) {
      in.push_back(regular ? network.addNode() : kNowhere);
      out.push_back(regular ? network.addNode() : kNowhere);
    }
    flows.knownWaves = regular && function == 0;
    if (regular)
      outside(kNowhere, in[0], flows.knownWaves ? FlowNetwork::kKnown : FlowNetwork::kImpossible);
    for (uint32_t n = 0; n < code.blocks().size(); ++n) {
      const Block &block = code.blocks()[n];
      const double frequency = frequencies_[function].ofBlock[n];
      // Counted here, lanes that the wave started with are known, too.
      const bool better = startLanesIn(function, n) && frequencies_[function].repeated[n];
      flows.ofBlock.push_back(network.addEdge(in[n], out[n], better ? frequency * 0.8 : frequency));
      places.emplace_back(Place{block.first, {}, frequency});
      if (regular && leaves(block))
        outside(out[n], kNowhere, FlowNetwork::kImpossible);
    }
    for (uint32_t n = 0; regular && n < code.edges().size(); ++n)
      if (const Edge &edge = code.edges()[n]; code.mayBeTaken(edge))
        addEdge(network, places, function, n, out[edge.from], in[edge.to]);
    return network.choose();
  }

  bool addLanes(uint32_t function) {
    const Cfg &code = cfg(function);
    Flows &flows = plan_.flows_[function];
    FlowNetwork &network = flows.lanes;
    const ExecMasks::Numbers &masks = facts_[function].masks;
    auto &places = placesOfLanes_[function];
    places.clear();
    network.addNode();
    const bool regular = !facts_[function].irregular;
    flows.knownItems = regular && function == 0;
    const auto outside = [&](uint32_t from, uint32_t to, double cost) {
      network.addEdge(from, to, cost);
      places.emplace_back();
    };
    if (flows.knownItems) {
      network.addNode(); // where the first run begins
      outside(kNowhere, 1, FlowNetwork::kKnown);
    }
    std::vector<uint32_t> in(code.blocks().size()), out(code.blocks().size());
    std::vector<Seam> ends, begins;
    for (uint32_t r = flows.firstRun; r < plan_.runs_.size() && plan_.runs_[r].function == function; ++r) {
      const Run &run = plan_.runs_[r];
      const Block &block = code.blocks()[run.block];
      const bool first = run.first == block.first, last = run.first + run.count - 1 == block.last();
      uint32_t begin = kNowhere, end = kNowhere;
      if (regular) {
        begin = r == flows.firstRun && flows.knownItems ? 1 : network.addNode();
        end = network.addNode();
        if (first)
          in[run.block] = begin;
        else
          begins.push_back({begin, run.block, run.first, masks.before[run.first]});
        const uint32_t lastInstr = run.first + run.count - 1;
        if (!code.instrs()[lastInstr].is(Property::WritesExec))
          out[run.block] = end;
        else {
          ends.push_back({end, run.block, lastInstr, masks.before[lastInstr]});
          if (last) {
            out[run.block] = network.addNode();
            if (!parts(block)) // otherwise, what comes and what goes there are both unknown
              begins.push_back({out[run.block], run.block, lastInstr + 1, masks.atEnd[run.block]});
          }
        }
      }
      const double frequency = frequencies_[function].ofBlock[run.block];
      const bool free = startSlot(function, run).has_value();
      flows.ofRun.push_back(network.addEdge(begin, end, free ? frequency * 0.01 : frequency));
      places.emplace_back(Place{run.first, {}, frequency});
    }
    if (!regular)
      return network.choose();
    if (!flows.knownItems)
      outside(kNowhere, in[0], FlowNetwork::kImpossible);
    for (uint32_t n = 0; n < code.blocks().size(); ++n) {
      if (parts(code.blocks()[n]))
        outside(out[n], kNowhere, FlowNetwork::kImpossible);
    }
    for (uint32_t n = 0; n < code.edges().size(); ++n) {
      const Edge &edge = code.edges()[n];
      const Block &from = code.blocks()[edge.from];
      if (!code.mayBeTaken(edge) || withoutLanes(code, edge))
        continue;
      if (from.call != CallKind::None && !callKeepsExec(from))
        outside(kNowhere, in[edge.to], FlowNetwork::kImpossible);
      else
        addEdge(network, places, function, n, out[edge.from], in[edge.to]);
    }
    const std::vector<std::pair<uint32_t, uint32_t>> pairs = pair(function, ends, begins);
    std::vector<uint8_t> paired(ends.size() + begins.size());
    for (const auto &[end, begin] : pairs) {
      paired[end] = paired[ends.size() + begin] = 1;
      outside(ends[end].node, begins[begin].node, FlowNetwork::kImpossible);
    }
    for (size_t n = 0; n < ends.size(); ++n)
      if (!paired[n])
        outside(ends[n].node, kNowhere, FlowNetwork::kImpossible);
    for (size_t n = 0; n < begins.size(); ++n)
      if (!paired[ends.size() + n])
        outside(kNowhere, begins[n].node, FlowNetwork::kImpossible);
    return network.choose();
  }

  /// Where EXEC gets back what it held at an earlier seam: numbers of ends and begins. Between two visits of one of the
  /// two there is exactly one of the other, and the function is neither entered behind the first nor left before the
  /// second: so that the same lanes come to both.
  std::vector<std::pair<uint32_t, uint32_t>> pair(uint32_t function, std::span<const Seam> ends,
                                                  std::span<const Seam> begins) {
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
    if (!facts_[function].trustsMasks)
      return pairs;
    const Cfg &code = cfg(function);
    std::map<uint32_t, std::vector<uint32_t>> open; // ends by mask, in the order of the code
    for (uint32_t n = 0; n < ends.size(); ++n)
      open[ends[n].mask].push_back(n);
    uint64_t looks = 0;
    for (uint32_t n = 0; n < begins.size(); ++n) {
      const Seam &begin = begins[n];
      const auto found = open.find(begin.mask);
      if (found == open.end())
        continue;
      auto &candidates = found->second;
      unsigned tried = 0;
      for (size_t k = candidates.size(); k-- > 0 && tried < 4 && looks < kMostLooks;) {
        const Seam &end = ends[candidates[k]];
        if (end.instr >= begin.instr)
          continue;
        ++tried;
        looks += 2 * code.blocks().size();
        if (end.block != begin.block && !alternate(code, end.block, begin.block))
          continue;
        pairs.emplace_back(candidates[k], n);
        candidates.erase(candidates.begin() + static_cast<ptrdiff_t>(k));
        break;
      }
    }
    return pairs;
  }

  bool alternate(const Cfg &code, uint32_t one, uint32_t other) const {
    std::vector<uint32_t> starts = behind(code, other);
    starts.push_back(0);
    if (reaches(code, starts, one, [&](uint32_t block) { return block == other; }))
      return false;
    if (leaves(code.blocks()[one]))
      return false;
    return !reaches(code, behind(code, one), other,
                    [&](uint32_t block) { return block == one || (block != other && leaves(code.blocks()[block])); });
  }
  /// Whether lanes may leave the function at the end of a block, or be others behind a call there.
  bool parts(const Block &block) const {
    return leaves(block) || (block.call != CallKind::None && !callKeepsExec(block));
  }
  /// Whether waves may.
  bool leaves(const Block &block) const {
    return block.exit != Exit::None || (block.call != CallKind::None && !callReturns(block));
  }

  /// Whether the same lanes are active in a part of a block as when the wave started.
  bool startLanesIn(uint32_t function, uint32_t block) const {
    const Facts &facts = facts_[function];
    if (function != 0 || facts.irregular || !facts.trustsMasks)
      return false;
    const Block &code = cfg(0).blocks()[block];
    return std::ranges::count(std::span(facts.masks.before).subspan(code.first, code.count), 0u) != 0;
  }

  /// The slot of the visits of a run that the same lanes are active in as when the wave started.
  std::optional<unsigned> startSlot(uint32_t function, const Run &run) const {
    if (function != 0 || facts_[0].irregular || !facts_[0].trustsMasks || facts_[0].masks.before[run.first] != 0)
      return {};
    for (const Counter &counter : plan_.counters_)
      if (counter.what == What::Visits && counter.function == 0 && !counter.edge &&
          counter.instr == cfg(0).blocks()[run.block].first)
        return counter.slot;
    return {};
  }

  void takeCounters(What what) {
    for (uint32_t function = 0; function < functions_.size(); ++function) {
      const Flows &flows = plan_.flows_[function];
      const FlowNetwork &network = what == What::Visits ? flows.visits : flows.lanes;
      const auto &places = (what == What::Visits ? placesOfVisits_ : placesOfLanes_)[function];
      for (uint32_t flow = 0; flow < network.edges(); ++flow) {
        if (!network.counted(flow))
          continue;
        Counter counter;
        counter.what = what;
        counter.function = function;
        counter.instr = places[flow]->instr;
        counter.edge = places[flow]->edge;
        counter.frequency = places[flow]->frequency;
        counter.once =
            function == 0 && !facts_[0].irregular && !frequencies_[0].repeated[cfg(0).blockOf(counter.instr)];
        counter.flow_ = flow;
        if (what == What::Lanes && !counter.edge)
          if (const auto run = std::ranges::find(flows.ofRun, flow); run != flows.ofRun.end()) {
            counter.slot =
                startSlot(function, plan_.runs_[flows.firstRun + static_cast<size_t>(run - flows.ofRun.begin())]);
            counter.timesStartLanes = counter.slot.has_value();
          }
        plan_.counters_.push_back(counter);
      }
    }
  }

  /// For the counters that are visited most, as far as there are any.
  void takeSlots(What what, unsigned most) {
    std::vector<Counter *> worth;
    for (Counter &counter : plan_.counters_)
      if (counter.what == what && !counter.slot && !counter.once && counter.frequency >= kWorthSlot)
        worth.push_back(&counter);
    std::ranges::sort(worth, [](const Counter *a, const Counter *b) {
      return a->frequency != b->frequency ? a->frequency > b->frequency : a < b;
    });
    for (Counter *counter : worth)
      if (slots_ < most && !options_.everywhere)
        counter->slot = slots_++;
  }

  void orderSlots() {
    std::array<bool, kCountSlots> multiplied{};
    for (const Counter &counter : plan_.counters_)
      if (counter.timesStartLanes)
        multiplied[*counter.slot] = true;
    std::array<unsigned, kCountSlots> place{};
    unsigned next = 0;
    for (const bool first : {true, false})
      for (unsigned slot = 0; slot < slots_; ++slot)
        if (multiplied[slot] == first)
          place[slot] = next++;
    for (Counter &counter : plan_.counters_)
      if (counter.slot)
        counter.slot = place[*counter.slot];
  }

  CountPlan &plan_;
  std::span<const Cfg *const> functions_;
  Options options_;
  std::vector<Facts> facts_;
  std::map<uint64_t, uint32_t> byAddress_;
  std::vector<Frequencies> frequencies_;
  std::map<uint32_t, std::vector<std::optional<Place>>> placesOfVisits_, placesOfLanes_; ///< by function: of each edge
  unsigned slots_ = 0;
};

CountPlan CountPlan::of(std::span<const Cfg *const> functions, const Options &options) {
  CountPlan plan;
  Builder(plan, functions, options).build();
  return plan;
}

std::vector<CountPlan::Count> CountPlan::solve(std::span<const uint64_t> values, uint64_t waves,
                                               uint64_t workItems) const {
  std::vector<Count> counts(runs_.size());
  for (uint32_t function = 0; function < flows_.size(); ++function) {
    const Flows &flows = flows_[function];
    std::vector<uint64_t> visits(flows.visits.edges()), lanes(flows.lanes.edges());
    if (flows.knownWaves)
      visits[0] = waves;
    if (flows.knownItems)
      lanes[0] = workItems;
    for (size_t n = 0; n < counters_.size(); ++n)
      if (counters_[n].function == function)
        (counters_[n].what == What::Visits ? visits : lanes)[counters_[n].flow_] = values[n];
    flows.visits.solve(visits);
    flows.lanes.solve(lanes);
    for (size_t n = 0; n < flows.ofRun.size(); ++n) {
      const Run &run = runs_[flows.firstRun + n];
      counts[flows.firstRun + n] = {visits[flows.ofBlock[run.block]], lanes[flows.ofRun[n]]};
    }
  }
  return counts;
}

CountPlan::Weights CountPlan::weights() const {
  Weights result;
  std::vector<std::array<std::vector<uint64_t>, 2>> ofFlow;
  for (const Flows &flows : flows_) {
    std::vector<uint64_t> visits(flows.visits.edges()), lanes(flows.lanes.edges());
    for (size_t n = 0; n < flows.ofRun.size(); ++n) {
      const Run &run = runs_[flows.firstRun + n];
      visits[flows.ofBlock[run.block]] += run.count;
      lanes[flows.ofRun[n]] += run.count;
    }
    ofFlow.push_back({flows.visits.weights(visits), flows.lanes.weights(lanes)});
    if (flows.knownWaves)
      result.perWave += ofFlow.back()[0][0];
    if (flows.knownItems)
      result.perWorkItem += ofFlow.back()[1][0];
  }
  for (const Counter &counter : counters_)
    result.ofCounter.push_back(ofFlow[counter.function][counter.what == What::Lanes ? 1 : 0][counter.flow_]);
  return result;
}

} // namespace luthier::analysis
