// `luthier man` and `luthier completion`: manual pages and completion for shells, made of the same declarations as
// --help, so that they cannot disagree with it.

#include <algorithm>
#include <filesystem>
#include <iostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.h"
#include "cli/options.h"
#include "support/file.h"
#include "support/log.h"

namespace luthier::cli {

namespace {

std::vector<const CLI::App *> commandsOf(const CLI::App &app) {
  std::vector<const CLI::App *> commands;
  for (const CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; }))
    commands.push_back(command);
  return commands;
}

/// Those that --help shows.
std::vector<const CLI::Option *> optionsOf(const CLI::App &app) {
  std::vector<const CLI::Option *> options;
  for (const CLI::Option *option : app.get_options())
    if (!option->get_group().empty())
      options.push_back(option);
  return options;
}

std::vector<std::string> flagsOf(const CLI::Option &option) {
  std::vector<std::string> flags;
  for (const std::string &name : option.get_snames())
    flags.push_back("-" + name);
  for (const std::string &name : option.get_lnames())
    flags.push_back("--" + name);
  return flags;
}

bool takesFile(const CLI::Option &option) {
  const std::string type = option.get_type_name();
  return type.find("FILE") != std::string::npos || type == "DIR" || option.get_positional();
}

std::string joined(const std::vector<std::string> &words) { return fmt::format("{}", fmt::join(words, " ")); }

/// For roff: no line may begin with a dot, hyphens are minus signs, line ends become spaces.
std::string roff(const std::string &text) {
  std::string out;
  for (const char c : text)
    if (c == '-')
      out += "\\-";
    else if (c == '\\')
      out += "\\e";
    else
      out += c == '\n' ? ' ' : c;
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

std::string manPage(const CLI::App &app, const std::string &name) {
  std::string text = fmt::format(".TH \"{}\" 1 \"\" \"luthier {}\" \"Luthier\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n",
                                 roff(name), LUTHIER_VERSION, roff(name), roff(app.get_description()));
  std::string usage = name;
  std::ranges::replace(usage, '-', ' ');
  text += fmt::format(".B {}\n[OPTIONS]", roff(usage));
  if (!commandsOf(app).empty())
    text += " COMMAND";
  for (const CLI::Option *option : optionsOf(app))
    if (option->get_positional())
      text += fmt::format(" {}", option->get_name());
  if (name == "luthier-run" || name == "luthier-check")
    text += " \\-\\- APP [ARGS...]";
  text += "\n.SH OPTIONS\n";
  for (const CLI::Option *option : optionsOf(app)) {
    const std::vector<std::string> flags = flagsOf(*option);
    const std::string type = option->get_type_size_max() ? option->get_type_name() : "";
    text += fmt::format(".TP\n.B {}{}\n{}\n",
                        roff(flags.empty() ? option->get_name() : fmt::format("{}", fmt::join(flags, ", "))),
                        type.empty() ? "" : " \\fI" + roff(type) + "\\fR", roff(option->get_description()));
  }
  if (const auto commands = commandsOf(app); !commands.empty()) {
    text += ".SH COMMANDS\n";
    for (const CLI::App *command : commands)
      text += fmt::format(".TP\n.B {}\n{}\n", roff(command->get_name()), roff(command->get_description()));
  }
  if (!app.get_footer().empty())
    text += fmt::format(".SH NOTES\n{}\n", roff(app.get_footer()));
  if (app.get_parent())
    text += ".SH SEE ALSO\n.BR luthier (1)\n";
  return text;
}

/// luthier.1 and a page for each command.
Result<void> writeManPages(const CLI::App &root, const std::filesystem::path &folder) {
  std::error_code failed;
  if (std::filesystem::create_directories(folder, failed); failed)
    return makeErrorCode(failed.value(), "cannot make the folder {}: {}", folder.string(), failed.message());
  LUTHIER_TRY(replaceFile(folder / "luthier.1", manPage(root, "luthier")));
  for (const CLI::App *command : commandsOf(root)) {
    const std::string name = "luthier-" + command->get_name();
    LUTHIER_TRY(replaceFile(folder / (name + ".1"), manPage(*command, name)));
  }
  return {};
}

/// Words that can follow `luthier`, or `luthier COMMAND`.
std::vector<std::string> wordsAfter(const CLI::App &app) {
  std::vector<std::string> words;
  for (const CLI::App *command : commandsOf(app))
    words.push_back(command->get_name());
  for (const CLI::Option *option : optionsOf(app))
    for (const std::string &flag : flagsOf(*option))
      words.push_back(flag);
  return words;
}

void printBash(const CLI::App &root) {
  std::string cases;
  for (const CLI::App *command : commandsOf(root)) {
    std::vector<std::string> paths;
    for (const CLI::Option *option : optionsOf(*command))
      if (takesFile(*option))
        for (const std::string &flag : flagsOf(*option))
          paths.push_back(flag);
    cases += fmt::format("    {}) words='{}'; files='{}' ;;\n", command->get_name(), joined(wordsAfter(*command)),
                         joined(paths));
  }
  std::cout << fmt::format(R"bash(# Completion of luthier for bash, written by `luthier completion bash`.
_luthier() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} words='' files='' n
  for ((n = 1; n < COMP_CWORD; ++n)); do
    # Behind --, it is the application's command line.
    if [[ ${{COMP_WORDS[n]}} == -- ]]; then
      COMPREPLY=($(compgen -A file -A command -- "$current"))
      return
    fi
  done
  case ${{COMP_WORDS[1]}} in
{}  esac
  if ((COMP_CWORD == 1)); then
    words='{}'
  elif [[ $previous == --tool || ( ${{COMP_WORDS[1]}} == tools && $previous == show ) ]]; then
    COMPREPLY=($(compgen -W "$(luthier tools 2>/dev/null | cut -d' ' -f1)" -A file -- "$current"))
    return
  elif [[ " $files " == *" $previous "* ]]; then
    COMPREPLY=($(compgen -A file -- "$current"))
    return
  elif [[ $current != -* ]]; then
    COMPREPLY=($(compgen -A file -W "$words" -- "$current"))
    return
  fi
  COMPREPLY=($(compgen -W "$words --" -- "$current"))
}}
complete -o filenames -F _luthier luthier
)bash",
                           cases, joined(wordsAfter(root)));
}

std::string firstLine(std::string text) {
  text = text.substr(0, text.find('\n'));
  std::erase_if(text, [](char c) { return c == '\'' || c == '[' || c == ']' || c == ':' || c == '\\' || c == '`'; });
  return text;
}

void printZsh(const CLI::App &root) {
  std::string commands, cases;
  for (const CLI::App *command : commandsOf(root)) {
    commands += fmt::format("    '{}:{}'\n", command->get_name(), firstLine(command->get_description()));
    std::string options;
    for (const CLI::Option *option : optionsOf(*command))
      for (const std::string &flag : flagsOf(*option))
        options += fmt::format(" '{}[{}]{}'", flag, firstLine(option->get_description()),
                               option->get_type_size_max() == 0 ? ""
                               : takesFile(*option)             ? ":file:_files"
                                                                : ":value: ");
    cases += fmt::format("    {}) _arguments{} '*:file:_files' ;;\n", command->get_name(), options);
  }
  std::cout << fmt::format(R"zsh(#compdef luthier
# Completion of luthier for zsh, written by `luthier completion zsh`.
local -a commands
commands=(
{})
if (( CURRENT == 2 )); then
  _describe command commands
elif (( ${{words[(I)--]}} && ${{words[(I)--]}} < CURRENT )); then
  _normal
else
  local command=${{words[2]}}
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
fi
)zsh",
                           commands, cases);
}

void printFish(const CLI::App &root) {
  std::string text = "# Completion of luthier for fish, written by `luthier completion fish`.\n";
  for (const CLI::App *command : commandsOf(root)) {
    text += fmt::format("complete -c luthier -n __fish_use_subcommand -f -a {} -d '{}'\n", command->get_name(),
                        firstLine(command->get_description()));
    for (const CLI::Option *option : optionsOf(*command)) {
      std::string names;
      for (const std::string &name : option->get_snames())
        names += " -s " + name;
      for (const std::string &name : option->get_lnames())
        names += " -l " + name;
      if (!names.empty())
        text +=
            fmt::format("complete -c luthier -n '__fish_seen_subcommand_from {}'{}{} -d '{}'\n", command->get_name(),
                        names, option->get_type_size_max() ? " -r" : "", firstLine(option->get_description()));
    }
  }
  std::cout << text;
}

} // namespace

void addHelpFileCommands(CLI::App &root, Invocation &invocation) {
  CLI::App *man = root.add_subcommand("man", "Print a manual page: of luthier, or of a command");
  auto page = std::make_shared<std::string>(), folder = std::make_shared<std::string>();
  man->add_option("COMMAND", *page, "A command; none: the page of luthier itself")->type_name("");
  man->add_option("-d,--directory", *folder, "Write all pages to this folder instead")
      ->type_name("DIR")
      ->check(notEmpty);
  man->callback([&root, &invocation, page, folder] {
    if (!folder->empty()) {
      const Result<void> written = writeManPages(root, *folder);
      if (!written)
        log::error("{}", written.error().message());
      invocation.exitStatus = written ? exitSuccess : exitFailure;
      return;
    }
    if (page->empty()) {
      std::cout << manPage(root, "luthier");
      return;
    }
    const auto commands = commandsOf(root);
    const auto found = std::ranges::find(commands, *page, [](const CLI::App *command) { return command->get_name(); });
    if (found == commands.end())
      throw CLI::ValidationError(fmt::format("there is no command '{}'", *page), CLI::ExitCodes::ValidationError);
    std::cout << manPage(**found, "luthier-" + *page);
  });
  CLI::App *completion = root.add_subcommand("completion", "Print a completion script for a shell");
  auto shell = std::make_shared<std::string>();
  completion->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->type_name("")
      ->check(oneOf({"bash", "zsh", "fish"}));
  completion->footer("For this shell alone: source <(luthier completion bash)");
  completion->callback([&root, shell] {
    (*shell == "bash" ? printBash : *shell == "zsh" ? printZsh : printFish)(root);
  });
}

} // namespace luthier::cli
