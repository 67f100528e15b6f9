// A buffer resource (V#) as observers see it: where a lane's data is, and whether it is in range. The handlers have
// their own (exec/buffer.h), which this can be compared with.
#pragma once

#include "isa/target.h"
#include "luthier/instr.h"
#include "vgpu/state/wave.h"

#include <cstdint>

namespace luthier::vgpu {

class BufferResource {
public:
  /// That of a buffer instruction which is about to be executed. `typed`: it converts formats.
  BufferResource(const Wave &w, const MemoryAccess &access, isa::BufferResource layout, bool typed);

  uint64_t address(unsigned lane) const;
  /// Whether all bytes that the lane accesses are in range, where the buffer is not swizzled.
  bool inside(unsigned lane) const;
  bool isSwizzled() const { return element_ != 0; }

private:
  uint32_t index(unsigned lane) const;
  uint32_t offset(unsigned lane) const;

  const Wave &w_;
  const MemoryAccess &access_;
  const isa::BufferResource layout_;
  uint64_t base_;
  uint32_t stride_, records_, indexStride_, soffset_;
  uint32_t element_; ///< bytes that swizzling leaves together; 0: none
  uint32_t rangeCheck_;
  bool addsLane_;
};

} // namespace luthier::vgpu
