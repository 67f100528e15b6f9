// Prints the values of registers at chosen instructions, while kernels run.
#include "reg_values_hooks.h"

#include <algorithm>
#include <cstdio>
#include <set>

struct RegValues : luthier::Tool {
  std::vector<uint64_t> at =
      addresses("at", "instructions by their addresses in the code object's file: 1684,16a0,...");
  std::string names = option("regs", "",
                             "registers: v3,s4,a0,vcc0,exec1,...; by default the vector registers that the "
                             "instruction reads");
  bool after =
      flag("after", "look when the instruction has been executed, not before; by default at what it has written");
  uint64_t limit = number("limit", 1000, "lines of each launch, at most");
  std::set<uint64_t> found;

  void start() override {
    report().columns({"kernel", "launch", "values", "printed"});
    if (at.empty())
      warn("--reg_values.at names no instruction: nothing is printed");
  }

  void watch(luthier::Point point, const luthier::Instr &instr, luthier::Reg reg) const {
    const auto where = static_cast<uint32_t>(instr.address());
    const luthier::SizedArg<32> value = luthier::arg::reg(reg);
    if (luthier::isVector(reg))
      point.call(hooks::vgpr, limit, where, indexOf(reg, luthier::Reg::V0), value);
    else if (luthier::isAccumulator(reg))
      point.call(hooks::accVgpr, limit, where, indexOf(reg, luthier::Reg::A0), value);
    else if (reg == luthier::Reg::VccLo || reg == luthier::Reg::VccHi)
      point.call(hooks::vcc, limit, where, indexOf(reg, luthier::Reg::VccLo), value);
    else if (reg == luthier::Reg::ExecLo || reg == luthier::Reg::ExecHi)
      point.call(hooks::exec, limit, where, indexOf(reg, luthier::Reg::ExecLo), value);
    else
      point.call(hooks::sgpr, limit, where, indexOf(reg, luthier::Reg::S0), value);
  }
  static uint32_t indexOf(luthier::Reg reg, luthier::Reg first) {
    return luthier::number(reg) - luthier::number(first);
  }

  /// Those that the user has named, or else what the instruction reads or writes.
  std::vector<luthier::Reg> registersOf(const luthier::Instr &instr) {
    std::vector<luthier::Reg> regs;
    for (size_t begin = 0; begin < names.size();) {
      const size_t end = std::min(names.find(',', begin), names.size());
      const std::string name = names.substr(begin, end - begin);
      begin = end + 1;
      const size_t digits = std::min(name.find_first_of("0123456789"), name.size());
      const std::string file = name.substr(0, digits);
      unsigned n = 0;
      const auto [rest, error] = std::from_chars(name.data() + digits, name.data() + name.size(), n);
      const bool mask = file == "vcc" || file == "exec";
      const luthier::Reg first = file == "v"     ? luthier::Reg::V0
                                 : file == "a"   ? luthier::Reg::A0
                                 : file == "s"   ? luthier::Reg::S0
                                 : file == "vcc" ? luthier::Reg::VccLo
                                                 : luthier::Reg::ExecLo;
      if ((!mask && file != "v" && file != "a" && file != "s") || error != std::errc() ||
          rest != name.data() + name.size() ||
          n >= (mask          ? 2u
                : file == "s" ? 106u
                              : 256u))
        warn("--reg_values.regs: " + name + " is not a register; expected v3, a0, s4, vcc0 or exec1, say");
      else
        regs.push_back(first + n);
    }
    if (names.empty())
      for (const luthier::Operand &operand : instr.operands())
        if (operand.kind == luthier::OperandKind::Register && (after ? operand.written : operand.read))
          for (unsigned n = 0; n < operand.regs.count; ++n)
            if (after || luthier::isVector(operand.regs.first))
              regs.push_back(operand.regs.first + n);
    return regs;
  }

  void instrument(luthier::Kernel &kernel, luthier::Site site) override {
    for (const luthier::Function &function : kernel.functions())
      for (const luthier::Instr &instr : function.instrs())
        if (std::ranges::find(at, instr.address()) != at.end()) {
          found.insert(instr.address());
          for (const luthier::Reg reg : registersOf(instr))
            watch(after ? site.after(instr) : site.before(instr), instr, reg);
        }
  }

  void finished(const luthier::Launch &launch) override {
    const uint64_t values = launch.read(hooks::lines);
    if (launch.instrumented())
      report().row(launch.kernel(), launch.number(), values, std::min(values, limit));
  }

  void exit() override {
    for (const uint64_t address : at) {
      char text[32];
      std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
      if (!found.contains(address))
        warn(std::string("--reg_values.at: no kernel that was launched has an instruction at ") + text);
    }
  }
};
LUTHIER_TOOL(RegValues)
