#include "rewrite/prepared_fragment.h"

#include <algorithm>

namespace luthier::rewrite {

Result<std::unique_ptr<PreparedFragment>> PreparedFragment::make(std::shared_ptr<const hook::Fragment> fragment,
                                                                 isa::FieldFinder &finder) {
  auto result = std::make_unique<PreparedFragment>();
  std::vector<Cluster> tuples;
  for (const Instr &instr : fragment->code.instrs()) {
    auto made = InstrTemplate::make(instr, finder);
    if (!made)
      return made.error().withContext(fragment->hook);
    for (const isa::RegisterField &field : made->fields)
      tuples.push_back({field.regs, field.alignment, field.limit, false});
    result->instrs.push_back(*std::move(made));
  }
  // Values that only pass through are named by no instruction.
  for (const auto *ports : {&fragment->inputs, &fragment->outputs})
    for (const hook::Port &port : *ports)
      for (unsigned n = 0; n < port.regs.count; ++n)
        tuples.push_back({.regs = {port.regs.first + n, 1}});

  std::ranges::sort(tuples, {}, [](const Cluster &c) { return number(c.regs.first); });
  for (const Cluster &tuple : tuples) {
    Cluster *last = result->clusters.empty() ? nullptr : &result->clusters.back();
    if (last && number(tuple.regs.first) < number(last->regs.first) + last->regs.count) {
      const unsigned end =
          std::max(number(last->regs.first) + last->regs.count, number(tuple.regs.first) + tuple.regs.count);
      last->regs.count = static_cast<uint16_t>(end - number(last->regs.first));
      last->alignment = std::max(last->alignment, tuple.alignment);
      last->limit = std::min(last->limit, tuple.limit);
    } else
      result->clusters.push_back(tuple);
  }
  for (Cluster &cluster : result->clusters)
    cluster.written = fragment->writes.containsAny(cluster.regs);
  std::ranges::sort(result->clusters, [](const Cluster &a, const Cluster &b) {
    return a.regs.count != b.regs.count ? a.regs.count > b.regs.count : a.regs.first < b.regs.first;
  });
  result->fragment = std::move(fragment);
  return result;
}

} // namespace luthier::rewrite
