#include "cli/gpu_detect.h"

#include <cstdint>
#include <fstream>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace luthier::cli {

namespace {

bool canOpenReadWrite(const std::filesystem::path &device) {
  int fd = ::open(device.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return false;
  ::close(fd);
  return true;
}

// A properties file has one "name value" pair per line.
bool describesGpu(const std::filesystem::path &properties) {
  std::ifstream file(properties);
  uint64_t simdCount = 0, gfxVersion = 0, value = 0;
  for (std::string name; file >> name >> value;) {
    if (name == "simd_count")
      simdCount = value;
    else if (name == "gfx_target_version")
      gfxVersion = value;
  }
  return simdCount > 0 && gfxVersion != 0;
}

} // namespace

bool realGpuPresent(const std::filesystem::path &root) {
  if (!canOpenReadWrite(root / "dev/kfd"))
    return false;
  std::error_code failed;
  std::filesystem::directory_iterator nodes(root / "sys/class/kfd/kfd/topology/nodes", failed);
  for (; !failed && nodes != std::filesystem::directory_iterator(); nodes.increment(failed))
    if (describesGpu(nodes->path() / "properties"))
      return true;
  return false;
}

} // namespace luthier::cli
