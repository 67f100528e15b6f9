#include "runtime/kernel_registry.h"

#include <mutex>
#include <vector>

namespace luthier::runtime {

KernelRegistry::Kernel KernelRegistry::find(uint64_t kernelObject) const {
  std::shared_lock lock(mutex_);
  const auto found = kernels_.find(kernelObject);
  return found == kernels_.end() ? nullptr : found->second.kernel;
}

void KernelRegistry::add(uint64_t kernelObject, uint64_t executable, Kernel kernel) {
  std::unique_lock lock(mutex_);
  kernels_[kernelObject] = {std::move(kernel), executable};
}

void KernelRegistry::forget(uint64_t executable) {
  std::vector<Kernel> gone; // destroyed without the lock: that unloads their code
  std::unique_lock lock(mutex_);
  std::erase_if(kernels_, [&](auto &entry) {
    if (entry.second.executable != executable)
      return false;
    gone.push_back(std::move(entry.second.kernel));
    return true;
  });
}

} // namespace luthier::runtime
