// What both sides of the tool `places` know.
#pragma once

#include <stdint.h>

struct Bounds {
  uint64_t begin, end;
  uint16_t weight;
  uint8_t rest[5];
};
