// The files that a machine has when the virtual GPUs are in it: sysfs, as the kernel's drivers fill it, and
// placeholders of device files. The preloaded library redirects their paths to a folder with all of them.
//
// They are real files, so that a program may read, list and link them by any means. The folder is named by a digest of
// what is in it and kept in the user's cache, where all processes of all runs share it; it appears there by renaming,
// complete. Without a cache, each process has a folder of its own, removed when it exits.
#pragma once

#include "support/result.h"
#include "vgpu/driver/device_files.h"
#include "vgpu/driver/topology.h"

#include <filesystem>
#include <map>
#include <string>

namespace luthier::vgpu {

/// Files and links of a tree, by path relative to it. Folders are those of the files, and ones with empty names:
/// "a/b/".
struct TreeContents {
  enum class Kind : uint8_t { File, Device, Link };
  struct Entry {
    Kind kind;
    std::string text; ///< of a file, or where a link leads; a device is an empty file that may be written
  };
  std::map<std::string, Entry> entries;

  void file(std::string path, std::string text) { entries[std::move(path)] = {Kind::File, std::move(text)}; }
  void device(std::string path) { entries[std::move(path)] = {Kind::Device, ""}; }
  void link(std::string path, std::string target) { entries[std::move(path)] = {Kind::Link, std::move(target)}; }
  void folder(const std::string &path) { entries[path + "/"] = {Kind::File, ""}; }
};

/// `root` stands for / and is there for tests: where other devices are looked for, which share folders with ours.
TreeContents describeTree(const Topology &topology, const DeviceFiles &devices,
                          const std::filesystem::path &root = "/");

/// Where a tree with these contents is, as an absolute path without links. `cache` may be empty. Folders that are not
/// in the cache are removed when the process exits.
Result<std::string> placeTree(const TreeContents &contents, const std::filesystem::path &cache);

} // namespace luthier::vgpu
