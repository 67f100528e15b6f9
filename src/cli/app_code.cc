#include "cli/app_code.h"

#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "object/container.h"
#include "support/find_program.h"

namespace luthier::cli {

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
