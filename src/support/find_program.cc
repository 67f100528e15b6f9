#include "support/find_program.h"

#include "support/env.h"

#include <filesystem>
#include <string_view>

#include <unistd.h>

namespace luthier {

std::string findProgram(const std::string &name) {
  if (name.find('/') != std::string::npos)
    return name;
  const std::string path = env::text("PATH").value_or("");
  std::string_view rest = path;
  while (!rest.empty()) {
    const size_t end = rest.find(':');
    const std::string file = std::string(end == 0 ? "." : rest.substr(0, end)) + "/" + name;
    std::error_code failed;
    if (::access(file.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(file, failed))
      return file;
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return "";
}

} // namespace luthier
