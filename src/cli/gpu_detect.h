// Is there an AMD GPU that ROCm can use on this machine?
#pragma once

#include <filesystem>

namespace luthier::cli {

// True if the kernel driver's device can be opened for reading and writing and its topology has a GPU node: one with
// SIMDs and a gfx version (CPUs are nodes too). `root` stands for / and is there for tests.
bool realGpuPresent(const std::filesystem::path &root = "/");

} // namespace luthier::cli
