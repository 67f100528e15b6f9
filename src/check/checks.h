// What `luthier check` can look for. The names are those of the command line, of the variable that carries the choice
// into the application, and of the summary.
#pragma once

#include "support/result.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace luthier::check {

enum class Check : uint8_t { Memory, Race, Barrier, Init, Wait };

/// By their numbers.
std::span<const std::string_view> checkNames();

/// Those that were chosen.
class Checks {
public:
  /// Names separated by commas; `all` stands for every one.
  static Result<Checks> parse(std::string_view list);

  bool has(Check check) const { return bits_ >> static_cast<unsigned>(check) & 1; }
  /// In the order of the enumeration, whatever the order of the list was.
  std::vector<std::string_view> names() const;

private:
  uint32_t bits_ = 0;
};

} // namespace luthier::check
