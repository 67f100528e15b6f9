// A trace in a temporary file, read back.
#pragma once

#include "vgpu/wave/trace.h"

#include <nlohmann/json.hpp>

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace luthier::vgpu::test {

class TraceFile {
public:
  TraceFile() {
    static std::atomic<unsigned> number{0};
    path_ = std::filesystem::temp_directory_path() /
            ("luthier-trace-" + std::to_string(getpid()) + "-" + std::to_string(number++));
    std::filesystem::remove(path_);
  }
  ~TraceFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_; }
  std::vector<nlohmann::json> lines() const {
    std::ifstream file(path_);
    std::vector<nlohmann::json> result;
    for (std::string line; std::getline(file, line);)
      result.push_back(nlohmann::json::parse(line));
    return result;
  }

private:
  std::filesystem::path path_;
};

} // namespace luthier::vgpu::test
