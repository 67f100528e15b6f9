#include "analysis/count_plan.h"

#include "code.h"

#include <fmt/format.h>

#include <bit>
#include <map>
#include <random>

namespace luthier::analysis::test {
namespace {

/// Executes what the tests' code has in it: EXEC and pairs of SGPRs; conditions are drawn. Counts what a tool would.
class Machine {
public:
  Machine(std::vector<const Cfg *> functions, unsigned seed)
      : functions_(std::move(functions)), plan_(CountPlan::of(functions_)), random_(seed),
        values_(plan_.counters().size()), truth_(plan_.runs().size()) {
    for (uint32_t n = 0; n < plan_.runs().size(); ++n)
      runAt_[{plan_.runs()[n].function, plan_.runs()[n].first}] = n;
    for (uint32_t n = 0; n < plan_.counters().size(); ++n) {
      const CountPlan::Counter &counter = plan_.counters()[n];
      at_[{counter.function, counter.instr, counter.edge.value_or(Cfg::kNone)}].push_back(n);
    }
  }

  /// Whether it came to its end.
  bool wave(uint64_t exec) {
    ++waves_;
    startLanes_ = static_cast<uint64_t>(std::popcount(exec));
    workItems_ += startLanes_;
    exec_ = exec;
    vcc_ = 0;
    registers_.clear();
    steps_ = 0;
    return function(0) != Outcome::Lost;
  }

  void check(const std::string &what) const {
    const auto counts = plan_.solve(values_, waves_, workItems_);
    const CountPlan::Weights weights = plan_.weights();
    uint64_t instructions = 0, lanes = 0, sums[2] = {weights.perWave * waves_, weights.perWorkItem * workItems_};
    for (size_t n = 0; n < counts.size(); ++n) {
      const CountPlan::Run &run = plan_.runs()[n];
      ASSERT_EQ(counts[n].waves, truth_[n].waves) << what << "\nvisits of " << run.function << ":" << run.first;
      ASSERT_EQ(counts[n].lanes, truth_[n].lanes) << what << "\nlanes of " << run.function << ":" << run.first;
      instructions += run.count * truth_[n].waves;
      lanes += run.count * truth_[n].lanes;
    }
    for (size_t n = 0; n < values_.size(); ++n)
      sums[plan_.counters()[n].what == CountPlan::What::Lanes] += weights.ofCounter[n] * values_[n];
    EXPECT_EQ(sums[0], instructions) << what;
    EXPECT_EQ(sums[1], lanes) << what;
  }
  const CountPlan &plan() const { return plan_; }

private:
  enum class Outcome { Returned, Ended, Lost };

  uint64_t &pair(RegRange regs) {
    return regs.first == Reg::ExecLo  ? exec_
           : regs.first == Reg::VccLo ? vcc_
                                      : registers_[static_cast<unsigned>(regs.first)];
  }
  uint64_t draw() { return random_() % 4 == 0 ? 0 : uint64_t{random_()} << 32 | random_(); }

  void count(uint32_t function, uint32_t instr, uint32_t edge) {
    const auto found = at_.find({function, instr, edge});
    if (found == at_.end())
      return;
    for (const uint32_t n : found->second) {
      const CountPlan::Counter &counter = plan_.counters()[n];
      const auto lanes = static_cast<uint64_t>(std::popcount(exec_));
      if (counter.timesStartLanes) {
        EXPECT_EQ(lanes, startLanes_);
      }
      values_[n] += counter.what == CountPlan::What::Visits ? 1 : lanes;
    }
  }

  Outcome function(uint32_t number) {
    const Cfg &cfg = *functions_[number];
    for (uint32_t n = 0;;) {
      const Block &block = cfg.blocks()[n];
      uint32_t run = 0;
      for (uint32_t k = block.first; k <= block.last(); ++k) {
        if (++steps_ > 2000)
          return Outcome::Lost;
        count(number, k, Cfg::kNone);
        if (const auto found = runAt_.find({number, k}); found != runAt_.end()) {
          run = found->second;
          ++truth_[run].waves;
          truth_[run].lanes += static_cast<uint64_t>(std::popcount(exec_));
        }
        execute(cfg.instrs()[k]);
      }
      const std::string_view last = cfg.terminator(block).mnemonic();
      if (block.call == CallKind::Direct) {
        for (uint32_t callee = 0; callee < functions_.size(); ++callee)
          if (functions_[callee]->instrs().front().address() == block.callTarget)
            if (const Outcome outcome = function(callee); outcome != Outcome::Returned)
              return outcome;
      }
      if (block.exit == Exit::End)
        return Outcome::Ended;
      if (block.exit == Exit::Return)
        return Outcome::Returned;
      const auto ways = cfg.successors(block);
      if (ways.empty())
        return Outcome::Lost;
      bool taken = random_() % 2;
      if (last.starts_with("s_cbranch_exec"))
        taken = (exec_ == 0) == last.starts_with("s_cbranch_execz");
      const Edge *way = ways.data();
      for (const Edge &each : ways)
        if (ways.size() > 1 && (each.kind == EdgeKind::Taken) == taken)
          way = &each;
      count(number, block.last(), static_cast<uint32_t>(way - cfg.edges().data()));
      n = way->to;
    }
  }

  void execute(const Instr &instr) {
    const std::string_view name = instr.mnemonic();
    const auto operand = [&](unsigned n) -> uint64_t & { return pair(instr.operands()[n].regs); };
    if (name.starts_with("v_cmp"))
      vcc_ = draw() & exec_;
    else if (name.starts_with("s_and_saveexec")) {
      const uint64_t mask = operand(1);
      operand(0) = exec_;
      exec_ &= mask;
    } else if (name.starts_with("s_or_b64"))
      operand(0) = operand(1) | operand(2);
    else if (name.starts_with("s_xor_b64"))
      operand(0) = operand(1) ^ operand(2);
    else if (name.starts_with("s_andn2_b64"))
      operand(0) = operand(1) & ~operand(2);
    else if (name.starts_with("s_mov_b64"))
      operand(0) = operand(1);
  }

  std::vector<const Cfg *> functions_;
  CountPlan plan_;
  std::mt19937 random_;
  std::vector<uint64_t> values_;
  std::vector<CountPlan::Count> truth_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> runAt_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::vector<uint32_t>> at_;
  std::map<unsigned, uint64_t> registers_;
  uint64_t exec_ = 0, vcc_ = 0, startLanes_ = 0, waves_ = 0, workItems_ = 0;
  unsigned steps_ = 0;
};

/// Counters in short: "visits 3, lanes 5 slot 0, lanes 7>2".
std::string placesOf(const CountPlan &plan, const std::vector<const Cfg *> &functions) {
  std::string text;
  for (const CountPlan::Counter &counter : plan.counters()) {
    const Cfg &cfg = *functions[counter.function];
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", counter.what == CountPlan::What::Lanes ? "lanes" : "visits",
                    counter.edge ? fmt::format("{}>{}", cfg.edges()[*counter.edge].from, cfg.edges()[*counter.edge].to)
                                 : std::to_string(cfg.blockOf(counter.instr)));
    if (counter.function)
      text += fmt::format(" of {}", counter.function);
    if (counter.slot)
      text += fmt::format(" slot {}{}", *counter.slot, counter.timesStartLanes ? " times start" : "");
  }
  return text;
}

std::string checked(const std::vector<std::string> &sources, bool mustEnd = true) {
  std::vector<std::unique_ptr<Code>> codes;
  std::vector<const Cfg *> functions;
  for (const std::string &source : sources) {
    codes.push_back(std::make_unique<Code>(
        source, CodeOptions{.kernel = functions.empty(), .address = 0x1000 + 0x1000 * functions.size()}));
    functions.push_back(&codes.back()->cfg());
  }
  Machine machine(functions, 7);
  for (int n = 0; n < 50; ++n)
    if (const bool ended = machine.wave(n % 3 ? ~0ull : 0xffffff); !ended) {
      EXPECT_FALSE(mustEnd) << sources[0];
      return "lost";
    }
  machine.check(sources[0]);
  return placesOf(machine.plan(), functions);
}

const std::string kIf =
    "v_cmp_gt_i32_e32 vcc, 0, v0\ns_and_saveexec_b64 s[0:1], vcc\ns_cbranch_execz end\nv_mov_b32_e32 v1, 0\nend:\n";

TEST(CountPlan, NothingToCount) { EXPECT_EQ(checked({"s_nop 0\ns_branch next\nnext:\ns_endpgm"}), ""); }

TEST(CountPlan, BranchOverNoLanes) {
  // The lanes of the block are those of the branch; what is skipped counts where it is skipped.
  EXPECT_EQ(checked({kIf + "s_endpgm"}), "visits 0>2, lanes 1");
  EXPECT_EQ(checked({kIf + "s_or_b64 exec, exec, s[0:1]\nv_mov_b32_e32 v1, 0\ns_endpgm"}), "visits 0>2, lanes 1");
}

TEST(CountPlan, Loops) {
  EXPECT_EQ(checked({"s_nop 0\nloop:\ns_nop 1\ns_cbranch_scc0 loop\ns_endpgm"}),
            "visits 1 slot 0, lanes 1 slot 0 times start");
  checked({"s_nop 0\nouter:\ns_nop 0\ninner:\ns_nop 1\ns_cbranch_scc0 inner\ns_cbranch_scc1 outer\ns_endpgm"});
  // Lanes leave one by one.
  checked({"s_mov_b64 s[2:3], 0\nloop:\nv_cmp_gt_i32_e32 vcc, 0, v0\ns_or_b64 s[2:3], vcc, s[2:3]\n"
           "s_andn2_b64 exec, exec, s[2:3]\ns_cbranch_execnz loop\ns_or_b64 exec, exec, s[2:3]\ns_endpgm"});
}

TEST(CountPlan, CriticalEdge) {
  EXPECT_EQ(checked({"s_cbranch_scc0 end\ns_nop 0\nend:\ns_endpgm"}), "visits 1, lanes 1");
}

TEST(CountPlan, IrreducibleAndEndless) {
  checked({"s_cbranch_scc0 second\nfirst:\ns_nop 0\ns_cbranch_scc1 end\nsecond:\ns_nop 1\ns_cbranch_scc0 "
           "first\nend:\ns_endpgm"});
  checked({"loop:\ns_branch loop"}, false);
}

TEST(CountPlan, SeveralExitsAndCalls) {
  checked({"s_cbranch_scc0 other\ns_endpgm\nother:\ns_nop 0\ns_endpgm"});
  // The callee is 0x1000 behind the kernel; it returns, or ends the wave.
  const std::string call = "s_call_b64 s[30:31], 1023\ns_nop 0\ns_endpgm";
  EXPECT_EQ(checked({call, "s_cbranch_scc0 end\ns_nop 0\nend:\ns_setpc_b64 s[30:31]"}),
            "visits 1 of 1, visits 0>2 of 1, lanes 1 of 1, lanes 0>2 of 1");
  checked({call, "s_cbranch_scc0 end\ns_endpgm\nend:\ns_setpc_b64 s[30:31]"});
  // One that does not put EXEC back: nothing is known about lanes behind the call.
  checked({call, "v_cmp_gt_i32_e32 vcc, 0, v0\ns_and_saveexec_b64 s[0:1], vcc\ns_setpc_b64 s[30:31]"});
}

TEST(CountPlan, RandomPrograms) {
  std::mt19937 random(3);
  unsigned ended = 0;
  for (int round = 0; round < 150; ++round) {
    std::string source;
    unsigned label = 0;
    // Structured code: branches over lanes, with the other side or not, loops, and jumps to anywhere now and then.
    std::vector<std::string> labels;
    const auto body = [&](auto &&self, unsigned depth) -> void {
      for (unsigned n = 1 + random() % 3; n > 0; --n) {
        const std::string own = fmt::format("l{}", label++),
                          saved = fmt::format("s[{}:{}]", 4 + 2 * depth, 5 + 2 * depth);
        switch (depth < 5 ? random() % 7 : 6) {
        case 0:
        case 1: {
          const bool skips = random() % 4;
          source += fmt::format("v_cmp_gt_i32_e32 vcc, 0, v0\ns_and_saveexec_b64 {}, vcc\n", saved);
          if (skips)
            source += fmt::format("s_cbranch_execz {}\n", own);
          source += "v_mov_b32_e32 v1, 0\n";
          self(self, depth + 1);
          source += fmt::format("{}:\ns_or_b64 exec, exec, {}\n", own, saved);
          break;
        }
        case 2:
          if (random() % 2) { // those that have left are collected, and come back
            const std::string left = fmt::format("s[{}:{}]", 20 + 2 * depth, 21 + 2 * depth);
            source += fmt::format("s_mov_b64 {}, 0\n{}:\nv_cmp_gt_i32_e32 vcc, 0, v0\ns_or_b64 {}, vcc, {}\n", left,
                                  own, left, left);
            self(self, depth + 1);
            source += fmt::format("s_andn2_b64 exec, exec, {}\ns_cbranch_execnz {}\ns_or_b64 exec, exec, {}\n", left,
                                  own, left);
            break;
          }
          source += fmt::format("s_mov_b64 {}, exec\n{}:\nv_cmp_gt_i32_e32 vcc, 0, v0\n", saved, own);
          self(self, depth + 1);
          source += fmt::format("s_andn2_b64 exec, exec, vcc\ns_cbranch_execnz {}\ns_mov_b64 exec, {}\n", own, saved);
          break;
        case 3:
          source += own + ":\n";
          self(self, depth + 1);
          source += fmt::format("s_cbranch_scc0 {}\n", own);
          break;
        case 4:
          source += fmt::format("s_cbranch_scc1 {}\n", own);
          self(self, depth + 1);
          source += own + ":\n";
          break;
        case 5:
          if (!labels.empty() && random() % 3 == 0) {
            source += fmt::format("s_cbranch_vccz {}\n", labels[random() % labels.size()]);
            break;
          }
          [[fallthrough]];
        default:
          labels.push_back(fmt::format("m{}", label++));
          source += labels.back() + ":\nv_mov_b32_e32 v2, 0\n";
        }
      }
    };
    body(body, 0);
    ended += checked({source + "s_endpgm"}, false) != "lost";
    if (HasFailure())
      break;
  }
  EXPECT_GT(ended, 50u); // others have loops that take too long
}

} // namespace
} // namespace luthier::analysis::test
