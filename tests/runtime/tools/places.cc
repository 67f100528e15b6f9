// Hooks at the places that luthier/tool.h has beside instructions and blocks, one kind at a time.
#include "places_hooks.h"

#include "places.h"

using namespace luthier;

namespace {

struct Places : Tool {
  std::string what = choice("what", {"sampled", "waves", "loops", "callees", "lanes", "structures"}, "what is watched");

  void start() override { report().columns({"kernel", "launch", "a", "b", "c", "function"}); }

  void instrument(Kernel &kernel, Site at) override {
    for (const Function &function : kernel.functions())
      for (const Loop &loop : function.loops()) {
        if (what == "sampled")
          at.entry(*loop.header).call(hooks::visit).every(3);
        if (what == "waves")
          at.entry(*loop.header).call(hooks::visit).when(hooks::chosen);
        if (what != "loops")
          continue;
        for (const BlockEdge &edge : loop.entries)
          at.edge(edge).call(hooks::enter);
        for (const BlockEdge &edge : loop.backEdges)
          at.edge(edge).call(hooks::again);
        for (const BlockEdge &edge : loop.exits)
          at.edge(edge).call(hooks::leave);
        if (function.loop(*loop.header) != &loop || loop.depth != 1 || loop.parent || function.hasOtherCycles())
          warn("the loop is not the one that the test knows");
      }
    if (what == "waves")
      at.entry(kernel).call(hooks::choose, 4);
    for (const Function &function : kernel.functions())
      for (const Instr &instr : function.instrs()) {
        if (what == "callees" && instr.is(Property::Call) && !function.callee(instr))
          at.before(instr).call(hooks::called, arg::callee());
        if (!instr.is(Property::Store) || instr.memorySpace() == MemorySpace::Scratch)
          continue;
        const RegRange data = instr.memory()->data;
        if (what == "lanes")
          at.before(instr).call(hooks::count, 0).call(hooks::count, 1).when(hooks::odd, arg::reg(data));
        if (what == "structures" && kernel.name().starts_with("trips")) // the other's stack has no end
          at.before(instr).call(hooks::within, arg::reg(data), Bounds{3, 20, 1000, {1, 2, 3, 4, 5}});
      }
  }

  void finished(const Launch &launch) override {
    const auto pair = [&](const std::vector<uint64_t> &values) {
      report().row(launch.kernel(), launch.numberOfKernel(), values[0], values[1], 0,
                   what == "callees" ? launch.kernel().functionAt(values[1]) : "");
    };
    if (what == "callees")
      pair(launch.read(hooks::callees));
    else if (what == "lanes" || what == "structures")
      pair(launch.read(hooks::lanes));
    else if (what == "loops")
      report().row(launch.kernel(), launch.numberOfKernel(), launch.read(hooks::entries), launch.read(hooks::rounds),
                   launch.read(hooks::exits), "");
    else
      report().row(launch.kernel(), launch.numberOfKernel(), launch.read(hooks::visits), launch.read(hooks::waves), 0,
                   "");
  }
};

} // namespace

LUTHIER_TOOL(Places)
