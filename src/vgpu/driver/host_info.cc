// Reads what ROCr wants to know about the CPU from /proc and /sys; missing files give plausible defaults.
//
// Only what stays the same while the machine runs: the files that are made of it are shared by all processes.
#include "vgpu/driver/topology.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>
#include <unistd.h>

namespace luthier::vgpu {

namespace {

std::string firstLine(const std::string &path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

uint32_t leadingNumber(std::string_view text) {
  uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string fromCpuInfo(std::string_view key, std::string fallback) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key))
      if (size_t colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return fallback;
}

} // namespace

HostInfo HostInfo::read() {
  HostInfo info;
  info.cores = static_cast<uint32_t>(std::max(1l, sysconf(_SC_NPROCESSORS_ONLN)));
  const long pages = sysconf(_SC_PHYS_PAGES);
  info.memoryBytes = static_cast<uint64_t>(pages > 0 ? pages : 1 << 20) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  info.clockMhz = leadingNumber(firstLine("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")) / 1000;
  if (info.clockMhz == 0) // then this is the only one, but it may be what was measured: not to the last digit
    info.clockMhz = leadingNumber(fromCpuInfo("cpu MHz", "0")) / 100 * 100;
  info.name = fromCpuInfo("model name", "CPU");
  for (unsigned index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    const std::string type = firstLine(folder + "type");
    if (type.empty())
      break;
    info.caches.push_back({leadingNumber(firstLine(folder + "level")), leadingNumber(firstLine(folder + "size")),
                           leadingNumber(firstLine(folder + "coherency_line_size")), type != "Data",
                           type != "Instruction"});
  }
  if (info.caches.empty())
    info.caches.push_back({1, 32, 64, false, true});
  return info;
}

} // namespace luthier::vgpu
