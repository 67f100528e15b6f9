// Hooks that note, per workgroup, that they ran and in which order.
#pragma once

#include "trace_fixture.h"

namespace luthier::rewrite::test {

class NoteFixture : public testing::Test {
protected:
  /// A note with the workgroup's number.
  Insertion note(Position position, uint64_t address, uint32_t what, Sampling sampling = {}) const {
    Insertion insertion =
        subject_.at(position, address, "seeWave",
                    {Argument::constant(what), Argument::launchValue(hook::LaunchValue::WorkgroupIdX)});
    insertion.sampling = std::move(sampling);
    return insertion;
  }
  /// What each workgroup, which is one wave, has noted.
  std::map<uint64_t, std::vector<uint32_t>> run(Subject &subject, std::string_view kernel,
                                                const std::vector<Insertion> &insertions, uint32_t groups) {
    const Outcome outcome = expectSame(machine_, subject, subject.rewritten(kernel, insertions), kernel,
                                       {.grid = {64 * groups}, .workgroup = {64}});
    std::map<uint64_t, std::vector<uint32_t>> notes;
    for (const Record &record : recordsOf(outcome))
      notes[record.value].push_back(record.what);
    return notes;
  }

  Machine machine_;
  Subject subject_{STATE_KERNELS};
};

} // namespace luthier::rewrite::test
