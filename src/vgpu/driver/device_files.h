// The device files of the virtual driver: /dev/kfd and one render node per GPU.
//
// Behind each is an empty file in memory. A descriptor of it is told from others by the file's device and inode
// numbers, which stay the same however the descriptor was duplicated or handed on, to a child of fork as well; so there
// is no table of descriptors to keep.
#pragma once

#include "vgpu/driver/entry.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace luthier::vgpu {

/// Number of GPU `index`'s render node.
uint32_t renderMinor(uint32_t index);

class DeviceFiles {
public:
  static constexpr LuthierVgpuFile kKfd = 0;
  static constexpr LuthierVgpuFile renderNode(uint32_t gpu) { return static_cast<LuthierVgpuFile>(gpu + 1); }

  /// `root` stands for / and is there for tests: where other cards are looked for.
  explicit DeviceFiles(uint32_t gpus, const std::filesystem::path &root = "/");
  ~DeviceFiles();
  DeviceFiles(const DeviceFiles &) = delete;
  DeviceFiles &operator=(const DeviceFiles &) = delete;

  /// A new descriptor, with flags as of open(2). -1 and errno.
  int open(LuthierVgpuFile file, int flags);
  /// Takes no lock: it may be called from a signal handler.
  LuthierVgpuFile identify(dev_t device, ino_t inode) const;
  /// A GPU's primary node, /dev/dri/cardN, is another name of its render node.
  LuthierVgpuFile find(std::string_view path) const;
  dev_t number(LuthierVgpuFile file) const;
  /// Of GPU `index`'s primary node.
  uint32_t cardMinor(uint32_t index) const { return cards_[index]; }
  /// All paths that `find` knows.
  std::vector<std::string> paths() const;

private:
  struct File {
    std::atomic<int> descriptor = -1;
    std::atomic<dev_t> device = 0;
    std::atomic<ino_t> inode = 0; ///< 0: there is none
  };
  int make(LuthierVgpuFile file);
  /// Our descriptor of it. The application may have closed the one that was made first, and opened something else that
  /// has its number now.
  int ensure(LuthierVgpuFile file);

  std::mutex mutex_; ///< over making files; not needed to open them, so that a child of fork never waits for it
  uint32_t gpus_;
  std::vector<uint32_t> cards_; ///< numbers of primary nodes
  std::unique_ptr<File[]> files_;
};

} // namespace luthier::vgpu
