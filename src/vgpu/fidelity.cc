#include "vgpu/fidelity.h"

#include "vgpu/coverage.h"
#include "vgpu/exec/level.h"
#include "vgpu/exec/renamed.h"

#include <algorithm>
#include <unordered_map>

namespace luthier::vgpu {

Result<std::vector<OpcodeFidelity>> fidelity(const isa::Target &target) {
  const Coverage covered = LUTHIER_TRY(coverage(target));
  std::unordered_map<std::string_view, const Row *> rows;
  for (const std::span<const Row> table : execLevel(target.waveSize).tables)
    for (const Row &row : table)
      rows.emplace(row.mnemonic, &row);
  for (const auto &[name, row] : kRenamed)
    if (const auto same = rows.find(row); same != rows.end())
      rows.emplace(name, same->second);

  std::vector<OpcodeFidelity> result;
  for (const std::string &mnemonic : covered.implemented) {
    const Row &row = *rows.at(mnemonic);
    result.push_back({mnemonic, row.fidelity, std::string(row.reason)});
  }
  for (const std::string &mnemonic : covered.missing)
    result.push_back({mnemonic, Fidelity::Refused, "not implemented"});
  for (const Coverage::Group &group : covered.graphics)
    for (const std::string &mnemonic : group.mnemonics)
      result.push_back({mnemonic, Fidelity::Refused, group.reason});
  std::ranges::sort(result, {}, &OpcodeFidelity::mnemonic);
  return result;
}

} // namespace luthier::vgpu
