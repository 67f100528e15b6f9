#include "cli/describe_tool.h"

#include <cerrno>
#include <cstring>
#include <exception>
#include <fstream>
#include <functional>

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/tool_abi.h"
#include "runtime/tool_description.h"
#include "support/write_all.h"

namespace luthier::cli {

namespace {

// What a child tells its parent: texts, each with a 0 behind it. They come from C strings and have none in them.
using Texts = std::vector<std::string>;

std::string pack(const Texts &texts) {
  std::string bytes;
  for (const std::string &text : texts)
    bytes.append(text.c_str()).push_back('\0');
  return bytes;
}

Texts unpack(std::string_view bytes) {
  Texts texts;
  for (size_t end; (end = bytes.find('\0')) != std::string_view::npos; bytes.remove_prefix(end + 1))
    texts.emplace_back(bytes.substr(0, end));
  return texts;
}

/// What `work` gives, done by a child. Nothing that it prints is seen.
Result<Texts> inChild(const ToolFile &tool, const std::function<Result<Texts>()> &work) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return makeErrorCode(errno, "cannot make a pipe: {}", std::strerror(errno));
  const pid_t child = ::fork();
  if (child < 0) {
    const int reason = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    return makeErrorCode(reason, "cannot start a process: {}", std::strerror(reason));
  }
  if (child == 0) {
    if (const int nowhere = ::open("/dev/null", O_RDWR); nowhere >= 0)
      for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        ::dup2(nowhere, stream);
    const Result<Texts> texts = work();
    // The first text says which of the two the rest is.
    Texts told = {"error", texts ? "" : texts.error().message()};
    if (texts) {
      told = {"done"};
      told.insert(told.end(), texts->begin(), texts->end());
    }
    ::_exit(writeAll(ends[1], pack(told)) == 0 ? 0 : 1);
  }
  ::close(ends[1]);
  std::string bytes;
  char buffer[4096];
  for (ssize_t count; (count = ::read(ends[0], buffer, sizeof buffer)) != 0;)
    if (count > 0)
      bytes.append(buffer, static_cast<size_t>(count));
    else if (errno != EINTR)
      break;
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  if (WIFSIGNALED(status))
    return makeError("tool {} crashes when it is loaded: {}", tool.file.string(), ::strsignal(WTERMSIG(status)));
  Texts texts = unpack(bytes);
  if (texts.size() >= 2 && texts[0] == "error")
    return makeError("{}", texts[1]);
  if (texts.empty() || texts[0] != "done")
    return makeError("tool {} ends the process when it is loaded", tool.file.string());
  texts.erase(texts.begin());
  return texts;
}

/// Clearer than what dlopen says about a file that is something else.
Result<void> checkElf(const std::filesystem::path &path) {
  Elf64_Ehdr header = {};
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return makeErrorCode(errno, "tool {} cannot be read: {}", path.string(), std::strerror(errno));
  file.read(reinterpret_cast<char *>(&header), sizeof header);
  if (file.gcount() < EI_NIDENT || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return makeError("{} is not a Luthier tool: it is not a shared library (no ELF file)", path.string());
  if (header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_type != ET_DYN)
    return makeError("{} is not a Luthier tool: it is an ELF file, but not a shared library", path.string());
  return {};
}

// The runtime first: the tool then finds it by its name, wherever the tool was built.
Result<void *> load(const std::filesystem::path &runtime, const ToolFile &tool) {
  if (!::dlopen(runtime.c_str(), RTLD_NOW | RTLD_LOCAL))
    return makeError("{} cannot be loaded: {}", runtime.string(), ::dlerror());
  void *library = ::dlopen(tool.file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return makeError("tool {} cannot be loaded: {}", tool.name, ::dlerror());
  LUTHIER_TRY(runtime::checkTool(library, tool.file.string()));
  return library;
}

std::string oneLine(void *library) {
  const char *text = static_cast<const char *>(::dlsym(library, "luthierToolDescription"));
  return text ? text : "";
}

/// Its one line, what its constructor threw, and four texts for each option.
Result<Texts> makeTool(const std::filesystem::path &runtime, const ToolFile &tool) {
  void *library = LUTHIER_TRY(load(runtime, tool));
  void *runtimeLibrary = ::dlopen(runtime.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto options = reinterpret_cast<decltype(&luthierToolOptions)>(::dlsym(runtimeLibrary, "luthierToolOptions"));
  if (!options)
    return makeError("{} is of another version than this program", runtime.string());
  Texts texts = {oneLine(library), ""};
  try {
    reinterpret_cast<void *(*)()>(::dlsym(library, "luthierCreateTool"))();
  } catch (const std::exception &exception) {
    texts[1] = fmt::format("tool {} threw in its constructor: {}", tool.name, exception.what());
    return texts;
  } catch (...) {
    texts[1] = fmt::format("tool {} threw in its constructor", tool.name);
    return texts;
  }
  options(
      [](void *user, const char *name, const char *type, const char *byDefault, const char *help) {
        for (const char *text : {name, type, byDefault, help})
          static_cast<Texts *>(user)->push_back(text);
      },
      &texts);
  return texts;
}

} // namespace

Result<std::string> describeInOneLine(const std::filesystem::path &runtime, const ToolFile &tool) {
  LUTHIER_TRY(checkElf(tool.file));
  const Texts texts =
      LUTHIER_TRY(inChild(tool, [&]() -> Result<Texts> { return Texts{oneLine(LUTHIER_TRY(load(runtime, tool)))}; }));
  return texts.at(0);
}

Result<ToolDescription> describeTool(const std::filesystem::path &runtime, const ToolFile &tool) {
  LUTHIER_TRY(checkElf(tool.file));
  const Texts texts = LUTHIER_TRY(inChild(tool, [&] { return makeTool(runtime, tool); }));
  ToolDescription description;
  description.text = texts.at(0);
  description.threw = texts.at(1);
  for (size_t n = 2; n + 3 < texts.size(); n += 4) {
    auto type = ValueType::fromText(texts[n + 1]);
    if (!type)
      return type.error().withContext(fmt::format("option {} of tool {}", texts[n], tool.name));
    description.options.push_back({tool.name, texts[n], *std::move(type), texts[n + 2], texts[n + 3]});
  }
  return description;
}

} // namespace luthier::cli
