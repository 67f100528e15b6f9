#include "vgpu/wave/access_sums.h"

#include "luthier/memory_space_name.h"
#include "vgpu/wave/observer.h"
#include "vgpu/wave/trace.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace luthier::vgpu {

void AccessSums::merge(const Key &key, const Row &row) {
  std::lock_guard lock(mutex_);
  Row &all = rows_[key];
  all.operands = row.operands;
  all.sum.add(row.sum);
}

void AccessSums::write(const Observation &observation) {
  std::lock_guard lock(mutex_);
  for (const auto &[key, row] : rows_)
    observation.trace->write(fmt::format(
        R"({{"dispatch":{},"kernel":{},"pc":"{:#x}","offset":{},"inst":{},"space":"{}","second":{},)"
        R"("executed":{},"lanes":{},"mask_sum":"{:#018x}","address_sum":"{:#018x}"}})"
        "\n",
        observation.number, nlohmann::json(observation.kernel).dump(), key.first,
        static_cast<int64_t>(key.first - observation.entry), nlohmann::json(row.operands->text).dump(),
        nameOf(row.operands->space), key.second, row.sum.executed, row.sum.lanes, row.sum.masks, row.sum.addresses));
  rows_.clear();
}

WaveAccessSums::~WaveAccessSums() {
  for (const auto &[inst, known] : known_)
    for (const bool second : {false, true})
      if (const AccessSum &sum = second ? known.second : known.first; sum.executed)
        observation_.accessSums.merge({known.pc, second}, {known.operands, sum});
}

WaveAccessSums::Known &WaveAccessSums::know(const Wave &w, const Inst *inst) {
  Recent &recent = recent_[reinterpret_cast<uintptr_t>(inst) / sizeof(Inst) % recent_.size()];
  if (recent.inst == inst)
    return *recent.known;
  const auto [it, isNew] = known_.try_emplace(inst);
  if (isNew)
    it->second = {w.pc(inst), &observation_.operands.of(w, inst), {}, {}};
  recent = {inst, &it->second};
  return it->second;
}

void WaveAccessSums::before(const Wave &w, const Inst *inst) {
  current_ = &know(w, inst);
  mask_ = 0;
  const Operands &o = *current_->operands;
  if (!o.memory)
    return;
  addressesOf(w, o, addresses_);
  if (!addresses_.first.empty())
    mask_ = o.space == MemorySpace::Scalar ? 1 : w.exec();
}

void WaveAccessSums::after() {
  if (!mask_) // no memory, or no lane
    return;
  current_->first.add(mask_, addresses_.first.data());
  if (!addresses_.second.empty())
    current_->second.add(mask_, addresses_.second.data());
}

} // namespace luthier::vgpu
