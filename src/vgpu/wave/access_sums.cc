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

void AccessSums::write(const Observation &observation) const {
  for (const auto &[key, row] : rows_)
    observation.trace->write(
        fmt::format(R"({{"dispatch":{},"kernel":{},"pc":"{:#x}","offset":{},"inst":{},"space":"{}","second":{},)"
                    R"("executed":{},"lanes":{},"mask_sum":"{:#018x}","address_sum":"{:#018x}"}})"
                    "\n",
                    observation.number, nlohmann::json(observation.kernel).dump(), key.first,
                    static_cast<int64_t>(key.first - observation.entry), nlohmann::json(row.operands->text).dump(),
                    nameOf(row.operands->space), key.second, row.sum.executed, row.sum.lanes, row.sum.masks,
                    row.sum.addresses));
}

WaveAccessSums::~WaveAccessSums() {
  for (const auto &[inst, rows] : rows_)
    for (const bool second : {false, true})
      if (const AccessSums::Row &row = second ? rows.second : rows.first; row.operands)
        sums_.merge({rows.pc, second}, row);
}

void WaveAccessSums::before(const Wave &w, const Operands &o) {
  mask_ = 0;
  if (o.space == MemorySpace::None)
    return;
  addresses_ = addressesOf(w, o);
  if (!addresses_.first.empty())
    mask_ = o.space == MemorySpace::Scalar ? 1 : w.exec();
}

void WaveAccessSums::after(const Wave &w, const Inst *inst, const Operands &o) {
  if (!mask_) // no memory, or no lane
    return;
  Rows &rows = rows_[inst];
  rows.pc = w.pc(inst);
  rows.first.operands = &o;
  rows.first.sum.add(mask_, addresses_.first.data());
  if (addresses_.second.empty())
    return;
  rows.second.operands = &o;
  rows.second.sum.add(mask_, addresses_.second.data());
}

} // namespace luthier::vgpu
