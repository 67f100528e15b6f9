#include "vgpu/wave/stats.h"

#include "support/log.h"
#include "support/variables.h"
#include "vgpu/exec/row.h"
#include "vgpu/wave/decoder.h"
#include "vgpu/wave/device.h"

#include <nlohmann/json.hpp>

namespace luthier::vgpu {

void DispatchCounters::merge(const std::vector<OpcodeCount> &counts, uint64_t waves) {
  std::lock_guard lock(mutex_);
  waves_ += waves;
  if (opcodes_.size() < counts.size())
    opcodes_.resize(counts.size());
  for (size_t n = 0; n < counts.size(); ++n) {
    opcodes_[n].waves += counts[n].waves;
    opcodes_[n].lanes += counts[n].lanes;
  }
}

Stats::Stats(std::string path) : file_(std::move(path)) {}

std::unique_ptr<Stats> Stats::fromEnvironment() {
  const auto path = env::outputFile(env::kStats);
  if (!path)
    log::error("{}; no statistics are written", path.error().message());
  return path && *path ? std::make_unique<Stats>(**path) : nullptr;
}

void Stats::add(const Dispatch &dispatch, const DispatchCounters &counters, const std::string &kernelName,
                const Decoder &decoder) {
  const Launch &launch = dispatch.launch();
  uint64_t waveInstructions = 0, laneInstructions = 0;
  nlohmann::json opcodes = nlohmann::json::object(), notExact = nlohmann::json::object();
  for (size_t n = 0; n < counters.opcodes().size(); ++n) {
    const OpcodeCount &count = counters.opcodes()[n];
    if (!count.waves)
      continue;
    waveInstructions += count.waves;
    laneInstructions += count.lanes;
    const std::string mnemonic = decoder.mnemonic(static_cast<uint16_t>(n));
    opcodes[mnemonic] = {{"wave_instructions", count.waves}, {"lane_instructions", count.lanes}};
    const Row *row = decoder.row(static_cast<uint16_t>(n));
    const Fidelity fidelity = row ? row->fidelity : Fidelity::Refused;
    if (fidelity != Fidelity::Exact)
      notExact[mnemonic] = nameOf(fidelity);
  }
  nlohmann::json entry = {{"kernel", kernelName},
                          {"gpu", dispatch.device().index()},
                          {"target", dispatch.device().target().name},
                          {"grid", launch.grid},
                          {"workgroup", launch.workgroup},
                          {"waves", counters.waves()},
                          {"wave_instructions", waveInstructions},
                          {"lane_instructions", laneInstructions},
                          {"begin", dispatch.startTime()},
                          {"end", dispatch.endTime()},
                          {"completed", dispatch.fault().kind == Fault::Kind::None},
                          {"opcodes", std::move(opcodes)},
                          {"not_exact", std::move(notExact)}};
  const std::string text = entry.dump();
  std::lock_guard lock(mutex_);
  file_.add(text);
}

void Stats::publish() {
  std::lock_guard lock(mutex_);
  file_.publish();
}

} // namespace luthier::vgpu
