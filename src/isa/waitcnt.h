// The immediate of s_waitcnt: how many operations of each counter may still be in flight (the manuals' SOPP chapters).
// Which layout a target has is in its row (isa/target.h).
#pragma once

#include <cstdint>

namespace luthier::isa {

/// A field of an immediate; `high` further bits may sit elsewhere.
struct WaitField {
  uint8_t shift, width, highShift = 0, highWidth = 0;

  constexpr unsigned most() const { return (1u << (width + highWidth)) - 1; }
  constexpr unsigned get(uint32_t value) const {
    return (value >> shift & ((1u << width) - 1)) | (value >> highShift & ((1u << highWidth) - 1)) << width;
  }
  constexpr uint32_t put(unsigned count) const {
    return (count & ((1u << width) - 1)) << shift | (count >> width & ((1u << highWidth) - 1)) << highShift;
  }
};

struct WaitFields {
  WaitField vm, exp, lgkm;
};

inline constexpr WaitFields kWaitFieldsGfx8 = {{0, 4}, {4, 3}, {8, 4}};
inline constexpr WaitFields kWaitFieldsGfx9 = {{0, 4, 14, 2}, {4, 3}, {8, 4}};
inline constexpr WaitFields kWaitFieldsGfx10 = {{0, 4, 14, 2}, {4, 3}, {8, 6}};
inline constexpr WaitFields kWaitFieldsGfx11 = {{10, 6}, {0, 3}, {4, 6}};

} // namespace luthier::isa
