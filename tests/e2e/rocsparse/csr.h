// Sparse matrices on the CPU: what rocSPARSE's results are compared with.
//
// Their values are small multiples of 1/64, so that sums of products are exact in any order.
#pragma once

#include "sample.h"

#include <cmath>
#include <map>
#include <numeric>
#include <vector>

/// Compressed rows, columns of a row in order.
struct Csr {
  int rows = 0, columns = 0;
  std::vector<int> start{0}, column;
  std::vector<double> value;

  int entries() const { return int(column.size()); }
  int entries(int row) const { return start[row + 1] - start[row]; }

  void append(const std::map<int, double> &row) {
    for (const auto &[c, v] : row) {
      column.push_back(c);
      value.push_back(v);
    }
    start.push_back(entries());
    rows = int(start.size()) - 1;
  }

  /// The row of each entry.
  std::vector<int> rowOfEntry() const {
    std::vector<int> result;
    for (int r = 0; r < rows; ++r)
      result.insert(result.end(), size_t(entries(r)), r);
    return result;
  }

  /// By columns.
  std::vector<double> dense() const {
    std::vector<double> result(size_t(rows) * columns);
    for (int r = 0; r < rows; ++r)
      for (int n = start[r]; n < start[r + 1]; ++n)
        result[size_t(column[n]) * rows + r] = value[n];
    return result;
  }

  Csr transposed() const {
    std::vector<std::map<int, double>> result(columns);
    for (int r = 0; r < rows; ++r)
      for (int n = start[r]; n < start[r + 1]; ++n)
        result[column[n]][r] = value[n];
    Csr matrix;
    matrix.columns = rows;
    for (const auto &row : result)
      matrix.append(row);
    return matrix;
  }

  /// alpha * this * x + beta * y
  std::vector<double> times(const double *x, double alpha, double beta, std::vector<double> y) const {
    for (int r = 0; r < rows; ++r) {
      double sum = 0;
      for (int n = start[r]; n < start[r + 1]; ++n)
        sum += value[n] * x[column[n]];
      y[r] = alpha * sum + beta * y[r];
    }
    return y;
  }

  Csr times(const Csr &other, double alpha) const {
    Csr result;
    result.columns = other.columns;
    for (int r = 0; r < rows; ++r) {
      std::map<int, double> row;
      for (int n = start[r]; n < start[r + 1]; ++n)
        for (int k = other.start[column[n]]; k < other.start[column[n] + 1]; ++k)
          row[other.column[k]] += alpha * value[n] * other.value[k];
      result.append(row);
    }
    return result;
  }

  /// x of triangle * x = b; the lower triangle has ones on its diagonal.
  std::vector<double> solve(bool lower, const std::vector<double> &b) const {
    std::vector<double> x(rows);
    for (int i = 0; i < rows; ++i) {
      const int r = lower ? i : rows - 1 - i;
      double sum = b[r], diagonal = 1;
      for (int n = start[r]; n < start[r + 1]; ++n) {
        if (lower ? column[n] < r : column[n] > r)
          sum -= value[n] * x[column[n]];
        else if (!lower && column[n] == r)
          diagonal = value[n];
      }
      x[r] = sum / diagonal;
    }
    return x;
  }

  /// The values of both factors, in the places of this one's.
  std::vector<double> incompleteFactors() const {
    std::vector<double> result = value;
    std::vector<std::map<int, int>> place(rows);
    for (int r = 0; r < rows; ++r)
      for (int n = start[r]; n < start[r + 1]; ++n)
        place[r][column[n]] = n;
    for (int r = 0; r < rows; ++r)
      for (auto entry = place[r].begin(); entry != place[r].end() && entry->first < r; ++entry) {
        const auto &[k, n] = *entry;
        result[n] /= result[place[k].at(k)];
        for (auto right = place[k].upper_bound(k); right != place[k].end(); ++right)
          if (const auto found = place[r].find(right->first); found != place[r].end())
            result[found->second] -= result[n] * result[right->second];
      }
    return result;
  }
};

inline double number(sample::Random &random) { return double(int(random.below(257)) - 128) / 64; }

inline std::vector<double> numbers(size_t size, sample::Random &random) {
  std::vector<double> result(size);
  for (double &x : result)
    x = number(random);
  return result;
}

/// Rows of very different lengths. With a dominant diagonal, solving is stable.
inline Csr randomMatrix(int rows, int columns, sample::Random &random, bool dominantDiagonal) {
  Csr matrix;
  matrix.columns = columns;
  for (int r = 0; r < rows; ++r) {
    std::map<int, double> row;
    for (int n = r % 97 == 0 ? columns / 3 : int(random.below(12)); n > 0; --n)
      row[int(random.below(uint32_t(columns)))] = number(random);
    if (dominantDiagonal) {
      row[r] = 1;
      for (const auto &[c, v] : row)
        row[r] += c == r ? 0 : std::abs(v);
    }
    matrix.append(row);
  }
  return matrix;
}

/// In another order.
template <class T> void shuffle(T *begin, int size, sample::Random &random) {
  for (int n = 0; n + 1 < size; ++n)
    std::swap(begin[n], begin[n + int(random.below(uint32_t(size - n)))]);
}
