#include "support/expand_keys.h"

#include "support/env.h"
#include "support/rank.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <unistd.h>

namespace luthier {

namespace {

bool isName(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return isalnum(c) || c == '_'; });
}

} // namespace

Result<std::string> expandKeys(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t begin = text.find('%');
    result += text.substr(0, begin);
    if (begin == std::string_view::npos)
      break;
    text.remove_prefix(begin + 1);
    const size_t end = text.find('%');
    const std::string_view key = text.substr(0, end);
    if (end == std::string_view::npos || !(isName(key) || key.starts_with("env{"))) {
      result += '%'; // an ordinary one
      continue;
    }
    if (key == "pid")
      result += fmt::format("{}", getpid());
    else if (key == "hostname") {
      char name[256] = "";
      if (gethostname(name, sizeof name - 1) != 0)
        return makeErrorCode(errno, "the name of this host: {}", std::strerror(errno));
      result += name;
    } else if (key == "rank")
      result += processRank().value_or("0");
    else if (key.starts_with("env{") && key.ends_with('}') && isName(key.substr(4, key.size() - 5)))
      result += env::text(std::string(key.substr(4, key.size() - 5)).c_str()).value_or("");
    else
      return makeError("%{}% is not a key for names of files; known: %pid%, %hostname%, %rank%, %env{{NAME}}%", key);
    text.remove_prefix(end + 1);
  }
  return result;
}

} // namespace luthier
