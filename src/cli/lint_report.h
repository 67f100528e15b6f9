// Findings of `luthier lint` in the forms that people and programs read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace luthier::cli {

/// One instruction of a listing.
struct LintLine {
  uint64_t address = 0;
  std::string text;
  bool marked = false;
};

/// A finding, without anything of the object that it was found in.
struct LintRow {
  std::string rule = {}, message = {};
  std::string file = {}, target = {};
  uint64_t object = 0;
  std::string function = {}, symbol = {}; ///< as in the source, and as linked
  bool kernel = true;
  uint64_t address = 0;
  std::string instruction = {};
  std::string sourceFile = {}; ///< empty: not known
  uint32_t sourceLine = 0;
  std::string source = {}; ///< with the places that it was inlined into
  std::vector<LintLine> around = {};
  uint64_t earlierAddress = 0;
  std::string earlierInstruction = {}, earlierFunction = {}; ///< the function only if it is another one
  std::string needed = {}, wait = {}, note = {};
  std::vector<uint64_t> also = {}; ///< further addresses
};

/// What was not checked, or only in part.
struct LintOmission {
  std::string file = {}, target = {}, function = {}, why = {};
  uint64_t object = 0;
  uint64_t address = 0; ///< 0: all of it
  unsigned count = 1;
};

struct LintTotals {
  std::vector<LintRow> findings;
  std::vector<LintOmission> omissions;
  uint64_t suppressed = 0;
  uint64_t kernels = 0, functions = 0, instructions = 0;
};

/// Lines "RULE:FUNCTION" of a suppressions file; * stands for any text and ? for any character, # begins a
/// comment.
class LintSuppressions {
public:
  /// The error is about the line.
  static std::string parse(std::string_view text, LintSuppressions &result);
  bool contains(std::string_view rule, std::string_view function, std::string_view symbol) const;

private:
  struct Pattern {
    std::string rule, function;
  };
  std::vector<Pattern> patterns_;
};

std::string lintText(const LintTotals &totals);
std::string lintJson(const LintTotals &totals);
/// SARIF 2.1.0, which CI systems show.
std::string lintSarif(const LintTotals &totals, std::string_view version);

} // namespace luthier::cli
