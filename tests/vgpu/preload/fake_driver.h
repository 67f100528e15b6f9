// What the tests and the driver that they bring in agree on.
#pragma once

#include "vgpu/driver/entry.h"

namespace luthier::vgpu {

/// What ioctls answer.
struct FakeAnswer {
  LuthierVgpuFile file;
  unsigned long request;
  int driversMade;
  int errnoOfKfd; ///< what the driver got for opening /dev/kfd while it started
};
inline constexpr unsigned kFakeFailure = 99; ///< a request with this number fails with EPROTO

} // namespace luthier::vgpu
