// ROCr's tables of any release, without ROCr: as many functions as that release has, each a marker of its own.
#pragma once

#include "hsa/api.h"

#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

namespace luthier::hsa::test {

/// What a release of ROCr says of its tables. The versions and numbers are those of its headers.
struct Release {
  const char *name;
  uint32_t rootMajor, tableMajor;
  size_t core, amd, image;
};

inline constexpr Release kReleases[] = {
    {"5.2.3", 1, 1, 125, 48, 13}, {"5.5.1", 1, 1, 125, 51, 13}, {"5.7.1", 1, 1, 125, 55, 13},
    {"6.0.2", 2, 2, 125, 67, 13}, {"6.1.2", 3, 2, 125, 68, 13}, {"6.2.4", 3, 2, 125, 70, 13},
    {"6.4.3", 3, 2, 125, 72, 14}, {"7.2.4", 3, 2, 125, 76, 14}, {"in the future", 3, 2, 127, 99, 20},
};

class RocrTables {
public:
  explicit RocrTables(const Release &release)
      : core_(make(release.tableMajor, release.core)), amd_(make(release.tableMajor, release.amd)),
        image_(make(release.tableMajor, release.image)) {
    root_.version = {release.rootMajor, sizeof root_, 0, 0};
    root_.core_ = reinterpret_cast<CoreApiTable *>(core_.data());
    root_.amd_ext_ = reinterpret_cast<AmdExtTable *>(amd_.data());
    root_.image_ext_ = reinterpret_cast<ImageExtTable *>(image_.data());
  }

  HsaApiTable *root() { return &root_; }
  void **core() { return core_.data() + 2; }
  void **amd() { return amd_.data() + 2; }
  void **image() { return image_.data() + 2; }
  ApiTableVersion &amdVersion() { return *reinterpret_cast<ApiTableVersion *>(amd_.data()); }
  ApiTableVersion &imageVersion() { return *reinterpret_cast<ApiTableVersion *>(image_.data()); }

private:
  /// Two words of version, then the functions; each entry is its own address until a test puts a function there.
  static std::vector<void *> make(uint32_t major, size_t functions) {
    std::vector<void *> table(2 + functions);
    const ApiTableVersion version = {major, static_cast<uint32_t>(table.size() * sizeof(void *)), 0, 0};
    static_assert(sizeof version == 2 * sizeof(void *));
    memcpy(table.data(), &version, sizeof version);
    for (size_t n = 2; n < table.size(); ++n)
      table[n] = &table[n];
    return table;
  }

  std::vector<void *> core_, amd_, image_;
  HsaApiTable root_ = {};
};

} // namespace luthier::hsa::test
