// The ioctls of the render nodes, as far as libdrm's amdgpu part needs them: what the GPU is, and buffers by handles.
//
// Structures are those of <drm/drm.h> and <drm/amdgpu_drm.h>, declared in drm.cc for the same reason as KFD's are here.
#pragma once

#include "vgpu/driver/memory.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace luthier::vgpu {

class Driver;

/// A render node. Every descriptor of it is the same client: handles are the process's.
class RenderNode {
public:
  RenderNode(Driver &driver, uint32_t gpu) : driver_(driver), gpu_(gpu) {}

  /// 0 or an errno value.
  int ioctl(unsigned number, uint64_t size, void *argument);

private:
  struct Requests; ///< drm.cc: one function for each ioctl

  std::shared_ptr<Buffer> find(uint32_t handle);
  uint32_t handleOf(const std::shared_ptr<Buffer> &buffer);

  Driver &driver_;
  const uint32_t gpu_;
  std::mutex mutex_;
  std::map<uint32_t, std::shared_ptr<Buffer>> handles_;
  uint32_t nextHandle_ = 1;
};

} // namespace luthier::vgpu
