// Compares a million values from the GPU with their expectation, value by value, and with the moments of their
// distribution. Prints a line per distribution; a difference ends the program with FAIL.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "distributions.h"
#include "sample.h"

namespace reference {

// Mean, variance and fourth central moment.
struct Moments {
  double mean, variance, fourth;
};

inline Moments uniformMoments(double low, double high) {
  const double range = high - low;
  return {(low + high) / 2, range * range / 12, range * range * range * range / 80};
}

inline Moments normalMoments(double mean, double deviation) {
  const double variance = deviation * deviation;
  return {mean, variance, 3 * variance * variance};
}

inline Moments logNormalMoments(double mean, double deviation) {
  const double w = std::exp(deviation * deviation), variance = (w - 1) * std::exp(2 * mean) * w;
  return {std::exp(mean) * std::sqrt(w), variance,
          variance * variance * (w * w * w * w + 2 * w * w * w + 3 * w * w - 3)};
}

inline Moments poissonMoments(double lambda) { return {lambda, lambda, lambda + 3 * lambda * lambda}; }

// The sample's mean and variance lie within six standard errors of the distribution's. Seeds are fixed, so the answer
// is always the same.
template <typename T> void checkMoments(const char *name, const std::vector<T> &values, const Moments &expected) {
  const auto n = double(values.size());
  double sum = 0, squares = 0;
  for (const T &value : values) {
    const double x = toDouble(value) - expected.mean;
    sum += x;
    squares += x * x;
  }
  const double mean = sum / n, variance = squares / n - mean * mean;
  const double meanError = std::sqrt(expected.variance / n);
  const double varianceError = std::sqrt((expected.fourth - expected.variance * expected.variance) / n);
  if (!(std::fabs(mean) <= 6 * meanError))
    sample::fail("%s: mean %.9g, expected %.9g within %.3g", name, mean + expected.mean, expected.mean, 6 * meanError);
  if (!(std::fabs(variance - expected.variance) <= 6 * varianceError))
    sample::fail("%s: variance %.9g, expected %.9g within %.3g", name, variance, expected.variance, 6 * varianceError);
}

// Pearson's test of 256 equal cells: 255 degrees of freedom, at most six standard deviations above its mean.
template <typename T> void checkUniformity(const char *name, const std::vector<T> &values, double low, double high) {
  std::vector<double> cells(256);
  for (const T &value : values)
    ++cells[size_t(std::fmin(255, 256 * (toDouble(value) - low) / (high - low)))];
  const double expected = double(values.size()) / 256;
  double statistic = 0;
  for (double count : cells)
    statistic += (count - expected) * (count - expected) / expected;
  if (!(statistic <= 255 + 6 * std::sqrt(2 * 255)))
    sample::fail("%s: not uniform: chi-squared %.1f with 255 degrees of freedom", name, statistic);
}

template <typename T>
void checkValues(const char *name, const std::vector<T> &values, const std::vector<Expected> &expected) {
  if (values.size() != expected.size())
    sample::fail("%s: %zu values, %zu expected", name, values.size(), expected.size());
  size_t exact = 0, notANumber = 0;
  double worst = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double got = toDouble(values[i]);
    const auto [want, bound] = expected[i];
    if (std::isnan(want) && std::isnan(got)) {
      ++notANumber;
      continue;
    }
    const double error = std::fabs(got - want);
    if (!(error <= bound))
      sample::fail("%s: value %zu is %.17g, expected %.17g within %.3g", name, i, got, want, bound);
    exact += bound == 0;
    if (bound > 0)
      worst = std::fmax(worst, error / bound);
  }
  std::printf("%-18s %zu values: %zu equal", name, values.size(), exact);
  if (notANumber > 0)
    std::printf(", %zu NaN as expected", notANumber);
  if (const size_t near = values.size() - exact - notANumber; near > 0)
    std::printf(", %zu within their bound (largest error: %.2f of it)", near, worst);
  std::printf("\n");
}

} // namespace reference
