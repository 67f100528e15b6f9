#include "cli/options.h"

#include <CLI/CLI.hpp>

#include "support/value_type.h"
#include "support/variables.h"

namespace luthier::cli {

CLI::Option *addNumber(CLI::App &command, const std::string &name, std::optional<uint64_t> &number, uint64_t least,
                       uint64_t most, const std::string &help) {
  const auto parse = [name, &number, least, most](const std::string &text) {
    const auto parsed = parseNumber(name, text, least, most);
    if (!parsed)
      throw CLI::ValidationError(parsed.error().message(), CLI::ExitCodes::ValidationError);
    number = *parsed;
  };
  return command.add_option_function<std::string>(name, parse, help)->type_name("N");
}

CLI::Option *addFlag(CLI::App &command, const std::string &name, bool &flag, const std::string &help) {
  return command.add_flag(name, flag, help)->check([](const std::string &text) {
    const auto parsed = parseFlag("the value", text);
    return parsed ? "" : parsed.error().message();
  });
}

std::string notEmpty(const std::string &text) { return text.empty() ? "a value is expected" : ""; }

std::function<std::string(const std::string &)> oneOf(std::vector<std::string_view> names) {
  return [names = std::move(names)](const std::string &text) {
    const auto parsed = parseChoice("the value", text, names);
    return parsed ? "" : parsed.error().message();
  };
}

CLI::Option *addHookForm(CLI::App &command, std::string &form) {
  return command
      .add_option("--hook-form", form,
                  "Copy hooks to each of their places (inline), have one copy that the places call (shared), or\nshare "
                  "large hooks of many places (auto, the default)")
      ->type_name("FORM")
      ->check(oneOf({std::begin(env::kHookForms), std::end(env::kHookForms)}));
}

Result<rewrite::HookForm> chooseHookForm(const std::string &form) {
  if (form.empty())
    return static_cast<rewrite::HookForm>(LUTHIER_TRY(env::choice(env::kHookForm, 0)));
  const std::vector<std::string_view> names(std::begin(env::kHookForms), std::end(env::kHookForms));
  return static_cast<rewrite::HookForm>(LUTHIER_TRY(parseChoice("--hook-form", form, names)));
}

void addCodeFile(CLI::App &command, CodeFile &file) {
  command.add_option("FILE", file.path, "A HIP program or library, an offload bundle, or a code object")
      ->required()
      ->type_name("");
  command.add_option("--target", file.target, "Only code that runs on this target, e.g. gfx90a:xnack-")
      ->type_name("T")
      ->check(notEmpty);
  addNumber(command, "--object", file.object, 1, UINT64_MAX,
            "Only the code object of this number, as `luthier inspect` counts them");
}

} // namespace luthier::cli
