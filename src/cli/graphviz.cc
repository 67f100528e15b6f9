#include "cli/graphviz.h"

#include "support/write_all.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace luthier::cli {

namespace {

Result<void> writeTo(int fd, const std::string &graph, const std::string &path) {
  if (const int error = writeAll(fd, graph))
    return makeErrorCode(error, "writing {}: {}", path, strerror(error));
  return {};
}

Result<void> draw(const std::string &graph, const std::string &path, const std::string &format) {
  // Through a file, not a pipe: `dot` that ends early must not end us with it.
  char temporary[] = "/tmp/luthier-graph-XXXXXX";
  const int fd = mkstemp(temporary);
  if (fd < 0)
    return makeErrorCode(errno, "a temporary file for dot: {}", strerror(errno));
  Result<void> written = writeTo(fd, graph, temporary);
  close(fd);
  std::string type = "-T" + format, output = path;
  char program[] = "dot", toFile[] = "-o";
  char *arguments[] = {program, type.data(), toFile, output.data(), temporary, nullptr};
  pid_t child = -1;
  const int failed = written ? posix_spawnp(&child, "dot", nullptr, nullptr, arguments, environ) : 0;
  int status = 0;
  if (written && !failed)
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  unlink(temporary);
  if (!written)
    return written.error();
  if (failed == ENOENT)
    return makeErrorCode(failed, "cannot draw {}: there is no program `dot`; install Graphviz, or write a .dot file",
                         path);
  if (failed)
    return makeErrorCode(failed, "cannot start dot: {}", strerror(failed));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return makeError("dot failed to draw {}", path);
  return {};
}

} // namespace

std::string dotQuoted(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '\n') {
      quoted += "\\l";
      continue;
    }
    if (c == '"' || c == '\\')
      quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

Result<void> writeGraph(const std::string &graph, const std::string &path) {
  const size_t dot = path.rfind('.');
  const std::string ending = dot == path.npos ? "" : path.substr(dot + 1);
  if (ending == "svg" || ending == "png" || ending == "pdf")
    return draw(graph, path, ending);
  if (ending != "dot" && ending != "gv")
    return makeError("{}: the name must end in .dot, .gv, .svg, .png or .pdf", path);
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0)
    return makeErrorCode(errno, "{}: {}", path, strerror(errno));
  Result<void> written = writeTo(fd, graph, path);
  if (close(fd) < 0 && written)
    return makeErrorCode(errno, "{}: {}", path, strerror(errno));
  return written;
}

} // namespace luthier::cli
