#include "support/rank.h"

#include "support/env.h"

#include <algorithm>

namespace luthier {

std::optional<std::string> processRank() {
  for (const char *variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const auto text = env::text(variable);
        text && !text->empty() && std::ranges::all_of(*text, [](unsigned char c) { return c >= '0' && c <= '9'; }))
      return text;
  return std::nullopt;
}

} // namespace luthier
