// Whether a program has code for the GPUs that it is about to run on.
#pragma once

#include <string>
#include <vector>

namespace luthier::cli {

/// What is wrong, naming both sides; empty if the program has code for each of the targets, or none for any AMD GPU
/// (its libraries may have it). `program` is looked for as execvp does.
std::string missingCode(const std::string &program, const std::vector<std::string> &gpus);

} // namespace luthier::cli
