// What hooks saw, compared with what the virtual GPU saw: the original is stepped through, instruction by instruction,
// and its registers are what the hooks of the rewritten kernel must have written down.
#pragma once

#include "run_fixture.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <map>

#include <unistd.h>

namespace luthier::rewrite::test {

struct Record {
  uint32_t what, lane;
  uint64_t value;
  auto operator<=>(const Record &) const = default;
};
inline constexpr uint32_t kWholeWave = UINT32_MAX;

inline std::vector<Record> recordsOf(const Outcome &outcome) {
  const auto count = valueOf<uint32_t>(outcome, "recordCount");
  const std::vector<std::byte> bytes = outcome.variable("records");
  EXPECT_LE(count * sizeof(Record), bytes.size());
  std::vector<Record> records(std::min<size_t>(count, bytes.size() / sizeof(Record)));
  memcpy(records.data(), bytes.data(), records.size() * sizeof(Record));
  return records;
}

inline uint32_t valueIn(const vgpu::WaveView &wave, Reg reg, unsigned lane) {
  if (isVector(reg))
    return wave.v(number(reg) - number(Reg::V0), lane);
  if (isAccumulator(reg))
    return wave.acc(number(reg) - number(Reg::A0), lane);
  return reg == Reg::Scc ? wave.scc() : wave.s(number(reg));
}
inline uint64_t valueIn(const vgpu::WaveView &wave, RegRange regs, unsigned lane) {
  const uint64_t low = valueIn(wave, regs.first, lane);
  return regs.count < 2 ? low : low | uint64_t{valueIn(wave, regs.first + 1, lane)} << 32;
}

/// Something that is watched before an instruction; its number in the list is Record::what.
struct Watch {
  uint64_t address = 0; ///< of the instruction, in the file
  bool wave = false;    ///< by a wave hook
  std::function<uint64_t(const vgpu::WaveView &, const nlohmann::json &, unsigned lane)> expected;
};

class Watcher {
public:
  Watcher(Subject &subject, std::string kernel) : subject_(subject), kernel_(std::move(kernel)) {}

  void add(const object::Symbol *function, const Instr &instr, bool wave, unsigned dwords, const Argument &argument,
           decltype(Watch::expected) expected) {
    Insertion insertion =
        subject_.before(instr, wave ? (dwords == 2 ? "seeWave64" : "seeWave") : (dwords == 2 ? "seeLane64" : "seeLane"),
                        {Argument::constant(watches_.size()), argument});
    insertion.function = function;
    insertions_.push_back(std::move(insertion));
    watches_.push_back({instr.address(), wave, std::move(expected)});
  }
  void addRegisters(const object::Symbol *function, const Instr &instr, RegRange regs, const Argument &argument) {
    if (regs.count > 2)
      return;
    const bool vector = isVector(regs.first) || isAccumulator(regs.first);
    add(function, instr, !vector, regs.count, argument,
        [regs](const vgpu::WaveView &wave, const nlohmann::json &, unsigned lane) {
          return valueIn(wave, regs, lane);
        });
  }
  /// An effective address; `key` says where the trace has it.
  void addAddress(const object::Symbol *function, const Instr &instr, unsigned access) {
    const MemoryAccess memory = *instr.memory();
    const bool scalar = memory.space == MemorySpace::Scalar;
    const bool narrow = memory.space == MemorySpace::Lds || memory.space == MemorySpace::Scratch;
    add(function, instr, scalar, narrow ? 1 : 2, Argument::address(access),
        [=, key = access ? "addresses2" : "addresses"](const vgpu::WaveView &, const nlohmann::json &line,
                                                       unsigned lane) -> uint64_t {
          const auto found = line.find(key);
          if (found == line.end()) {
            ADD_FAILURE() << "no " << key << " in " << line.value("inst", "?");
            return 0;
          }
          return (*found)[scalar ? 0 : lane].get<uint64_t>();
        });
    add(function, instr, scalar, 1, Argument::width(),
        [bytes = memory.bytes](const vgpu::WaveView &, const nlohmann::json &, unsigned) { return bytes; });
  }
  size_t size() const { return watches_.size(); }

  /// Runs both and compares.
  void check(Machine &machine) {
    const std::vector<std::byte> file = subject_.rewritten(kernel_, insertions_);
    const std::vector<Record> expected = expectedRecords(machine);
    ASSERT_FALSE(expected.empty());
    for (const bool strict : {true, false}) {
      SCOPED_TRACE(strict ? "strict" : "normal");
      const Outcome original = machine.run(subject_.file.bytes, kernel_, {.strict = strict});
      const Outcome seen = machine.run(file, kernel_, {.strict = strict});
      ASSERT_EQ(original.error + seen.error, "");
      EXPECT_TRUE(seen.out == original.out) << "the kernel's own results differ";
      compare(expected, recordsOf(seen));
    }
  }

private:
  /// The original's trace has addresses, its stepper the registers; both are the same steps.
  std::vector<Record> expectedRecords(Machine &machine) {
    const object::Symbol &kernel = subject_.file.kernel(kernel_);
    auto module = must(machine.gpu().load(subject_.file.bytes));
    const vgpu::Kernel &loaded = *module->kernel(kernel_);
    const std::string trace = testing::TempDir() + "trace." + kernel_ + std::to_string(getpid()) + ".json";
    machine.fill();
    vgpu::LaunchOptions launch{.grid = {64}, .workgroup = {64}};
    std::remove(trace.c_str()); // of a run that was cut short
    launch.traceFile = trace;
    (void)must(machine.gpu().run(loaded, launch, machine.arguments()));
    std::vector<nlohmann::json> lines;
    std::ifstream stream(trace);
    for (std::string line; std::getline(stream, line);)
      lines.push_back(nlohmann::json::parse(line));
    std::remove(trace.c_str());

    std::vector<Record> records;
    machine.fill();
    launch.traceFile.clear();
    auto stepper = must(machine.gpu().step(loaded, launch, machine.arguments()));
    const uint64_t delta = stepper->wave(0).pc() - kernel.address;
    std::multimap<uint64_t, uint32_t> at;
    for (uint32_t n = 0; n < watches_.size(); ++n)
      at.emplace(watches_[n].address, n);
    for (size_t step = 0; !stepper->wave(0).ended(); ++step) {
      const vgpu::WaveRef wave = stepper->wave(0);
      EXPECT_LT(step, lines.size());
      if (wave.faulted() || step >= lines.size())
        break;
      const auto [begin, end] = at.equal_range(wave.pc() - delta);
      for (auto it = begin; it != end; ++it) {
        const Watch &watch = watches_[it->second];
        if (watch.wave)
          records.push_back({it->second, kWholeWave, watch.expected(wave, lines[step], 0)});
        else
          for (unsigned lane = 0; lane < 64; ++lane)
            if (wave.exec() >> lane & 1)
              records.push_back({it->second, lane, watch.expected(wave, lines[step], lane)});
      }
      stepper->step(0);
    }
    return records;
  }

  void compare(const std::vector<Record> &expected, const std::vector<Record> &seen) {
    // Lanes are recorded in any order among themselves.
    const auto ordered = [](const std::vector<Record> &records) {
      std::map<uint32_t, std::vector<Record>> lanes;
      for (const Record &record : records)
        lanes[record.lane].push_back(record);
      std::vector<Record> all;
      for (const auto &[lane, list] : lanes)
        all.insert(all.end(), list.begin(), list.end());
      return all;
    };
    const std::vector<Record> a = ordered(expected), b = ordered(seen);
    EXPECT_EQ(a.size(), b.size());
    unsigned shown = 0;
    for (size_t n = 0; n < std::min(a.size(), b.size()) && shown < 5; ++n)
      if (a[n] != b[n]) {
        ++shown;
        ADD_FAILURE() << "record " << n << ": watch " << a[n].what << " at " << std::hex << watches_[a[n].what].address
                      << ", lane " << a[n].lane << " has " << a[n].value << "; seen: watch " << b[n].what << ", lane "
                      << b[n].lane << ", " << b[n].value;
      }
  }

  Subject &subject_;
  std::string kernel_;
  std::vector<Insertion> insertions_;
  std::vector<Watch> watches_;
};

} // namespace luthier::rewrite::test
