#include "cli/check_form.h"

#include <fmt/ranges.h>

namespace luthier::cli {

Result<bool> checksByHooks(const check::Checks &checks, const CheckForm &form) {
  if (!form.asked && !form.realGpu)
    return false;
  std::vector<std::string_view> others = checks.names();
  std::erase(others, "memory");
  if (others.empty())
    return true;
  return makeError("{} {} no instrumented form so far, only memory has: {}", fmt::join(others, ", "),
                   others.size() == 1 ? "has" : "have",
                   form.asked ? "leave --instrument out, to check on the virtual GPU"
                              : "to check on a virtual GPU, add --gpu, as in --gpu gfx90a");
}

} // namespace luthier::cli
