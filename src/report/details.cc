#include "report/details.h"

#include "support/file.h"
#include "support/rank.h"

#include <unistd.h>

namespace luthier::report {

Process currentProcess() {
  Process process;
  process.pid = getpid();
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) == 0)
    process.hostname = name;
  process.rank = processRank().value_or("");
  const std::string words = readFile("/proc/self/cmdline").value_or("");
  for (size_t at = 0; at < words.size();) {
    const size_t end = std::min(words.find('\0', at), words.size());
    process.command.push_back(words.substr(at, end - at));
    at = end + 1;
  }
  return process;
}

} // namespace luthier::report
