#include "support/suggest.h"

#include <algorithm>

#include <fmt/format.h>

namespace luthier {

namespace {

/// Single letters to insert, remove or replace, and neighbours to swap (restricted Damerau-Levenshtein distance).
size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

} // namespace

std::string closestName(std::string_view word, const std::vector<std::string> &names) {
  std::string best;
  size_t least = std::max<size_t>(1, word.size() / 4) + 1; // short words have many neighbours
  for (const std::string &name : names)
    if (const size_t far = distance(word, name); far < least) {
      least = far;
      best = name;
    }
  return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string> &names) {
  const std::string name = closestName(word, names);
  return name.empty() ? "" : fmt::format("; did you mean '{}'?", name);
}

} // namespace luthier
