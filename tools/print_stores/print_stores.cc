// Prints the stores of kernels while they run: a line for each lane, made by printf in the hook.
#include "print_stores_hooks.h"

#include <algorithm>
#include <cstdlib>
#include <set>

namespace {

using luthier::MemorySpace;

class PrintStores : public luthier::Tool {
public:
  void start() override {
    report().columns({"kernel", "launch", "stores", "printed"});
    for (const char *at = pcs_.c_str(); *at;) {
      char *end = nullptr;
      wanted_.insert(std::strtoull(at, &end, 16));
      if (end == at || (*end && *end != ',')) {
        warn("option pc: '" + pcs_ + "' is no list of addresses: nothing is printed");
        wanted_ = {0};
        return;
      }
      at = *end ? end + 1 : end;
    }
  }

  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    for (const luthier::Function &function : kernel.functions())
      for (const luthier::Instr &instr : function.instrs()) {
        const std::optional<luthier::MemoryAccess> access = instr.memory();
        if (!access || !access->store || access->atomic || access->load || !isWanted(access->space) ||
            (!wanted_.empty() && !wanted_.contains(kernel.objectNumber() << 48 | instr.address())))
          continue;
        print(at.before(instr), instr, access->bytes, access->data, 0);
        if (access->two)
          print(at.before(instr), instr, access->bytes, access->data2, 1);
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
    case MemorySpace::Buffer:
      return space_ == "global" || space_ == "all";
    case MemorySpace::Lds:
      return space_ == "lds" || space_ == "all";
    case MemorySpace::Scratch:
      return space_ == "scratch" || space_ == "all";
    default:
      return false;
    }
  }

  void print(luthier::Point point, const luthier::Instr &instr, uint32_t bytes, luthier::RegRange data,
             unsigned which) {
    const luthier::Arg pc = luthier::arg::pc(), address = luthier::arg::address(which), value = luthier::arg::reg(data);
    switch (data.count) {
    case 1:
      point.call(hooks::store1, pc, limit_, bytes, instr.mnemonic().ends_with("_d16_hi") ? 16u : 0u, address, value);
      break;
    case 2:
      point.call(hooks::store2, pc, limit_, address, value);
      break;
    case 3:
      point.call(hooks::store3, pc, limit_, address, value);
      break;
    default:
      point.call(hooks::store4, pc, limit_, address, value); // refuses what has more
    }
  }

  std::string pcs_ = option("pc", "", "only these instructions, as the lines call them: 2000000001644,...");
  std::string space_ = option("space", "global", "of which memory: global (flat and buffer too), lds, scratch, all");
  uint64_t limit_ = number("limit", 1000, "lines of each launch, at most");
  std::set<uint64_t> wanted_; ///< all, if empty
};

} // namespace

LUTHIER_TOOL(PrintStores)
