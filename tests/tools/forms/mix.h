// Instructions by what their names begin with: what host and hooks of local_array share.
#pragma once

#include <stdint.h>

constexpr uint32_t kKinds = 6;
struct Mix {
  uint16_t of[kKinds];
};
