// What register pressure costs: bytes that kernels have moved to and from scratch memory and AccVGPRs.
#include "spills_hooks.h"

#include <luthier/run_counts.h>

#include <map>
#include <tuple>

struct Spills : luthier::Tool {
  std::string per = choice("per", {"line", "kernel", "instruction"}, "what a row is of");
  luthier::RunCounts counts{*this, LUTHIER_RUN_COUNTS(hooks)};
  struct Sums {
    uint64_t executed = 0, loaded = 0, stored = 0, accRead = 0, accWritten = 0;
  };

  void start() override {
    std::vector<std::string> columns = {"kernel"};
    if (per == "instruction")
      columns.insert(columns.end(), {"address", "instruction"});
    if (per != "kernel")
      columns.push_back("source");
    columns.insert(columns.end(), {"executed", "scratch loads", "scratch stores", "AccVGPR reads", "AccVGPR writes"});
    report().columns(std::move(columns));
  }

  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    counts.count(kernel, at);
    for (const luthier::Function &function : kernel.functions())
      for (const luthier::Instr &instr : function.instrs())
        if (const auto access = instr.memory(); access && access->space == luthier::MemorySpace::Buffer &&
                                                (access->load || access->store) && access->saddr.count == 4)
          at.before(instr).call(hooks::buffer, luthier::arg::reg(access->saddr.first + 3));
  }

  void finished(const luthier::Launch &launch) override { counts.finished(launch); }

  void exit() override {
    using Place = std::pair<luthier::KernelId, const luthier::Instr *>;
    std::map<Place, uint64_t> buffers;
    for (const auto &site : read(hooks::scratchLanes))
      buffers[{site.kernel, site.instr}] = site.value;
    // In the order of the code, whatever a row is of.
    std::map<std::tuple<luthier::KernelId, uint64_t, std::string>, std::pair<luthier::InstrCount, Sums>> rows;
    counts.forEach([&](const luthier::InstrCount &count) {
      const std::string_view name = count.instr->mnemonic();
      const auto access = count.instr->memory();
      const auto buffer = buffers.find({count.kernel, count.instr});
      const bool inBuffer = buffer != buffers.end() && buffer->second;
      const bool read = name.starts_with("v_accvgpr_read"), written = name.starts_with("v_accvgpr_write"),
                 moved = name.starts_with("v_accvgpr_mov");
      const bool scratch = inBuffer || (access && access->space == luthier::MemorySpace::Scratch);
      const bool none = count.waves == 0 || !(scratch || read || written || moved);
      if (none && per != "kernel")
        return;
      const bool perInstruction = per == "instruction";
      const auto key = std::tuple(count.kernel, perInstruction ? count.address() : 0,
                                  per == "line" ? count.sourceText() : std::string());
      auto &[first, sums] = rows.try_emplace(key, count, Sums()).first->second;
      if (none)
        return;
      sums.executed += count.waves;
      const uint64_t bytes = access ? (inBuffer ? buffer->second : count.lanes) * access->bytes : 4 * count.lanes;
      sums.loaded += scratch && access->load ? bytes : 0;
      sums.stored += scratch && access->store ? bytes : 0;
      sums.accRead += read || moved ? bytes : 0;
      sums.accWritten += written || moved ? bytes : 0;
    });
    for (const auto &[key, row] : rows) {
      const auto &[first, sums] = row;
      const auto add = [&, &s = sums](const auto &...place) {
        report().row(place..., s.executed, s.loaded, s.stored, s.accRead, s.accWritten);
      };
      if (per == "kernel")
        add(first.kernel);
      else if (per == "line")
        add(first.kernel, first.sourceText());
      else
        add(first.kernel, first.addressText(), first.text(), first.sourceText());
    }
  }
};
LUTHIER_TOOL(Spills)
