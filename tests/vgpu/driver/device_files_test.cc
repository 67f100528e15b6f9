#include "vgpu/driver/device_files.h"

#include "cli/temp_folder.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

namespace luthier::vgpu {
namespace {

LuthierVgpuFile identify(const DeviceFiles &files, int descriptor) {
  struct stat status{};
  EXPECT_EQ(::fstat(descriptor, &status), 0);
  return files.identify(status.st_dev, status.st_ino);
}

struct Files : testing::Test {
  cli::TempFolder machine;
  DeviceFiles files{2, machine.path()};
};

TEST_F(Files, areFoundByPath) {
  EXPECT_EQ(files.find("/dev/kfd"), DeviceFiles::kKfd);
  EXPECT_EQ(files.find("/dev/dri/renderD184"), DeviceFiles::renderNode(0));
  EXPECT_EQ(files.find("/dev/dri/renderD185"), DeviceFiles::renderNode(1));
  EXPECT_EQ(files.find("/dev/dri/card1"), DeviceFiles::renderNode(1));
  for (const char *other : {"", "/dev/kfd0", "/dev/dri", "/dev/dri/renderD186", "/dev/dri/renderD128", "/dev/null"})
    EXPECT_EQ(files.find(other), LUTHIER_VGPU_NO_FILE) << other;
  for (const std::string &path : files.paths())
    EXPECT_NE(files.find(path), LUTHIER_VGPU_NO_FILE) << path;
}

TEST_F(Files, cardsTakeTheNumbersThatAreFree) {
  machine.write("dev/dri/card0", "");
  machine.write("sys/class/drm/card2/dev", "");
  const DeviceFiles others(3, machine.path());
  EXPECT_EQ(others.cardMinor(0), 1u);
  EXPECT_EQ(others.cardMinor(1), 3u);
  EXPECT_EQ(others.cardMinor(2), 4u);
  EXPECT_EQ(others.find("/dev/dri/card0"), LUTHIER_VGPU_NO_FILE);
  EXPECT_EQ(others.find("/dev/dri/card3"), DeviceFiles::renderNode(1));
}

TEST_F(Files, haveNumbers) {
  EXPECT_EQ(major(files.number(DeviceFiles::renderNode(1))), 226u);
  EXPECT_EQ(minor(files.number(DeviceFiles::renderNode(1))), 185u);
  EXPECT_NE(files.number(DeviceFiles::kKfd), 0u);
}

TEST_F(Files, areToldApartHoweverDuplicated) {
  const int kfd = files.open(DeviceFiles::kKfd, O_RDWR), again = files.open(DeviceFiles::kKfd, O_RDWR);
  const int render = files.open(DeviceFiles::renderNode(1), O_RDWR);
  EXPECT_NE(kfd, again);
  EXPECT_EQ(identify(files, kfd), DeviceFiles::kKfd);
  EXPECT_EQ(identify(files, again), DeviceFiles::kKfd);
  EXPECT_EQ(identify(files, render), DeviceFiles::renderNode(1));
  const int copy = ::dup(render);
  ::close(render);
  EXPECT_EQ(identify(files, copy), DeviceFiles::renderNode(1));
  const int other = ::memfd_create("other", MFD_CLOEXEC);
  EXPECT_EQ(identify(files, other), LUTHIER_VGPU_NO_FILE);
  const pid_t child = ::fork();
  if (child == 0)
    ::_exit(identify(files, copy) == DeviceFiles::renderNode(1) &&
                    identify(files, files.open(DeviceFiles::kKfd, O_RDWR)) == DeviceFiles::kKfd
                ? 0
                : 1);
  int status = 1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  for (int descriptor : {kfd, again, copy, other})
    ::close(descriptor);
}

TEST_F(Files, areOpenedWithTheFlagsAskedFor) {
  const int kept = files.open(DeviceFiles::kKfd, O_RDONLY), closed = files.open(DeviceFiles::kKfd, O_RDWR | O_CLOEXEC);
  EXPECT_EQ(::fcntl(kept, F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(::fcntl(kept, F_GETFL) & O_ACCMODE, O_RDONLY);
  EXPECT_EQ(::fcntl(closed, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  EXPECT_EQ(::fcntl(closed, F_GETFL) & O_ACCMODE, O_RDWR);
  ::close(kept);
  ::close(closed);
  const int linked = files.open(DeviceFiles::kKfd, O_RDWR | O_NOFOLLOW);
  EXPECT_GE(linked, 0);
  ::close(linked);
  EXPECT_EQ(files.open(DeviceFiles::kKfd, O_RDWR | O_CREAT | O_EXCL), -1);
  EXPECT_EQ(errno, EEXIST);
  EXPECT_EQ(files.open(DeviceFiles::kKfd, O_RDONLY | O_DIRECTORY), -1);
  EXPECT_EQ(errno, ENOTDIR);
  for (LuthierVgpuFile none : {-1, 3}) {
    EXPECT_EQ(files.open(none, O_RDWR), -1);
    EXPECT_EQ(errno, ENODEV);
  }
}

// Daemons close whatever is open.
TEST_F(Files, surviveThatAllDescriptorsAreClosed) {
  const pid_t child = ::fork();
  if (child == 0) {
    const int before = files.open(DeviceFiles::kKfd, O_RDWR);
    for (int descriptor = 3; descriptor < 1100; ++descriptor)
      ::close(descriptor);
    const int other = ::open("/dev/null", O_RDWR); // takes a number that was ours, perhaps
    const int after = files.open(DeviceFiles::kKfd, O_RDWR);
    ::_exit(before >= 0 && other >= 0 && identify(files, after) == DeviceFiles::kKfd &&
                    identify(files, other) == LUTHIER_VGPU_NO_FILE
                ? 0
                : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

} // namespace
} // namespace luthier::vgpu
