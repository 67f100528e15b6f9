// Values that nobody can have meant: what registers and memory hold before anybody writes them (strict_resources.h).
//
// Made from a seed, so that a failure can be repeated. Half of them are random numbers, the others what breaks code
// that relies on a start value: all ones, NaNs, zeros, addresses that are not aligned.
#pragma once

#include <cstdint>
#include <span>

namespace luthier::vgpu {

class Garbage {
public:
  /// Different `streams` of one seed have nothing to do with each other.
  Garbage(uint64_t seed, uint64_t stream) : state_(mix(seed + 0x9e3779b97f4a7c15 * (stream + 1))) {}

  uint64_t bits() { return mix(state_ += 0x9e3779b97f4a7c15); }
  bool oneIn(uint32_t n) { return bits() % n == 0; }

  uint32_t word() {
    static constexpr uint32_t kPatterns[] = {0xffffffff, 0x7f800001, 0xfff00001, 0x80000000,
                                             0,          0xdeadbeef, 1,          0x7c017c01};
    const uint64_t random = bits();
    return random & 8 ? static_cast<uint32_t>(random >> 32) : kPatterns[random & 7];
  }

  void fill(std::span<uint32_t> words) {
    for (uint32_t &each : words)
      each = word();
  }

private:
  /// The finaliser of splitmix64.
  static constexpr uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
  }
  uint64_t state_;
};

} // namespace luthier::vgpu
