#include "runtime/kernel_filter.h"

#include "runtime/tool_settings.h"

namespace luthier::runtime {

namespace {

bool matches(const regex_t &regex, const std::string &text) {
  return regexec(&regex, text.c_str(), 0, nullptr, 0) == 0;
}

} // namespace

Result<KernelFilter::Regex> KernelFilter::compile(const std::string &text) {
  if (text.empty())
    return Regex();
  LUTHIER_TRY(checkRegex(text, ""));
  auto compiled = std::make_unique<regex_t>();
  if (regcomp(compiled.get(), text.c_str(), REG_EXTENDED | REG_NOSUB) != 0)
    return makeError("'{}' is not a valid regular expression", text);
  return Regex(compiled.release());
}

Result<void> KernelFilter::configure(const std::string &include, const std::string &exclude) {
  include_ = LUTHIER_TRY(compile(include));
  exclude_ = LUTHIER_TRY(compile(exclude));
  return {};
}

bool KernelFilter::wants(const std::string &name, const std::string &symbol) const {
  if (include_ && !matches(*include_, name) && !matches(*include_, symbol))
    return false;
  return !exclude_ || (!matches(*exclude_, name) && !matches(*exclude_, symbol));
}

} // namespace luthier::runtime
