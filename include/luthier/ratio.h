// Ratios for cells of a report: rounded, so that tables can be read; 0 where there is nothing to divide by.
#pragma once

#include <cmath>

namespace luthier {

/// To that many digits behind the point.
inline double rounded(double value, unsigned digits = 2) {
  const double unit = std::pow(10.0, digits);
  return std::round(value * unit) / unit;
}

template <class A, class B> double ratio(A amount, B of, unsigned digits = 2) {
  return of ? rounded(static_cast<double>(amount) / static_cast<double>(of), digits) : 0;
}

} // namespace luthier
