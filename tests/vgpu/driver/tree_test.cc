#include "vgpu/driver/tree.h"

#include "cli/temp_folder.h"
#include "support/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace luthier::vgpu {
namespace {

namespace fs = std::filesystem;
using cli::TempFolder;
using testing::HasSubstr;
using testing::StartsWith;

Topology twoGpus() {
  const DeviceConfig config = deviceConfig(*isa::findTarget("gfx90a"));
  return Topology(HostInfo::read(), {config, config});
}

std::string textOf(const fs::path &path) {
  const Result<std::string> text = readFile(path.string());
  EXPECT_TRUE(text) << path;
  return text ? *text : "";
}

size_t filesIn(const fs::path &folder) {
  size_t count = 0;
  for ([[maybe_unused]] const auto &entry : fs::directory_iterator(folder))
    ++count;
  return count;
}

struct Tree : testing::Test {
  TempFolder folder;
  Topology topology = twoGpus();
  DeviceFiles devices{2, folder.path() / "machine"};
  TreeContents contents = describeTree(topology, devices, folder.path() / "machine");
  fs::path cache = folder.path() / "cache" / "luthier";

  fs::path place() {
    const Result<std::string> placed = placeTree(contents, cache);
    EXPECT_TRUE(placed) << placed.error().message();
    return placed ? *placed : "";
  }
};

// As ROCr does: counts first, then a folder each.
void expectSame(const fs::path &file, const Properties &expected) {
  std::istringstream lines(textOf(file));
  Properties read;
  std::vector<std::string> names;
  names.reserve(expected.size() + 1);
  std::string name;
  for (uint64_t value = 0; lines >> name >> value;)
    read.emplace_back(names.emplace_back(name), value);
  EXPECT_EQ(read, expected) << file;
}

TEST_F(Tree, hasEveryPropertyOfEveryNode) {
  const fs::path nodes = place() / "sys/devices/virtual/kfd/kfd/topology/nodes";
  EXPECT_EQ(filesIn(nodes), topology.nodes());
  for (uint32_t node = 0; node < topology.nodes(); ++node) {
    const fs::path place = nodes / std::to_string(node);
    EXPECT_EQ(textOf(place / "gpu_id"), std::to_string(topology.gpuId(node)) + "\n");
    expectSame(place / "properties", topology.node(node));
    const std::pair<const char *, std::vector<Properties>> parts[] = {{"mem_banks", topology.memoryBanks(node)},
                                                                      {"caches", topology.caches(node)},
                                                                      {"io_links", topology.ioLinks(node)},
                                                                      {"p2p_links", topology.peerLinks(node)}};
    for (const auto &[part, all] : parts) {
      EXPECT_EQ(filesIn(place / part), all.size()) << part;
      for (size_t n = 0; n < all.size(); ++n)
        expectSame(place / part / std::to_string(n) / "properties", all[n]);
    }
  }
  // ROCr reads each file by one call.
  for (const auto &entry : fs::recursive_directory_iterator(nodes))
    EXPECT_LE(entry.is_regular_file() ? entry.file_size() : 0, 4096u) << entry.path();
}

TEST_F(Tree, isTheOneThatToolsWalk) {
  const fs::path tree = place();
  EXPECT_EQ(textOf(tree / "sys/module/amdgpu/initstate"), "live\n");
  EXPECT_EQ(textOf(tree / "sys/module/amdgpu/parameters/pcie_p2p"), "Y\n");
  EXPECT_NE(textOf(tree / "sys/class/kfd/kfd/topology/generation_id"), "0\n");
  EXPECT_TRUE(fs::is_empty(tree / "sys/class/kfd/kfd/proc"));
  // libdrm goes from the number of a node to its device, from there to the primary node and the bus.
  const fs::path device = tree / "sys/dev/char/226:185/device";
  EXPECT_TRUE(fs::is_directory(device / "drm/card1"));
  EXPECT_TRUE(fs::is_directory(device / "drm/renderD185"));
  EXPECT_EQ(fs::read_symlink(device / "subsystem").filename(), "pci");
  EXPECT_THAT(textOf(device / "uevent"), HasSubstr("PCI_SLOT_NAME=0000:02:00.0\n"));
  EXPECT_EQ(textOf(device / "vendor"), "0x1002\n");
  // rocm_smi of ROCm 5 takes the second word of the BIOS's version for the card's, and asserts that there is a monitor.
  EXPECT_THAT(textOf(device / "vbios_version"), testing::MatchesRegex("[^-]+-[^-]+-.*\n"));
  EXPECT_EQ(textOf(device / "hwmon/hwmon1/name"), "amdgpu\n");
  EXPECT_NE(textOf(device / "hwmon/hwmon1/in0_label"), "");
  EXPECT_EQ(textOf(device / "device"), "0x7408\n");
  EXPECT_EQ(textOf(tree / "sys/class/drm/card0/dev"), "226:0\n");
  EXPECT_EQ(fs::canonical(tree / "sys/class/drm/card0/device"), tree / "sys/devices/luthier-vgpu/0000:01:00.0");
  for (const std::string &path : devices.paths())
    EXPECT_EQ(::access((tree / path.substr(1)).c_str(), R_OK | W_OK), 0) << path;
  EXPECT_EQ(fs::status(tree / "sys/module/amdgpu/initstate").permissions() & fs::perms(0222), fs::perms(0));
}

TEST_F(Tree, listsOtherDevicesToo) {
  for (const char *path : {"machine/dev/dri/card0", "machine/dev/dri/by-path/x", "machine/sys/class/drm/version"})
    folder.write(path, "");
  const DeviceFiles withOthers(2, folder.path() / "machine");
  contents = describeTree(topology, withOthers, folder.path() / "machine");
  const fs::path tree = place();
  EXPECT_EQ(fs::read_symlink(tree / "dev/dri/card0"), "/dev/dri/card0");
  EXPECT_TRUE(fs::is_regular_file(tree / "dev/dri/card1"));
  EXPECT_EQ(textOf(tree / "sys/class/drm/card2/dev"), "226:2\n");
  EXPECT_EQ(fs::read_symlink(tree / "dev/dri/by-path"), "/dev/dri/by-path");
  EXPECT_EQ(fs::read_symlink(tree / "sys/class/drm/version"), "/sys/class/drm/version");
  EXPECT_TRUE(fs::is_regular_file(tree / "dev/dri/renderD184"));
}

TEST_F(Tree, namesTheProducts) {
  const std::string line = "7408,\t01,\tLuthier virtual gfx90a\n";
  EXPECT_EQ(textOf(place() / "usr/share/libdrm/amdgpu.ids"), "1.0.0\n" + line + line);
  folder.write("machine/usr/share/libdrm/amdgpu.ids", "# Names\n\n1.0.0\n7408,\t01,\tanother\n");
  folder.write("machine/opt/amdgpu/share/libdrm/amdgpu.ids", "9\n7408\n");
  contents = describeTree(topology, devices, folder.path() / "machine");
  EXPECT_EQ(textOf(place() / "usr/share/libdrm/amdgpu.ids"),
            "# Names\n\n1.0.0\n" + line + line + "7408,\t01,\tanother\n");
  EXPECT_FALSE(contents.entries.contains("opt/amdgpu/share/libdrm/amdgpu.ids")); // who knows what it means
}

TEST_F(Tree, isKeptAndShared) {
  const fs::path first = place();
  EXPECT_THAT(first.string(), StartsWith(fs::canonical(cache).string()));
  struct stat before{};
  ASSERT_EQ(::stat((first / "sys").c_str(), &before), 0);
  EXPECT_EQ(place(), first);
  struct stat after{};
  ASSERT_EQ(::stat((first / "sys").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_EQ(filesIn(cache), 1u); // nothing is left of making it
  contents.file("sys/more", "");
  EXPECT_NE(place(), first);
  EXPECT_EQ(filesIn(cache), 2u);
  struct stat status{};
  ASSERT_EQ(::stat(cache.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
}

TEST_F(Tree, severalProcessesMakeItAtOnce) {
  std::vector<pid_t> children;
  for (int n = 0; n < 8; ++n) {
    const pid_t child = ::fork();
    if (child == 0) {
      const Result<std::string> placed = placeTree(contents, cache);
      ::_exit(placed && placed->starts_with(cache.string()) ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(filesIn(cache), 1u);
}

TEST_F(Tree, oldOnesAreRemoved) {
  const fs::path old = cache / "vgpu-0123", recent = cache / "vgpu-4567", other = cache / "x.fragment";
  fs::create_directories(old / "sys");
  fs::create_directories(recent);
  fs::permissions(cache, fs::perms(0700));
  std::ofstream(other) << "";
  for (const fs::path &path : {old, other})
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::days(40));
  place();
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(recent));
  EXPECT_TRUE(fs::exists(other));
}

// The tree is the process's own then, and gone when it ends.
struct WithoutCache : Tree {
  void expectOwnFolder(const fs::path &unusable) {
    const fs::path temporary = folder.path() / "tmp";
    fs::create_directories(temporary);
    int pipes[2];
    ASSERT_EQ(::pipe(pipes), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::setenv("TMPDIR", temporary.c_str(), 1);
      const Result<std::string> placed = placeTree(contents, unusable);
      const bool good =
          placed && placed->starts_with(temporary.string()) && fs::exists(fs::path(*placed) / "sys/class/kfd");
      const pid_t grandchild = ::fork(); // leaves it alone
      if (grandchild == 0)
        std::exit(0);
      ::waitpid(grandchild, nullptr, 0);
      std::exit(good && fs::exists(fs::path(*placed) / "sys") ? 0 : 1);
    }
    int status = 1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << unusable;
    EXPECT_TRUE(fs::is_empty(temporary)) << unusable;
  }
};

TEST_F(WithoutCache, eachProcessHasItsOwn) {
  expectOwnFolder("");
  expectOwnFolder("/proc/no/such/folder");
  fs::create_directories(cache);
  fs::permissions(cache, fs::perms(0777)); // others might write to it
  expectOwnFolder(cache);
}

// By a crash of the machine, for one.
TEST_F(Tree, damagedOneIsMadeAnew) {
  const fs::path kept = place(), file = kept / "sys/module/amdgpu/initstate";
  fs::remove(file);
  EXPECT_EQ(place(), kept);
  EXPECT_EQ(textOf(file), "live\n");
  fs::remove(file);
  std::ofstream(file) << "";
  EXPECT_EQ(place(), kept);
  EXPECT_EQ(textOf(file), "live\n");
  fs::remove(kept / "sys/class/kfd/kfd");
  fs::create_symlink("elsewhere", kept / "sys/class/kfd/kfd");
  EXPECT_EQ(place(), kept);
  EXPECT_EQ(fs::read_symlink(kept / "sys/class/kfd/kfd"), "../../devices/virtual/kfd/kfd");
  EXPECT_EQ(filesIn(cache), 1u);
}

} // namespace
} // namespace luthier::vgpu
