#include "vgpu/driver/tree.h"

#include "support/cache_folder.h"
#include "support/env.h"
#include "support/file.h"
#include "support/log.h"
#include "support/write_all.h"
#include "vgpu/driver/device_numbers.h"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace luthier::vgpu {

namespace {

constexpr std::string_view kKfd = "sys/devices/virtual/kfd/kfd";

std::string linesOf(const Properties &properties) {
  std::string text;
  for (const auto &[name, value] : properties)
    text += fmt::format("{} {}\n", name, value);
  return text;
}

void describeNode(TreeContents &tree, const Topology &topology, uint32_t node) {
  const std::string folder = fmt::format("{}/topology/nodes/{}", kKfd, node);
  tree.file(folder + "/gpu_id", fmt::format("{}\n", topology.gpuId(node)));
  tree.file(folder + "/name", topology.isGpu(node) ? fmt::format("{}\n", topology.model(node).codename) : "\n");
  tree.file(folder + "/properties", linesOf(topology.node(node)));
  const auto describe = [&](std::string_view name, const std::vector<Properties> &all) {
    tree.folder(fmt::format("{}/{}", folder, name));
    for (size_t n = 0; n < all.size(); ++n)
      tree.file(fmt::format("{}/{}/{}/properties", folder, name, n), linesOf(all[n]));
  };
  describe("mem_banks", topology.memoryBanks(node));
  describe("caches", topology.caches(node));
  describe("io_links", topology.ioLinks(node));
  describe("p2p_links", topology.peerLinks(node));
}

void describeKfd(TreeContents &tree, const Topology &topology) {
  const std::string kfd(kKfd);
  tree.link("sys/class/kfd/kfd", "../../devices/virtual/kfd/kfd");
  tree.link(kfd + "/subsystem", "../../../../class/kfd");
  tree.file(kfd + "/dev", fmt::format("{}:0\n", LUTHIER_VGPU_KFD_MAJOR));
  tree.file(kfd + "/uevent", fmt::format("MAJOR={}\nMINOR=0\nDEVNAME=kfd\n", LUTHIER_VGPU_KFD_MAJOR));
  tree.folder(kfd + "/proc");
  tree.file(kfd + "/topology/generation_id", "1\n");
  tree.file(kfd + "/topology/system_properties", "platform_oem 0\nplatform_id 0\nplatform_rev 0\n");
  for (uint32_t node = 0; node < topology.nodes(); ++node)
    describeNode(tree, topology, node);
}

std::string productName(const Topology &topology, uint32_t node) {
  return fmt::format("Luthier virtual {}", topology.gpu(node).target->name);
}

/// A GPU as a PCI device with its two DRM nodes.
void describePci(TreeContents &tree, const Topology &topology, uint32_t node, uint32_t card) {
  const GpuModel &model = topology.model(node);
  const DeviceConfig &config = topology.gpu(node);
  const uint32_t location = topology.locationId(node);
  const std::string slot =
      fmt::format("0000:{:02x}:{:02x}.{}", location >> 8 & 0xff, location >> 3 & 0x1f, location & 7);
  const std::string device = std::string(LUTHIER_VGPU_SYSFS_DEVICES).substr(1) + "/" + slot;
  const auto file = [&](std::string_view name, const std::string &text) {
    tree.file(fmt::format("{}/{}", device, name), text + "\n");
  };
  file("vendor", "0x1002");
  file("device", fmt::format("0x{:04x}", model.deviceId));
  file("revision", fmt::format("0x{:02x}", model.pciRevision));
  file("subsystem_vendor", "0x1002");
  file("subsystem_device", fmt::format("0x{:04x}", model.deviceId));
  file("class", "0x038000");
  file("numa_node", "0");
  file("uevent", fmt::format("DRIVER=amdgpu\nPCI_CLASS=38000\nPCI_ID=1002:{0:04X}\nPCI_SUBSYS_ID=1002:{0:04X}\n"
                             "PCI_SLOT_NAME={1}\nMODALIAS=pci:v00001002d{0:08X}sv00001002sd{0:08X}bc03sc80i00",
                             model.deviceId, slot));
  file("unique_id", fmt::format("{:016x}", topology.uniqueId(node)));
  // rocm_smi takes what has a BIOS for a GPU, and insists on a monitor with a label; there are no sensors.
  file("vbios_version", "113-LUTHIER-001");
  const std::string monitor = fmt::format("hwmon/hwmon{}", node - 1);
  file(monitor + "/name", "amdgpu");
  file(monitor + "/in0_label", "vddgfx");
  file("product_name", productName(topology, node));
  file("current_link_speed", "16.0 GT/s PCIe");
  file("current_link_width", "16");
  file("max_link_speed", "16.0 GT/s PCIe");
  file("max_link_width", "16");
  file("mem_info_vram_total", fmt::format("{}", config.localMemoryBytes));
  file("mem_info_vis_vram_total", fmt::format("{}", config.localMemoryBytes));
  file("mem_info_gtt_total", fmt::format("{}", topology.host().memoryBytes / 2));
  // Every process has virtual GPUs of its own, and one that watches GPUs makes no use of them.
  for (const char *kind : {"vram", "vis_vram", "gtt"})
    file(fmt::format("mem_info_{}_used", kind), "0");
  file("gpu_busy_percent", "0");
  tree.link(device + "/subsystem", "../../../bus/pci");
  tree.link(device + "/driver", "../../../bus/pci/drivers/amdgpu");

  const auto drm = [&](const std::string &name, uint32_t minor) {
    const std::string folder = device + "/drm/" + name;
    tree.file(folder + "/dev", fmt::format("{}:{}\n", LUTHIER_VGPU_DRM_MAJOR, minor));
    tree.file(folder + "/uevent", fmt::format("MAJOR={}\nMINOR={}\nDEVNAME=dri/{}\nDEVTYPE=drm_minor\n",
                                              LUTHIER_VGPU_DRM_MAJOR, minor, name));
    tree.link(folder + "/device", "../../../" + slot);
    tree.link(folder + "/subsystem", "../../../../../class/drm");
    tree.link("sys/class/drm/" + name, "../../" + folder.substr(strlen("sys/")));
    tree.link(fmt::format("sys/dev/char/{}:{}", LUTHIER_VGPU_DRM_MAJOR, minor),
              "../../" + folder.substr(strlen("sys/")));
  };
  drm(fmt::format("card{}", card), card);
  drm(fmt::format("renderD{}", renderMinor(node - 1)), renderMinor(node - 1));
}

/// libdrm's list of names, by device and revision, with ours in front: the first that fits counts.
void describeNames(TreeContents &tree, const Topology &topology, const std::filesystem::path &root,
                   const std::string &path) {
  constexpr std::string_view kVersion = "1.0.0\n";
  std::string text = readFile((root / path.substr(1)).string()).value_or(std::string(kVersion));
  const size_t version = text.find(kVersion);
  if (version == std::string::npos)
    return; // of another format: GPUs have no names
  std::string names;
  for (uint32_t node = 1; node < topology.nodes(); ++node)
    names += fmt::format("{:04X},\t{:02X},\t{}\n", topology.model(node).deviceId, topology.model(node).pciRevision,
                         productName(topology, node));
  tree.file(path.substr(1), text.insert(version + kVersion.size(), names));
}

/// Has the tree's folder list what the real one does; what a real name stands for stays where it is.
void listOthers(TreeContents &tree, const std::filesystem::path &root, const std::string &folder) {
  std::error_code failed;
  for (std::filesystem::directory_iterator entry(root / folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string path = folder + "/" + entry->path().filename().string();
    if (!tree.entries.contains(path))
      tree.link(path, "/" + path);
  }
}

Result<void> failure(const std::string &path) {
  return makeErrorCode(errno, "cannot make {}: {}", path, std::strerror(errno));
}

Result<void> writeNewFile(const std::string &path, std::string_view text, mode_t mode) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (file < 0)
    return failure(path);
  errno = writeAll(file, text);
  const bool written = errno == 0;
  if (::close(file) != 0 || !written)
    return failure(path);
  return {};
}

/// Into an empty folder.
Result<void> write(const TreeContents &contents, const std::filesystem::path &folder) {
  for (const auto &[path, entry] : contents.entries) {
    const std::filesystem::path place = folder / path;
    std::error_code failed;
    std::filesystem::create_directories(place.parent_path(), failed);
    if (failed)
      return makeErrorCode(failed.value(), "cannot make {}: {}", place.parent_path().string(), failed.message());
    if (path.ends_with('/'))
      continue;
    if (entry.kind != TreeContents::Kind::Link)
      LUTHIER_TRY(writeNewFile(place.string(), entry.text, entry.kind == TreeContents::Kind::Device ? 0600 : 0444));
    else if (::symlink(entry.text.c_str(), place.c_str()) != 0)
      return failure(place.string());
  }
  return {};
}

/// An error says what is wrong.
Result<void> verify(const TreeContents &contents, const std::filesystem::path &folder) {
  struct stat status;
  if (::lstat(folder.c_str(), &status) != 0)
    return makeErrorCode(errno, "{}", std::strerror(errno));
  if (!S_ISDIR(status.st_mode))
    return makeError("it is not a folder");
  if (const std::string why = whoElseCouldWrite(status); !why.empty())
    return makeError("it {}", why);
  for (const auto &[path, entry] : contents.entries) {
    const std::filesystem::path place = folder / path;
    std::error_code failed;
    bool same = true;
    if (path.ends_with('/'))
      same = std::filesystem::is_directory(place, failed);
    else if (entry.kind == TreeContents::Kind::Link)
      same = std::filesystem::read_symlink(place, failed) == entry.text;
    else {
      const Result<std::string> text = readFile(place.string());
      same = text && *text == entry.text;
    }
    if (!same)
      return makeError("{} in it was changed", path);
  }
  return {};
}

/// FNV-1a. It need not be more: contents are compared before a tree is used.
std::string digestOf(const TreeContents &contents) {
  uint64_t digest = 0xcbf29ce484222325;
  const auto add = [&](std::string_view text) {
    for (const char c : text)
      digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  };
  for (const auto &[path, entry] : contents.entries)
    add(fmt::format("{}\n{} {}\n{}\n", path, static_cast<int>(entry.kind), entry.text.size(), entry.text));
  return fmt::format("{:016x}", digest);
}

Result<std::filesystem::path> makeTemporary(const std::filesystem::path &pattern) {
  std::string name = pattern.string();
  if (!::mkdtemp(name.data()))
    return makeErrorCode(errno, "cannot make a folder {}: {}", pattern.string(), std::strerror(errno));
  return std::filesystem::path(name);
}

void removeFolder(const std::filesystem::path &folder) {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

/// Trees of other versions and of other numbers of GPUs that nobody has used for long.
void removeStale(const std::filesystem::path &cache) {
  constexpr auto kLong = std::chrono::days(30);
  std::error_code failed;
  for (std::filesystem::directory_iterator entry(cache, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    if (!entry->path().filename().string().starts_with("vgpu-"))
      continue;
    std::error_code unknown;
    const auto used = std::filesystem::last_write_time(entry->path(), unknown);
    if (!unknown && std::filesystem::file_time_type::clock::now() - used > kLong)
      removeFolder(entry->path());
  }
}

Result<std::filesystem::path> placeInCache(const TreeContents &contents, const std::filesystem::path &cache) {
  std::error_code failed;
  std::filesystem::create_directories(cache.parent_path(), failed);
  ::mkdir(cache.c_str(), 0700);
  struct stat status;
  if (::stat(cache.c_str(), &status) != 0)
    return makeErrorCode(errno, "{}: {}", cache.string(), std::strerror(errno));
  if (const std::string why = whoElseCouldWrite(status); !why.empty())
    return makeError("{} {}", cache.string(), why);
  const std::filesystem::path parent = std::filesystem::canonical(cache, failed);
  if (failed)
    return makeError("{}: {}", cache.string(), failed.message());
  std::filesystem::path folder = parent / ("vgpu-" + digestOf(contents));
  Result<void> whole = verify(contents, folder);
  if (!whole) {
    const std::filesystem::path made = LUTHIER_TRY(makeTemporary(parent / "vgpu-new-XXXXXX"));
    if (const Result<void> written = write(contents, made); !written) {
      removeFolder(made);
      return written.error();
    }
    if (::rename(made.c_str(), folder.c_str()) != 0) {
      // Another process was first, unless what is there is damaged. Other processes may use it: never is there none.
      if (!verify(contents, folder))
        ::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE);
      removeFolder(made);
    }
    removeStale(parent);
    whole = verify(contents, folder);
  }
  if (!whole)
    return makeError("{}: {}", folder.string(), whole.error().message());
  ::utimensat(AT_FDCWD, folder.c_str(), nullptr, 0); // in use
  return folder;
}

struct OwnFolder {
  std::filesystem::path path;
  pid_t owner; ///< children of fork leave it alone
};
[[clang::no_destroy]] std::vector<OwnFolder> ownFolders;

Result<std::filesystem::path> placeForThisProcess(const TreeContents &contents) {
  const std::filesystem::path parent = env::text("TMPDIR").value_or("/tmp");
  const std::filesystem::path made = LUTHIER_TRY(makeTemporary(parent / "luthier-vgpu-XXXXXX"));
  if (ownFolders.empty())
    std::atexit([] {
      for (const OwnFolder &folder : ownFolders)
        if (folder.owner == ::getpid())
          removeFolder(folder.path);
    });
  ownFolders.push_back({made, ::getpid()});
  LUTHIER_TRY(write(contents, made));
  std::error_code failed;
  auto real = std::filesystem::canonical(made, failed);
  return failed ? made : real;
}

} // namespace

TreeContents describeTree(const Topology &topology, const DeviceFiles &devices, const std::filesystem::path &root) {
  TreeContents tree;
  for (const std::string &path : devices.paths())
    tree.device(path.substr(1));
  describeKfd(tree, topology);
  for (uint32_t node = 1; node < topology.nodes(); ++node)
    describePci(tree, topology, node, devices.cardMinor(node - 1));
  tree.file("sys/module/amdgpu/initstate", "live\n");
  tree.file("sys/module/amdgpu/refcnt", "1\n");
  tree.file("sys/module/amdgpu/version", "luthier\n");
  tree.file("sys/module/amdgpu/parameters/pcie_p2p", "Y\n"); // GPUs reach each other's memory; RCCL's tests ask
  for (const char *path : {LUTHIER_VGPU_PRODUCT_NAMES, LUTHIER_VGPU_PRODUCT_NAMES_OF_AMD})
    describeNames(tree, topology, root, path);
  tree.folder("dev/dri");
  tree.folder("sys/class/drm");
  listOthers(tree, root, "dev/dri");
  listOthers(tree, root, "sys/class/drm");
  return tree;
}

Result<std::string> placeTree(const TreeContents &contents, const std::filesystem::path &cache) {
  if (!cache.empty()) {
    const auto placed = placeInCache(contents, cache.has_filename() ? cache : cache.parent_path());
    if (placed)
      return placed->string();
    log::debug("the virtual GPUs' files are not kept in the cache: {}", placed.error().message());
  }
  return LUTHIER_TRY(placeForThisProcess(contents)).string();
}

} // namespace luthier::vgpu
