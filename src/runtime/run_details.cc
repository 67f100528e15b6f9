#include "runtime/run_details.h"

namespace luthier::runtime {

void RunDetails::add(const report::LaunchRecord &launch) {
  if (!wanted_)
    return;
  std::lock_guard lock(mutex_);
  if (details_.launches.size() < mostLaunches_)
    details_.launches.push_back(launch);
  else
    ++details_.launchesDropped;
}

void RunDetails::add(report::CopyRecord copy) {
  if (!wanted_)
    return;
  std::lock_guard lock(mutex_);
  if (details_.copies.size() < mostCopies_)
    details_.copies.push_back(std::move(copy));
  else
    ++details_.copiesDropped;
}

void RunDetails::addCode(uint64_t kernel, const std::function<report::KernelCode()> &list) {
  if (!wanted_ || !kernel)
    return;
  {
    std::lock_guard lock(mutex_);
    if (details_.code.contains(kernel))
      return;
  }
  auto code = std::make_shared<const report::KernelCode>(list());
  std::lock_guard lock(mutex_);
  details_.code.try_emplace(kernel, std::move(code));
}

report::Details RunDetails::now() const {
  std::lock_guard lock(mutex_);
  report::Details details = details_;
  details.process = report::currentProcess();
  return details;
}

} // namespace luthier::runtime
