#include "cli/app_code.h"

#include <cstdlib>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "object/container.h"

namespace luthier::cli {

namespace {

std::string findProgram(const std::string &name) {
  if (name.find('/') != std::string::npos)
    return name;
  const char *path = std::getenv("PATH");
  std::string_view rest = path ? path : "";
  while (!rest.empty()) {
    const size_t end = rest.find(':');
    const std::string file = fmt::format("{}/{}", end == 0 ? "." : rest.substr(0, end), name);
    std::error_code failed;
    if (::access(file.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(file, failed))
      return file;
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return "";
}

} // namespace

std::string missingCode(const std::string &program, const std::vector<std::string> &gpus) {
  const std::string file = findProgram(program);
  if (file.empty())
    return "";
  const auto container = object::Container::open(file);
  const auto images = container ? container->images() : container.error();
  if (!images || images->empty()) // scripts, programs whose libraries have the code, and what `inspect` complains about
    return "";
  std::set<std::string> has, lacks;
  for (const object::Image &image : *images)
    has.insert(image.target.text());
  for (const std::string &gpu : gpus) {
    const auto wanted = isa::TargetId::parse(gpu);
    bool runs = false;
    for (const object::Image &image : *images)
      runs |= wanted && isa::compatible(image.target, *wanted);
    if (!runs)
      lacks.insert(gpu);
  }
  if (lacks.empty())
    return "";
  return fmt::format("{} has no code for {}; it has code for {}: compile it with --offload-arch={}, or choose a GPU "
                     "with --gpu",
                     file, fmt::join(lacks, ", "), fmt::join(has, ", "), *lacks.begin());
}

} // namespace luthier::cli
