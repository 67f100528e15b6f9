// Which of several cooperating processes this one is: MPI launchers say so in the environment.
#pragma once

#include <optional>
#include <string>

namespace luthier {

/// The first of OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK and SLURM_PROCID that holds a number; nothing if none does.
/// The launcher's own variables come before SLURM's, which an `mpirun` inside a job step only inherits.
std::optional<std::string> processRank();

} // namespace luthier
