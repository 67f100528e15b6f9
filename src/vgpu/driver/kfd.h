// The ioctls of /dev/kfd.
#pragma once

#include <cstdint>

namespace luthier::vgpu {

class Driver;

/// 0 or an errno value. `size` is that of the structure behind `argument`, as its caller knows it.
int kfdIoctl(Driver &driver, unsigned number, uint64_t size, void *argument);

} // namespace luthier::vgpu
