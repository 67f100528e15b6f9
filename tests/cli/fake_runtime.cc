// Stands for libluthier.so in tests of `luthier tools`: remembers options, as the real one does for tools that are
// made.
#include "runtime/tool_description.h"

#include <string>
#include <vector>

namespace {
struct Option {
  std::string name, type, byDefault, help;
};
std::vector<Option> options;
} // namespace

extern "C" [[gnu::visibility("default")]] void luthierToolOptions(LuthierToolOption *each, void *user) {
  for (const Option &option : options)
    each(user, option.name.c_str(), option.type.c_str(), option.byDefault.c_str(), option.help.c_str());
}

extern "C" [[gnu::visibility("default")]] void fakeOption(const char *name, const char *type, const char *byDefault,
                                                          const char *help) {
  options.push_back({name, type, byDefault, help});
}
