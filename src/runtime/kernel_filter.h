// Which kernels the user wants instrumented: two extended regular expressions, and whether HIP's own kernels count.
#pragma once

#include "support/result.h"

#include <memory>
#include <string>

#include <regex.h>

namespace luthier::runtime {

class KernelFilter {
public:
  /// Empty expressions: everything is included, nothing is excluded.
  Result<void> configure(const std::string &include, const std::string &exclude);

  /// HIP fills and copies memory with kernels of its own, which are not what the user wants to know of.
  static bool isRuntimeKernel(const std::string &symbol) { return symbol.starts_with("__amd_rocclr_"); }

  /// An expression matches a kernel by its name as in the source or by its symbol.
  bool wants(const std::string &name, const std::string &symbol) const;

private:
  struct Free {
    void operator()(regex_t *compiled) const {
      regfree(compiled);
      delete compiled;
    }
  };
  using Regex = std::unique_ptr<regex_t, Free>;
  static Result<Regex> compile(const std::string &text);

  Regex include_, exclude_; ///< null: none was given
};

} // namespace luthier::runtime
