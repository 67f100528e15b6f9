#include "luthier/run_counts.h"

#include "analysis/count_plan.h"
#include "runtime/kernel_view.h"
#include "runtime/launch_waves.h"

#include <algorithm>
#include <map>

namespace luthier {

namespace {

using analysis::CountPlan;
using Counter = CountPlan::Counter;
using What = CountPlan::What;
static_assert(kCountSlots == analysis::kCountSlots);

CountPlan planOf(const Kernel &kernel, const CountPlan::Options &options) {
  std::vector<const analysis::Cfg *> functions;
  for (const Function &function : kernel.functions())
    functions.push_back(&runtime::analyzed(function).cfg());
  return CountPlan::of(functions, options);
}

/// Scalar registers that a wave can keep counters in at no cost, as far as can be told from here: half of those above
/// what the kernel uses. The others are for hooks, and for other tools.
unsigned freeRegisters(const Kernel &kernel) {
  constexpr unsigned kScalars = 102, kForHooks = 12;
  // More would let fewer waves run at a time: up to gfx9, where ten or eight are the most, they share 800 registers.
  const unsigned waves = kernel.resources().wavesPerSimd;
  const unsigned all = waves == 9 || waves == 10 ? 74 : waves == 8 ? 90 : 100;
  unsigned used = 0;
  bool unknown = false; // code that may use all that the kernel has
  for (const Function &function : kernel.functions()) {
    for (const analysis::Block &block : runtime::analyzed(function).cfg().blocks())
      unknown |= block.call == analysis::CallKind::Indirect || block.exit == analysis::Exit::Unknown;
    for (const Instr &instr : function.instrs())
      for (const std::span<const RegRange> ranges : {instr.reads(), instr.writes()})
        for (const RegRange range : ranges)
          if (number(range.first) < kScalars)
            used = std::max(used, number(range.first) + range.count);
  }
  if (unknown)
    used = std::max(used, kernel.resources().sgprs);
  return used + kForHooks < all ? (all - kForHooks - used) / 2 : 0;
}

/// Where a counter is.
Point pointOf(const Kernel &kernel, Site at, const Counter &counter) {
  const Function &function = kernel.functions()[counter.function];
  if (!counter.edge)
    return at.before(function.instrs()[counter.instr]);
  const analysis::Edge &edge = runtime::analyzed(function).cfg().edges()[*counter.edge];
  return at.edge(function.blocks()[edge.from], function.blocks()[edge.to]);
}

bool isTaken(const analysis::Cfg &cfg, const Counter &counter) {
  return counter.edge && cfg.edges()[*counter.edge].kind == analysis::EdgeKind::Taken;
}

/// Registers for what a wave counts at places that it comes to once at most, so many of them. Each takes one
/// instruction there and three at the end of the wave, which takes six more; an addition to memory takes nine.
std::vector<std::optional<unsigned>> onceRegisters(const CountPlan &plan, unsigned most) {
  std::vector<std::optional<unsigned>> registers(plan.counters().size());
  unsigned next = 0;
  double saved = -6;
  for (size_t n = 0; n < plan.counters().size(); ++n)
    if (const Counter &counter = plan.counters()[n];
        counter.once && 8 * counter.frequency > 3.5 && next < std::min(most, kCountedOnce)) {
      registers[n] = next++;
      saved += 8 * counter.frequency - 3.5;
    }
  return saved > 0 ? registers : std::vector<std::optional<unsigned>>(plan.counters().size());
}

uint64_t wavesOf(const Launch &launch) {
  return runtime::wavesOf(launch.grid(), launch.workgroup(), launch.kernel().waveSize());
}

} // namespace

// Of each instruction.

struct RunCounts::Impl {
  /// A kernel that is counted, and what is kept alive of it.
  struct Counted {
    CountPlan plan;
    std::vector<std::optional<unsigned>> once; ///< registers of counters that are visited once
    std::shared_ptr<runtime::ObjectView> object;
    std::vector<std::unique_ptr<Function>> functions;
    uint64_t waves = 0, workItems = 0;

    const analysis::Cfg &cfg(uint32_t function) const { return runtime::analyzed(*functions[function]).cfg(); }
  };
  Tool &tool;
  RunCountHooks hooks;
  Where where;
  std::map<KernelId, Counted> kernels;

  /// What the places of a kernel have counted, by function, address and hook.
  struct Places {
    std::map<std::tuple<uint64_t, uint64_t, std::string>, std::array<uint64_t, 2>> counts;
    std::array<uint64_t, kCountSlots> slots{}, products{}; ///< wherever waves end
    std::array<uint64_t, kCountedOnce> once{};
    bool hasSlots = false, hasProducts = false, hasOnce = false;
  };
  /// Nothing if one of them is not there: it was rejected, and the others do not tell what it would have counted.
  std::optional<std::vector<uint64_t>> valuesOf(const Counted &counted, const Places &places) const;
};

RunCounts::RunCounts(Tool &tool, const RunCountHooks &hooks, Where where) : impl_(new Impl{tool, hooks, where, {}}) {}
RunCounts::~RunCounts() = default;

void RunCounts::count(Kernel &kernel, Site at) {
  const RunCountHooks &hooks = impl_->hooks;
  const auto [entry, fresh] = impl_->kernels.try_emplace(kernel.id());
  Impl::Counted &counted = entry->second;
  if (fresh) {
    const bool everywhere = impl_->where == Where::Everywhere;
    const unsigned registers = everywhere ? 0 : freeRegisters(kernel);
    counted.plan = planOf(kernel, {.slots = std::min(kCountSlots, registers / 2), .everywhere = everywhere});
    unsigned slots = 0;
    for (const Counter &counter : counted.plan.counters())
      slots = std::max(slots, counter.slot ? *counter.slot + 1 : 0);
    counted.once = onceRegisters(counted.plan, registers - 2 * slots);
    counted.object = runtime::objectOf(kernel);
    for (const Function &function : kernel.functions())
      counted.functions.push_back(runtime::viewOf(runtime::analyzed(function), *counted.object));
  }
  const CountPlan &plan = counted.plan;
  // Counters in memory that are at one instruction.
  std::map<std::pair<uint32_t, uint32_t>, std::array<bool, 2>> together;
  unsigned slots = 0, products = 0, once = 0; // the first so many
  for (size_t n = 0; n < plan.counters().size(); ++n) {
    const Counter &counter = plan.counters()[n];
    const bool ofLanes = counter.what == What::Lanes;
    if (counted.once[n]) {
      once = std::max(once, *counted.once[n] + 1);
      pointOf(kernel, at, counter).call((ofLanes ? hooks.onceLanes : hooks.onceVisits)[*counted.once[n]]);
    } else if (counter.slot) {
      slots = std::max(slots, *counter.slot + 1);
      if (counter.timesStartLanes)
        products = std::max(products, *counter.slot + 1);
      else
        pointOf(kernel, at, counter).call((ofLanes ? hooks.slotLanes : hooks.slotVisits)[*counter.slot]);
    } else if (!counter.edge)
      together[{counter.function, counter.instr}][ofLanes] = true;
    else if (isTaken(counted.cfg(counter.function), counter))
      pointOf(kernel, at, counter).call(ofLanes ? hooks.takenLanes : hooks.takenVisits);
    else
      pointOf(kernel, at, counter).call(ofLanes ? hooks.passedLanes : hooks.passedVisits);
  }
  for (const auto &[place, what] : together)
    at.before(kernel.functions()[place.first].instrs()[place.second])
        .call(what[0] && what[1] ? hooks.both
              : what[0]          ? hooks.visits
                                 : hooks.lanes);
  if (products || plan.counters().empty()) // without counters, the launches are all that must be known
    at.entry(kernel).call(hooks.start);
  if (slots)
    at.exit(kernel).call(hooks.storeSlots[slots - 1]);
  if (products)
    at.exit(kernel).call(hooks.storeProducts[products - 1]);
  if (once)
    at.exit(kernel).call(hooks.storeOnce[once - 1]);
}

void RunCounts::finished(const Launch &launch) {
  const auto found = impl_->kernels.find(launch.kernel().id());
  if (found == impl_->kernels.end() || !launch.instrumented())
    return;
  found->second.waves += wavesOf(launch);
  found->second.workItems += runtime::workItemsOf(launch.grid());
}

std::optional<std::vector<uint64_t>> RunCounts::Impl::valuesOf(const Counted &counted, const Places &places) const {
  std::vector<uint64_t> values;
  for (size_t n = 0; n < counted.plan.counters().size(); ++n) {
    const Counter &counter = counted.plan.counters()[n];
    const bool ofLanes = counter.what == What::Lanes;
    uint64_t value = 0;
    bool found = false;
    const auto add = [&](const Hook<> &hook, unsigned which) {
      const Function &function = *counted.functions[counter.function];
      const auto place =
          places.counts.find({function.address(), function.instrs()[counter.instr].address(), hook.name});
      if (place != places.counts.end()) {
        value += place->second[which];
        found = true;
      }
    };
    if (counted.once[n]) {
      value = places.once[*counted.once[n]];
      found = places.hasOnce;
    } else if (counter.slot) {
      value = (counter.timesStartLanes ? places.products : places.slots)[*counter.slot];
      found = counter.timesStartLanes ? places.hasProducts : places.hasSlots;
    } else if (counter.edge) {
      if (isTaken(counted.cfg(counter.function), counter))
        add(ofLanes ? hooks.takenLanes : hooks.takenVisits, ofLanes);
      else
        add(ofLanes ? hooks.passedLanes : hooks.passedVisits, ofLanes);
    } else {
      add(hooks.both, ofLanes);
      add(ofLanes ? hooks.lanes : hooks.visits, ofLanes);
    }
    if (!found)
      return {};
    values.push_back(value);
  }
  return values;
}

void RunCounts::forEach(const std::function<void(const InstrCount &)> &visit) const {
  std::map<KernelId, Impl::Places> places;
  for (const auto &site : impl_->tool.read(impl_->hooks.counts)) {
    auto &counts = places[site.kernel].counts[{site.function->address(), site.address(), site.hook}];
    counts = {counts[0] + site.value[0], counts[1] + site.value[1]};
  }
  const auto addUp = [](auto &sums, const auto &values) {
    for (size_t n = 0; n < sums.size(); ++n)
      sums[n] += values[n];
  };
  for (const auto &site : impl_->tool.read(impl_->hooks.slots)) {
    addUp(places[site.kernel].slots, site.value);
    places[site.kernel].hasSlots = true;
  }
  for (const auto &site : impl_->tool.read(impl_->hooks.products)) {
    addUp(places[site.kernel].products, site.value);
    places[site.kernel].hasProducts = true;
  }
  for (const auto &site : impl_->tool.read(impl_->hooks.once)) {
    addUp(places[site.kernel].once, site.value);
    places[site.kernel].hasOnce = true;
  }
  for (const auto &[kernel, counted] : impl_->kernels) {
    const CountPlan &plan = counted.plan;
    const auto values = impl_->valuesOf(counted, places[kernel]);
    if (!values && counted.waves)
      impl_->tool.warn(kernel.name() + " was not counted: some of the places that it takes were rejected");
    if (!values || (plan.counters().empty() && !counted.waves)) // it was not instrumented
      continue;
    auto counts = plan.solve(*values, counted.waves, counted.workItems);
    bool broken = false;
    for (CountPlan::Count &count : counts)
      for (uint64_t *value : {&count.waves, &count.lanes})
        if (*value >> 63) { // more came out than went in
          broken = true;
          *value = 0;
        }
    if (broken)
      impl_->tool.warn("what was counted of " + kernel.name() +
                       " does not add up: some of its waves did not get to their end");
    for (size_t n = 0; n < counts.size(); ++n) {
      const CountPlan::Run &run = plan.runs()[n];
      const Function &function = *counted.functions[run.function];
      for (const Instr &instr : function.instrs().subspan(run.first, run.count)) {
        InstrCount count;
        count.kernel = kernel;
        count.function = &function;
        count.instr = &instr;
        count.waves = counts[n].waves;
        count.lanes = counts[n].lanes;
        visit(count);
      }
    }
  }
}

// Of launches.

struct LaunchCounts::Impl {
  LaunchCountHooks hooks;
  struct Known {
    uint64_t instructionsPerWave = 0, lanesPerWorkItem = 0;
  };
  std::map<KernelId, Known> kernels;
};

LaunchCounts::LaunchCounts(const LaunchCountHooks &hooks) : impl_(new Impl{hooks, {}}) {}
LaunchCounts::~LaunchCounts() = default;

void LaunchCounts::count(Kernel &kernel, Site at) {
  const LaunchCountHooks &hooks = impl_->hooks;
  // Two sums take four registers; what is counted once takes five, and slots two each.
  const unsigned registers = freeRegisters(kernel);
  const bool mayHaveOnce = registers >= 10;
  const CountPlan plan = planOf(kernel, {.slots = mayHaveOnce ? std::min(kCountSlots, (registers - 10) / 2) : 0});
  const CountPlan::Weights weights = plan.weights();
  impl_->kernels[kernel.id()] = {weights.perWave, weights.perWorkItem};

  // Such that its product with a number of lanes has 32 bits. Weights may be less than nothing.
  const auto fits = [&](size_t n) { return weights.ofCounter[n] < 1u << 25; };
  // What a counter does. Additions in registers cost less where there are several; the sums are in memory in the end.
  enum class Way : uint8_t { None, Slot, Memory, Wave, Once, Group };
  std::vector<Way> ways;
  std::array<bool, kCountSlots> used{};
  double memoryVisits = 0, memoryLanes = 0;
  uint64_t atOnce = 0; // the most that a wave may add up in 32 bits
  std::map<uint64_t, double> frequencies;
  std::array<bool, 2> inRegisters{}; // instructions, lanes
  for (size_t n = 0; n < plan.counters().size(); ++n) {
    const Counter &counter = plan.counters()[n];
    const bool ofLanes = counter.what == What::Lanes;
    ways.push_back(weights.ofCounter[n] == 0 ? Way::None : counter.slot && fits(n) ? Way::Slot : Way::Memory);
    if (ways[n] == Way::Slot)
      used[*counter.slot] = inRegisters[ofLanes] = true;
    if (ways[n] != Way::Memory)
      continue;
    (ofLanes ? memoryLanes : memoryVisits) += counter.frequency;
    if (ofLanes && counter.once && fits(n) && mayHaveOnce) {
      atOnce += weights.ofCounter[n] * 64;
      frequencies[weights.ofCounter[n]] += counter.frequency;
    }
  }
  // An atomic addition takes about ten instructions, one in registers about five.
  constexpr double kSeveral = 1.7;
  inRegisters[0] |= memoryVisits > kSeveral;
  inRegisters[1] |= memoryLanes > kSeveral;
  std::vector<uint64_t> groups; // weights
  for (const auto &[weight, frequency] : frequencies)
    if (frequency > kSeveral && groups.size() < kCountGroups)
      groups.push_back(weight);
  bool once = false;
  for (size_t n = 0; n < plan.counters().size(); ++n) {
    const Counter &counter = plan.counters()[n];
    const bool ofLanes = counter.what == What::Lanes;
    if (ways[n] != Way::Memory || !inRegisters[ofLanes])
      continue;
    ways[n] = Way::Wave;
    if (ofLanes && counter.once && fits(n) && mayHaveOnce && atOnce <= UINT32_MAX) {
      ways[n] = std::ranges::count(groups, weights.ofCounter[n]) ? Way::Group : Way::Once;
      once = true;
    }
  }

  bool usesStart = plan.counters().empty() || std::ranges::count(ways, Way::None) == std::ssize(ways);
  for (size_t n = 0; n < plan.counters().size(); ++n) {
    const Counter &counter = plan.counters()[n];
    const bool ofLanes = counter.what == What::Lanes;
    const uint64_t weight = weights.ofCounter[n];
    const auto narrow = static_cast<uint32_t>(weight);
    usesStart |= ways[n] == Way::Slot && counter.timesStartLanes;
    if (counter.slot && used[*counter.slot] && !counter.timesStartLanes)
      pointOf(kernel, at, counter).call((ofLanes ? hooks.slotLanes : hooks.slotVisits)[*counter.slot]);
    switch (ways[n]) {
    case Way::None:
    case Way::Slot:
      break;
    case Way::Group:
      pointOf(kernel, at, counter)
          .call(hooks.runOfGroup[static_cast<size_t>(std::ranges::find(groups, weight) - groups.begin())]);
      break;
    case Way::Once:
      pointOf(kernel, at, counter).call(hooks.runOnce, narrow);
      break;
    case Way::Memory:
    case Way::Wave: {
      const bool wave = ways[n] == Way::Wave;
      if (!ofLanes && wave && fits(n))
        pointOf(kernel, at, counter).call(hooks.fewVisitsInWave, narrow);
      else if (!ofLanes)
        pointOf(kernel, at, counter).call(wave ? hooks.visitInWave : hooks.visit, weight);
      else if (fits(n))
        pointOf(kernel, at, counter).call(wave ? hooks.runInWave : hooks.run, narrow);
      else
        pointOf(kernel, at, counter).call(wave ? hooks.manyRunInWave : hooks.manyRun, weight);
    }
    }
  }
  if (usesStart)
    at.entry(kernel).call(hooks.start);
  for (size_t n = 0; n < plan.counters().size(); ++n)
    if (const Counter &counter = plan.counters()[n]; ways[n] == Way::Slot)
      at.exit(kernel).call((counter.timesStartLanes       ? hooks.addSlotTimes
                            : counter.what == What::Lanes ? hooks.addSlotLanes
                                                          : hooks.addSlotVisits)[*counter.slot],
                           static_cast<uint32_t>(weights.ofCounter[n]));
  for (size_t group = 0; group < groups.size() && inRegisters[1]; ++group)
    at.exit(kernel).call(hooks.addGroup[group], static_cast<uint32_t>(groups[group]));
  if (once)
    at.exit(kernel).call(hooks.addOnce);
  if (inRegisters[0] && inRegisters[1])
    at.exit(kernel).call(hooks.storeSums);
  else if (inRegisters[0])
    at.exit(kernel).call(hooks.storeInstructions);
  else if (inRegisters[1])
    at.exit(kernel).call(hooks.storeLanes);
}

LaunchCounts::Sums LaunchCounts::of(const Launch &launch) const {
  const auto found = impl_->kernels.find(launch.kernel().id());
  if (found == impl_->kernels.end() || !launch.instrumented())
    return {};
  const Impl::Known &known = found->second;
  return {launch.read(impl_->hooks.instructions) + known.instructionsPerWave * wavesOf(launch),
          launch.read(impl_->hooks.lanes) + known.lanesPerWorkItem * runtime::workItemsOf(launch.grid())};
}

} // namespace luthier
