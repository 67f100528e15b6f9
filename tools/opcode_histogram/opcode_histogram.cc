// What kinds of instructions kernels execute: per opcode, class or type of data, with FLOPs and bytes.
//
// Runs of instructions are counted, not instructions (luthier/run_counts.h).
#include "opcode_histogram_hooks.h"

#include <luthier/run_counts.h>
#include <luthier/work.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace {

struct Sums {
  uint64_t instructions = 0, lanes = 0, flops = 0, bytes = 0;
};

class OpcodeHistogram : public luthier::Tool {
public:
  void start() override {
    if (by_ == "class")
      report().columns({"kernel", "class", "instructions", "lanes", "flops", "bytes"});
    else if (by_ == "type")
      report().columns({"kernel", "type", "instructions", "lanes", "flops", "bytes"});
    else
      report().columns({"kernel", "opcode", "class", "instructions", "lanes", "flop type", "flops", "bytes"});
  }

  void instrument(luthier::Kernel &kernel, luthier::Site at) override { counts_.count(kernel, at); }

  void finished(const luthier::Launch &launch) override { counts_.finished(launch); }

  void exit() override {
    std::map<luthier::KernelId, std::map<std::string, Row>> kernels;
    counts_.forEach([&](const luthier::InstrCount &count) {
      add(kernels[together_ ? luthier::KernelId() : count.kernel], typeOf(count), count.waves, count.lanes);
    });
    for (const auto &[kernel, rows] : kernels) {
      std::vector<std::pair<std::string, Row>> sorted(rows.begin(), rows.end());
      std::ranges::sort(sorted, [](const auto &a, const auto &b) {
        return std::pair(b.second.sums.instructions, a.first) < std::pair(a.second.sums.instructions, b.first);
      });
      for (const auto &[name, row] : sorted) {
        const Sums &sums = row.sums;
        if (sums.instructions == 0)
          continue;
        const auto add = [&](const auto &what) {
          if (by_ == "opcode")
            report().row(what, name, row.work->kind, sums.instructions, sums.lanes, row.work->flopType, sums.flops,
                         sums.bytes);
          else
            report().row(what, name, sums.instructions, sums.lanes, sums.flops, sums.bytes);
        };
        if (together_)
          add("(all)");
        else
          add(kernel);
      }
    }
  }

private:
  /// Instructions that are counted alike.
  struct Type {
    std::string opcode;
    luthier::Work work;
  };
  struct Row {
    const luthier::Work *work = nullptr;
    Sums sums;
  };

  const Type &typeOf(const luthier::InstrCount &count) {
    luthier::Work work = luthier::workOf(*count.function, *count.instr);
    std::string opcode(count.instr->mnemonic());
    // One opcode may move different amounts (buffer formats), or have operands of different sizes (matrices).
    const auto key = std::tuple(opcode, work.bytesPerLane + work.bytesPerWave, work.flopsPerWave + work.flopsPerLane);
    return types_.try_emplace(key, Type{opcode, work}).first->second;
  }

  void add(std::map<std::string, Row> &rows, const Type &type, uint64_t waves, uint64_t lanes) {
    const luthier::Work &work = type.work;
    const uint64_t flops = work.flopsPerLane * lanes + work.flopsPerWave * waves;
    const uint64_t bytes = work.bytesPerLane * lanes + work.bytesPerWave * waves;
    const auto count = [&](const std::string &name, uint64_t itsFlops, uint64_t itsBytes) {
      Row &row = rows[name];
      row.work = &work;
      row.sums.instructions += waves;
      row.sums.lanes += lanes;
      row.sums.flops += itsFlops;
      row.sums.bytes += itsBytes;
    };
    if (by_ != "type")
      return count(by_ == "class" ? work.kind : type.opcode, flops, bytes);
    if (!work.flopType.empty())
      count(work.flopType, flops, 0);
    if (!work.byteType.empty())
      count(work.byteType, 0, bytes);
  }

  std::string by_ = choice("by", {"opcode", "class", "type"}, "what a row is of");
  bool together_ = choice("per", {"kernel", "run"}, "a histogram per kernel, or one of the whole run") == "run";
  std::map<std::tuple<std::string, uint64_t, uint64_t>, Type> types_;
  luthier::RunCounts counts_{*this, LUTHIER_RUN_COUNTS(hooks)};
};

} // namespace

LUTHIER_TOOL(OpcodeHistogram)
