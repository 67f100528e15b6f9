// What rocRAND's distributions make of raw numbers, computed on the CPU: an expected value and how far from it the GPU
// may be. Whatever IEEE arithmetic or integers determine must be equal bit for bit (bound 0). Logarithms, sines and
// exponentials are not determined: the hardware's are approximations, which the device library refines or not; they are
// compared with the double-precision function of the same argument within a bound derived from the formats' precision.
//
// Box-Muller: z = sqrt(-2 ln u) * (sin, cos)(2 pi v), with u and v rounded to the distribution's own format before use.
// Sobol's points are transformed one by one, by Winitzki's approximation of the inverse error function; its last step
// is the root of a difference, so what is bounded is the error of z squared.
//
// Two defects of Debian 12 (rocRAND 5.3.3), which Debian 13 (5.7.1) has no longer, are part of the expectation:
// - The sine of a half is NaN for every finite argument: __ocml_sin_f16 of rocm-device-libs 5.2.3 chooses between
//   result and NaN the wrong way round (JuliaGPU/AMDGPU.jl, issue 177). The sine of every half-precision pair is NaN.
// - SOBOL64's kernels hand their 64-bit number to 32-bit functions for uniform float, normal float and half, and all
//   log-normals: these see the low 32 bits, which are zero for the first 2^32 points.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <hip/hip_fp16.h>
#include <rocrand/rocrand.h>
#include <rocrand/rocrand_discrete_types.h>
#include <rocrand/rocrand_version.h>

#include "sample.h"

namespace reference {

// 5.3.3 has 201009, 5.7.1 has 201017.
inline constexpr bool Rocm53 = ROCRAND_VERSION <= 201009;

struct Expected {
  double value;
  double bound = 0;
};

inline constexpr double NaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double HalfEps = 0x1p-11, FloatEps = 0x1p-24,
                        DoubleEps = 0x1p-53; // half a unit in the last place of 1

inline double toHalf(double x) { return double(_Float16(x)); }
inline double toDouble(uint32_t x) { return x; }
inline double toDouble(uint16_t x) { return x; }
inline double toDouble(uint8_t x) { return x; }
inline double toDouble(float x) { return x; }
inline double toDouble(double x) { return x; }
inline double toDouble(__half x) { return double(reinterpret_cast<const _Float16 &>(x)); }

// In (0, 1]: the number plus one, over 2^32, 2^16 or 2^53.
inline float uniformFloat(uint32_t x) { return float(x) * 0x1p-32f + 0x1p-32f; }
inline double uniformHalf(uint16_t x) { return toHalf(float(x) * 0x1p-16f + 0x1p-16f); }
inline double uniformDouble32(uint32_t x) { return x * 0x1p-32 + 0x1p-32; }
inline double uniformDouble53(uint64_t x) { return double(x) * 0x1p-53 + 0x1p-53; }
// MRG32k3a's numbers are in [1, M1]: over M1, or stretched to 32 bits.
inline double uniformMrg(uint32_t x) { return x * 2.3283065498378288e-10; }
inline uint32_t bitsMrg(uint32_t x) { return uint32_t((x - 1) * 1.000000048661607); }

// A standard normal value and the bound of its error.
struct Pair {
  Expected sine, cosine;
};

// `u` and `angle` are what the GPU has exactly (up to `angleError`); `eps` the precision of its functions. In extended
// precision, so that the reference's own roundings do not count.
inline Pair boxMuller(double u, long double angle, double angleError, double eps) {
  const long double radius = std::sqrt(-2 * std::log((long double)u));
  const double bound = double(radius) * (4 * eps + angleError);
  return {{double(radius * std::sin(angle)), bound}, {double(radius * std::cos(angle)), bound}};
}

inline constexpr long double Pi = 3.14159265358979323846264338327950288L;

// The hardware's sine takes revolutions: the angle is multiplied by 1 / (2 pi) in single precision, an error of up to 2
// units of 2 pi.
inline constexpr double FloatAngleError = 2 * 6.2831853 * 2 * FloatEps;

inline Pair normalFloat(uint32_t x, uint32_t y) {
  constexpr float Scale = 0x1p-32f * 6.2831855f;
  return boxMuller(uniformFloat(x), std::fma(float(y), Scale, Scale), FloatAngleError, FloatEps);
}

inline Pair normalDouble(const uint32_t *x) {
  const double u = uniformDouble53(x[0] ^ uint64_t{x[1]} << 21), w = 2 * uniformDouble53(x[2] ^ uint64_t{x[3]} << 21);
  return boxMuller(u, w * Pi, 0, DoubleEps);
}

inline Pair normalMrgFloat(uint32_t x, uint32_t y) {
  return boxMuller(float(uniformMrg(x)), float(uniformMrg(y)) * 6.2831855f, FloatAngleError, FloatEps);
}

inline Pair normalMrgDouble(uint32_t x, uint32_t y) {
  return boxMuller(float(uniformMrg(x)), float(uniformMrg(y)) * 2 * Pi, 0, DoubleEps);
}

// Every step rounds to half: logarithm, doubling, root, cosine, product.
inline Pair normalHalf(uint32_t x) {
  constexpr float Scale = 0x1p-16f * 6.2831855f;
  const double angle = toHalf(std::fma(float(x >> 16), Scale, Scale));
  Pair pair = boxMuller(uniformHalf(uint16_t(x)), angle, 0, HalfEps);
  if (Rocm53)
    pair.sine = {NaN, 0};
  return pair;
}

// Winitzki's inverse error function of 2p - 1, times the root of 2, of which rocRAND has eight digits in both
// precisions. `eps` is the precision it is computed in.
inline Expected inverseNormal(double p, double eps) {
  const bool single = eps == FloatEps;
  const auto rounded = [single](double x) { return single ? double(float(x)) : x; };
  const double x = rounded(2 * p - 1);
  const double logarithm = std::log(rounded(rounded(1 - x) * rounded(1 + x)));
  if (std::isinf(logarithm))
    return {0, 0};
  constexpr double A = 0.147;
  const double pi = single ? double(3.1415926f) : double(Pi);
  const double t1 = 2 / (pi * (single ? double(0.147f) : A)) + logarithm / 2,
               t2 = logarithm / (single ? double(0.147f) : A);
  const double z = std::copysign(1.4142135f * std::sqrt(std::fmax(0, std::sqrt(t1 * t1 - t2) - t1)), x);
  // Terms of the difference are at most about 5 + |t1|; four roundings each.
  const double squareError = 2 * 8 * eps * (5 + std::fabs(t1) + std::fabs(t2) / 5);
  return {z, std::fmin(std::sqrt(squareError), squareError / (std::fabs(z) + 1e-300)) + 2 * eps * std::fabs(z)};
}

// mean + deviation * z in a format of precision `eps`.
inline Expected scaled(Expected z, double mean, double deviation, double eps) {
  const double value = mean + deviation * z.value;
  return {value, deviation * z.bound + 2 * eps * (std::fabs(mean) + std::fabs(deviation * z.value))};
}

// e to a value known up to its bound.
inline Expected exponential(Expected x, double eps) {
  const double value = std::exp(x.value);
  return {value, value * (std::expm1(x.bound) + 4 * eps)};
}

// A discrete distribution: the tables that rocRAND makes on the CPU, read back.
class Discrete {
public:
  explicit Discrete(rocrand_discrete_distribution distribution) {
    HIP_CHECK(hipMemcpy(&header_, distribution, sizeof header_, hipMemcpyDefault));
    alias_ = read(header_.alias);
    probability_ = read(header_.probability);
    cumulative_ = read(header_.cdf);
  }

  // x in [0, 1).
  uint32_t byAlias(double x) const {
    const double scaled = header_.size * x, cell = std::floor(scaled);
    const auto i = uint32_t(cell);
    return header_.offset + (scaled - cell < probability_[i] ? i : alias_[i]);
  }
  uint32_t byCumulation(double x) const {
    uint32_t i = 0;
    while (i + 1 < header_.size && x > cumulative_[i])
      ++i;
    return header_.offset + i;
  }

  uint32_t size() const { return header_.size; }
  uint32_t offset() const { return header_.offset; }
  // The probability of offset() + i that each table stands for.
  std::vector<double> aliasProbabilities() const {
    std::vector<double> result(size());
    for (uint32_t i = 0; i < size(); ++i) {
      result[i] += probability_[i] / size();
      if (probability_[i] < 1)
        result[alias_[i]] += (1 - probability_[i]) / size();
    }
    return result;
  }
  std::vector<double> cumulativeProbabilities() const {
    std::vector<double> result = cumulative_;
    for (uint32_t i = size() - 1; i > 0; --i)
      result[i] -= result[i - 1];
    return result;
  }

private:
  template <typename T> std::vector<T> read(const T *data) const {
    std::vector<T> result(header_.size);
    HIP_CHECK(hipMemcpy(result.data(), data, result.size() * sizeof(T), hipMemcpyDefault));
    return result;
  }
  rocrand_discrete_distribution_st header_;
  std::vector<uint32_t> alias_;
  std::vector<double> probability_, cumulative_;
};

} // namespace reference
