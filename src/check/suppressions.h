// Findings that the user knows of and does not want to see.
//
// A file of lines RULE:PATTERN; `#` begins a comment. RULE is the name of a class, or * for all. PATTERN, in which *
// stands for anything and ? for one character, is compared with the kernel's name (as in the source and as linked) and
// with the source position (FILE:LINE, and FILE alone).
#pragma once

#include "check/finding.h"
#include "support/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace luthier::check {

class Suppressions {
public:
  static Result<Suppressions> parse(std::string_view text, const std::string &origin);
  bool covers(const Finding &finding) const;

private:
  struct Entry {
    std::string rule, pattern;
  };
  std::vector<Entry> entries_;
};

} // namespace luthier::check
