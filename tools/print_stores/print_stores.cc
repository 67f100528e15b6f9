// Prints the stores of kernels while they run: a line for each lane, made by printf in the hook.
#include "print_stores_hooks.h"

#include <algorithm>

namespace {

using luthier::MemorySpace;

class PrintStores : public luthier::Tool {
public:
  void start() override { report().columns({"kernel", "launch", "stores", "printed"}); }

  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    for (const luthier::Function &function : kernel.functions())
      for (const luthier::Instr &instr : function.instrs()) {
        const std::optional<luthier::MemoryAccess> access = instr.memory();
        if (!access || !access->store || access->atomic || access->load || !isWanted(access->space) ||
            (!pcs_.empty() && std::ranges::find(pcs_, kernel.objectNumber() << 48 | instr.address()) == pcs_.end()))
          continue;
        for (unsigned which = 0; which <= access->two; ++which)
          print(at.before(instr), instr, *access, which);
      }
  }

  void finished(const luthier::Launch &launch) override {
    const uint64_t stores = launch.read(hooks::stores);
    if (launch.instrumented())
      report().row(launch.kernel().name(), launch.number(), stores, std::min(stores, limit_));
  }

private:
  bool isWanted(MemorySpace space) const {
    switch (space) {
    case MemorySpace::Global:
    case MemorySpace::Flat:
      return space_ == "global" || space_ == "all";
    case MemorySpace::Buffer:
      return space_ == "buffer" || space_ == "all";
    case MemorySpace::Lds:
      return space_ == "lds" || space_ == "all";
    case MemorySpace::Scratch:
      return space_ == "scratch" || space_ == "all";
    default:
      return false;
    }
  }

  /// The hook for this number of registers; four refuses what has more.
  template <class One, class Two, class Three, class Four>
  void print(luthier::Point point, const luthier::Instr &instr, uint32_t bytes, luthier::RegRange data, unsigned which,
             const One &one, const Two &two, const Three &three, const Four &four) const {
    const luthier::Arg pc = luthier::arg::pc(), address = luthier::arg::address(which), value = luthier::arg::reg(data);
    if (data.count == 1)
      point.call(one, pc, limit_, bytes, instr.mnemonic().ends_with("_d16_hi") ? 16u : 0u, address, value);
    else if (data.count == 2)
      point.call(two, pc, limit_, address, value);
    else if (data.count == 3)
      point.call(three, pc, limit_, address, value);
    else
      point.call(four, pc, limit_, address, value);
  }

  void print(luthier::Point point, const luthier::Instr &instr, const luthier::MemoryAccess &access,
             unsigned which) const {
    using namespace hooks;
    const luthier::RegRange data = which ? access.data2 : access.data;
    if (access.space == MemorySpace::Lds || access.space == MemorySpace::Scratch)
      print(point, instr, access.bytes, data, which, local1, local2, local3, local4);
    else
      print(point, instr, access.bytes, data, which, store1, store2, store3, store4);
  }

  std::vector<uint64_t> pcs_ = addresses("pc", "only these instructions, as the lines call them: 2000000001644,...");
  std::string space_ =
      choice("space", {"global", "buffer", "lds", "scratch", "all"}, "stores to which memory; global includes flat");
  uint64_t limit_ = number("limit", 1000, "lines of each launch, at most");
};

} // namespace

LUTHIER_TOOL(PrintStores)
