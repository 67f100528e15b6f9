// libluthier-vgpu.so in this very process, with a driver of the tests' own (fake_driver.cc): main starts the program
// again with it preloaded. What must be seen from a process's beginning is in probes, run in processes of their own.
#include "cli/temp_folder.h"
#include "fake_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

// What programs that are fortified, or were built with an old glibc, call.
extern "C" {
int __open_2(const char *, int);
int __openat_2(int, const char *, int);
int __xstat(int, const char *, struct stat *);
int __fxstat(int, int, struct stat *);
ssize_t __readlink_chk(const char *, char *, size_t, size_t);
char *__realpath_chk(const char *, char *, size_t);
}

namespace luthier::vgpu {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr const char *kNode = "/sys/class/kfd/kfd/topology/nodes/1";
constexpr unsigned long kKfdRequest = _IO('K', 1), kDrmRequest = _IO('d', 0), kFailing = _IO('K', kFakeFailure);

std::string lineOf(const std::string &path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

bool driverIsLoaded() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("libluthier-vgpu-driver.so") != std::string::npos)
      return true;
  return false;
}

FakeAnswer ask(int descriptor, unsigned long request = kKfdRequest) {
  FakeAnswer answer{LUTHIER_VGPU_NO_FILE, 0, 0, 0};
  EXPECT_EQ(::ioctl(descriptor, request, &answer), 7);
  return answer;
}

bool isKfd(int descriptor) {
  FakeAnswer answer{};
  const bool good = descriptor >= 0 && ::ioctl(descriptor, kKfdRequest, &answer) == 7 && answer.file == 0;
  if (descriptor >= 0)
    ::close(descriptor);
  return good;
}

std::vector<std::string> namesIn(DIR *folder) {
  std::vector<std::string> names;
  while (const dirent *entry = folder ? ::readdir(folder) : nullptr)
    names.emplace_back(entry->d_name);
  if (folder)
    ::closedir(folder);
  return names;
}

struct Outcome {
  int status = -1;
  std::string output; // both streams
};

Outcome run(const std::string &command) {
  Outcome outcome;
  FILE *pipe = ::popen((command + " 2>&1").c_str(), "r");
  for (int c; (c = std::fgetc(pipe)) != EOF;)
    outcome.output += static_cast<char>(c);
  outcome.status = ::pclose(pipe);
  return outcome;
}

/// Of the first virtual GPU: no other card has it.
std::string firstCard() {
  for (int number = 0;; ++number) {
    const std::string name = "card" + std::to_string(number);
    if (!fs::exists("/proc/self/root/dev/dri/" + name) && !fs::exists("/proc/self/root/sys/class/drm/" + name))
      return name;
  }
}

std::string self() { return fs::read_symlink("/proc/self/exe").string(); }

// Each of these is a process that has not used a virtual path yet.
const std::map<std::string, std::function<void()>> &probes() {
  static const std::map<std::string, std::function<void()>> all = {
      {"others",
       [] {
         char name[] = "/tmp/luthier-preload-XXXXXX";
         const int made = ::mkstemp(name);
         ::unlink(name);
         ::umask(022);
         const int created = ::open(name, O_RDWR | O_CREAT | O_EXCL, 0640);
         struct stat status{};
         EXPECT_EQ(::fstat(created, &status), 0);
         EXPECT_EQ(status.st_mode & 0777, 0640u);
         ::unlink(name);
         ::close(made);
         ::close(created);
         for (const char *path :
              {"/dev/null", "/sys", "/proc/self/status", "/dev/kfd2", "/sys/class", "kfd", "/dev/dri2",
               "/dev/dri/card64", "/dev/dri/renderD128", "/dev/dri/renderD1840", "/sys/class/drm/card5-DP-1",
               "/sys/dev/char/1:3", "/sys/dev/char/226:128", "/sys/module/amdgpux", ""}) {
           ::access(path, F_OK);
           ::stat(path, &status);
           ::close(::open(path, O_RDONLY));
           if (FILE *file = ::fopen(path, "r"))
             ::fclose(file);
           namesIn(::opendir(path));
         }
         EXPECT_EQ(::open("/no/such/file", O_RDONLY), -1);
         EXPECT_EQ(errno, ENOENT);
         const int null = ::open("/dev/null", O_RDWR);
         EXPECT_EQ(::ioctl(null, kKfdRequest, nullptr), -1);
         EXPECT_EQ(errno, ENOTTY);
         EXPECT_NE(::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), MAP_FAILED);
         EXPECT_FALSE(driverIsLoaded());
       }},
      {"errno",
       [] {
         errno = EDOM;
         EXPECT_GE(::open("/dev/kfd", O_RDWR), 0);
         EXPECT_EQ(errno, EDOM); // the driver has left another
         EXPECT_TRUE(driverIsLoaded());
       }},
      {"threads",
       [] {
         std::atomic<int> good = 0;
         std::vector<std::thread> threads;
         for (int n = 0; n < 8; ++n)
           threads.emplace_back([&] {
             const int kfd = ::open("/dev/kfd", O_RDWR);
             good += kfd >= 0 && ask(kfd).driversMade == 1;
           });
         for (std::thread &thread : threads)
           thread.join();
         EXPECT_EQ(good, 8);
       }},
      {"missing",
       [] {
         const bool real = fs::exists("/proc/self/root/dev/kfd");
         for (int n = 0; n < 2; ++n) {
           const int kfd = ::open("/dev/kfd", O_RDWR | O_CLOEXEC);
           EXPECT_EQ(kfd < 0 && errno == ENOENT, !real);
         }
       }},
      {"other_preload",
       [] {
         auto *opens = static_cast<int *>(::dlsym(RTLD_DEFAULT, "otherOpens"));
         auto *maps = static_cast<int *>(::dlsym(RTLD_DEFAULT, "otherMaps"));
         ASSERT_NE(opens, nullptr);
         int before = *opens;
         ::close(::open("/dev/null", O_RDONLY));
         EXPECT_GT(*opens, before);
         EXPECT_TRUE(isKfd(::open("/dev/kfd", O_RDWR)));
         before = *maps;
         ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
         EXPECT_GT(*maps, before);
       }},
  };
  return all;
}

Outcome probe(const std::string &name, const std::string &environment = "") {
  return run("env " + environment + " " + self() + " --probe " + name);
}

void expectProbePasses(const std::string &name, const std::string &environment = "") {
  const Outcome outcome = probe(name, environment);
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, IsEmpty());
}

TEST(Preload, othersPathsDoNotBringTheDriverIn) { expectProbePasses("others"); }
TEST(Preload, bringingTheDriverInKeepsErrno) { expectProbePasses("errno"); }
TEST(Preload, threadsThatComeTogetherGetOneDriver) { expectProbePasses("threads"); }

TEST(Preload, missingDriverIsToldOnceAndTheMachineIsSeen) {
  cli::TempFolder folder;
  fs::copy(LUTHIER_PRELOAD, folder.path() / "libluthier-vgpu.so");
  const Outcome outcome = probe("missing", "LD_PRELOAD=" + (folder.path() / "libluthier-vgpu.so").string());
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, StartsWith("luthier: error: no virtual GPU: cannot load its driver: "));
  EXPECT_THAT(outcome.output, HasSubstr(folder.path().string()));
  EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1);
  expectProbePasses("missing", "FAKE_DRIVER_FAILS=1"); // which has told the user
}

TEST(Preload, otherPreloadedLibrariesComeBeforeOrBehind) {
  const std::string other = LUTHIER_OTHER_PRELOAD, ours = ::getenv("LD_PRELOAD");
  expectProbePasses("other_preload", "LD_PRELOAD=" + other + ":" + ours);
  expectProbePasses("other_preload", "LD_PRELOAD=" + ours + ":" + other);
}

TEST(Preload, driverSeesTheMachineWhileItStarts) {
  const int kfd = ::open("/dev/kfd", O_RDWR);
  EXPECT_EQ(ask(kfd).errnoOfKfd, fs::exists("/proc/self/root/dev/kfd") ? 0 : ENOENT);
  ::close(kfd);
}

TEST(Preload, deviceFilesAreOpenedEachWay) {
  EXPECT_TRUE(isKfd(::open("/dev/kfd", O_RDWR | O_CLOEXEC)));
  EXPECT_TRUE(isKfd(::open64("/dev/kfd", O_RDWR)));
  EXPECT_TRUE(isKfd(::openat(AT_FDCWD, "/dev/kfd", O_RDWR)));
  EXPECT_TRUE(isKfd(::openat64(-1, "/dev/kfd", O_RDWR)));
  EXPECT_TRUE(isKfd(::__open_2("/dev/kfd", O_RDWR)));
  EXPECT_TRUE(isKfd(::__openat_2(AT_FDCWD, "/dev/kfd", O_RDWR)));
  EXPECT_TRUE(isKfd(::open("//dev/.//kfd", O_RDWR)));
  for (const char *mode : {"r", "r+", "w", "a+e"}) {
    FILE *file = ::fopen("/dev/kfd", mode);
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(ask(::fileno(file)).file, 0) << mode;
    file = ::freopen("/dev/dri/renderD185", "r", file);
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(ask(::fileno(file)).file, 2) << mode;
    ::fclose(file);
  }
  const int card = ::open(("/dev/dri/" + firstCard()).c_str(), O_RDWR);
  EXPECT_EQ(ask(card).file, 1);
  ::close(card);
  EXPECT_EQ(::open("/dev/dri/renderD186", O_RDWR), -1); // there are two GPUs
  EXPECT_EQ(errno, ENOENT);
}

TEST(Preload, flagsAreAsAskedFor) {
  const int closed = ::open("/dev/kfd", O_RDWR | O_CLOEXEC), kept = ::open("/dev/kfd", O_RDWR);
  EXPECT_EQ(::fcntl(closed, F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(::fcntl(kept, F_GETFD), 0);
  ::close(closed);
  ::close(kept);
}

TEST(Preload, statSaysThatTheyAreDevices) {
  const int render = ::open("/dev/dri/renderD185", O_RDWR);
  const dev_t number = makedev(226, 185);
  struct stat s{};
  struct stat64 s64{};
  struct statx sx{};
  const auto expectDevice = [&](const char *how, int failed, mode_t mode, dev_t rdev) {
    EXPECT_EQ(failed, 0) << how;
    EXPECT_TRUE(S_ISCHR(mode)) << how;
    EXPECT_EQ(rdev, number) << how;
  };
  const char *path = "/dev/dri/renderD185";
  int failed = ::fstat(render, &s);
  expectDevice("fstat", failed, s.st_mode, s.st_rdev);
  failed = ::fstat64(render, &s64);
  expectDevice("fstat64", failed, s64.st_mode, s64.st_rdev);
  failed = ::__fxstat(1, render, &s);
  expectDevice("__fxstat", failed, s.st_mode, s.st_rdev);
  failed = ::fstatat(render, "", &s, AT_EMPTY_PATH);
  expectDevice("fstatat, empty path", failed, s.st_mode, s.st_rdev);
  failed = ::statx(render, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &sx);
  expectDevice("statx, empty path", failed, sx.stx_mode, makedev(sx.stx_rdev_major, sx.stx_rdev_minor));
  failed = ::stat(path, &s);
  expectDevice("stat", failed, s.st_mode, s.st_rdev);
  failed = ::lstat64(path, &s64);
  expectDevice("lstat64", failed, s64.st_mode, s64.st_rdev);
  failed = ::__xstat(1, path, &s);
  expectDevice("__xstat", failed, s.st_mode, s.st_rdev);
  failed = ::fstatat(AT_FDCWD, path, &s, 0);
  expectDevice("fstatat", failed, s.st_mode, s.st_rdev);
  failed = ::statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &sx);
  expectDevice("statx", failed, sx.stx_mode, makedev(sx.stx_rdev_major, sx.stx_rdev_minor));
  ::close(render);
  EXPECT_TRUE(fs::is_character_file("/dev/kfd"));
  EXPECT_EQ(::access("/dev/kfd", R_OK | W_OK), 0);
  EXPECT_EQ(::faccessat(AT_FDCWD, "/dev/kfd", R_OK | W_OK, 0), 0);
  EXPECT_EQ(::eaccess("/dev/kfd", W_OK), 0);
}

TEST(Preload, sysfsIsReadEachWay) {
  EXPECT_EQ(lineOf("/sys/module/amdgpu/initstate"), "live");
  const std::string id = lineOf(std::string(kNode) + "/gpu_id");
  EXPECT_GT(std::stoul(id), 0u);
  EXPECT_EQ(lineOf("/sys/devices/virtual/kfd/kfd/topology/nodes/1/gpu_id"), id);

  char text[8] = {};
  const int file = ::open("/sys/module/amdgpu/initstate", O_RDONLY);
  EXPECT_EQ(::read(file, text, 4), 4);
  EXPECT_STREQ(text, "live");
  struct stat status{};
  EXPECT_EQ(::fstat(file, &status), 0);
  EXPECT_TRUE(S_ISREG(status.st_mode));
  ::close(file);
  FILE *stream = ::freopen("/sys/module/amdgpu/initstate", "r", ::fopen("/dev/null", "r"));
  ASSERT_NE(stream, nullptr);
  EXPECT_EQ(std::fgetc(stream), 'l');
  std::fclose(stream);

  EXPECT_THAT(namesIn(::opendir("/sys/class/kfd/kfd/topology/nodes")),
              testing::UnorderedElementsAre(".", "..", "0", "1", "2"));
  dirent **names = nullptr;
  const int count = ::scandir("/sys/class/kfd/kfd/topology/nodes/", &names, nullptr, ::alphasort);
  EXPECT_EQ(count, 5);
  for (int n = 0; n < count; ++n)
    std::free(names[n]);
  std::free(names);
  size_t walked = 0;
  for (const auto &entry : fs::recursive_directory_iterator("/sys/devices/virtual/kfd"))
    walked += entry.path().filename() == "properties";
  EXPECT_GT(walked, 10u);
  std::ifstream products("/usr/share/libdrm/amdgpu.ids"); // the real ones, and ours
  const std::string all{std::istreambuf_iterator<char>(products), {}};
  EXPECT_THAT(all, HasSubstr("\tLuthier virtual gfx90a\n"));
  std::ifstream realProducts("/proc/self/root/usr/share/libdrm/amdgpu.ids");
  for (std::string line; std::getline(realProducts, line);)
    EXPECT_THAT(all, HasSubstr(line));
}

TEST(Preload, pathsRelativeToAFolderOfSysfs) {
  const int folder = ::open(kNode, O_RDONLY | O_DIRECTORY);
  ASSERT_GE(folder, 0);
  const int file = ::openat(folder, "gpu_id", O_RDONLY);
  EXPECT_GE(file, 0);
  EXPECT_EQ(::faccessat(folder, "io_links/0/properties", R_OK, 0), 0);
  ::close(file);
  EXPECT_GE(::openat(folder, "/sys/module/amdgpu/initstate", O_RDONLY), 0); // the folder does not matter
  EXPECT_EQ(::openat(folder, "nothing", O_RDONLY), -1);
  EXPECT_EQ(errno, ENOENT);
  ::close(folder);
}

TEST(Preload, linksLeadToPathsAsTheCallerKnowsThem) {
  char target[PATH_MAX] = {};
  EXPECT_GT(::readlink("/sys/class/kfd/kfd", target, sizeof target), 0);
  EXPECT_STREQ(target, "../../devices/virtual/kfd/kfd");
  std::fill(std::begin(target), std::end(target), 0);
  EXPECT_GT(::__readlink_chk("/sys/class/kfd/kfd", target, sizeof target, sizeof target), 0);
  EXPECT_STREQ(target, "../../devices/virtual/kfd/kfd");
  std::fill(std::begin(target), std::end(target), 0);
  EXPECT_GT(::readlinkat(AT_FDCWD, "/sys/dev/char/226:184/device/subsystem", target, sizeof target), 0);
  EXPECT_THAT(target, testing::EndsWith("/pci"));

  const std::string device = "/sys/devices/luthier-vgpu/0000:01:00.0";
  EXPECT_EQ(fs::canonical("/sys/class/drm/" + firstCard() + "/device").string(), device);
  EXPECT_STREQ(::realpath("/sys/class/drm/renderD184/device", target), device.c_str());
  EXPECT_STREQ(::__realpath_chk("/sys/dev/char/226:184/device/drm/..", target, sizeof target), device.c_str());
  char *allocated = ::canonicalize_file_name("/dev/kfd");
  EXPECT_STREQ(allocated, "/dev/kfd");
  std::free(allocated);
  EXPECT_EQ(lineOf(device + "/vendor"), "0x1002");
  EXPECT_EQ(::realpath("/sys/class/kfd/none", target), nullptr);
  EXPECT_EQ(errno, ENOENT);
}

TEST(Preload, foldersThatOthersShareListBoth) {
  const auto drm = namesIn(::opendir("/dev/dri"));
  EXPECT_THAT(drm, Contains("renderD184"));
  EXPECT_THAT(drm, Contains(firstCard()));
  EXPECT_THAT(namesIn(::opendir("/sys/class/drm/")), Contains(firstCard()));
  // /proc/self/root is not a virtual path: the real folders, if there are any.
  for (const std::string folder : {"/dev/dri", "/sys/class/drm"})
    for (const std::string &name : namesIn(::opendir(("/proc/self/root" + folder).c_str())))
      EXPECT_THAT(namesIn(::opendir(folder.c_str())), Contains(name));
}

TEST(Preload, nothingIsWrittenToTheTree) {
  EXPECT_EQ(::open("/sys/module/amdgpu/initstate", O_WRONLY), -1);
  EXPECT_EQ(errno, EACCES);
  EXPECT_EQ(::open("/sys/module/amdgpu/initstate", O_RDONLY | O_TRUNC), -1);
  EXPECT_EQ(errno, EACCES);
  EXPECT_EQ(::open("/sys/module/amdgpu/new", O_RDWR | O_CREAT, 0600), -1);
  EXPECT_EQ(errno, ENOENT);
  for (const char *mode : {"w", "a", "r+"}) {
    EXPECT_EQ(::fopen("/sys/module/amdgpu/initstate", mode), nullptr);
    EXPECT_EQ(errno, EACCES);
  }
  static FILE *closed = ::fopen("/dev/null", "r"); // static: glibc frees it no more once freopen has failed
  EXPECT_EQ(::freopen("/sys/module/amdgpu/initstate", "w", closed), nullptr);
  EXPECT_EQ(errno, EACCES);
  EXPECT_EQ(lineOf("/sys/module/amdgpu/initstate"), "live");
}

TEST(Preload, ioctlsReachTheDriverHoweverTheDescriptorWasMade) {
  const int kfd = ::open("/dev/kfd", O_RDWR), render = ::open("/dev/dri/renderD184", O_RDWR);
  EXPECT_EQ(ask(kfd).request, kKfdRequest);
  EXPECT_EQ(ask(render, kDrmRequest).file, 1);
  EXPECT_EQ(ask(render, kDrmRequest).request, kDrmRequest);
  EXPECT_TRUE(isKfd(::dup(kfd)));
  EXPECT_TRUE(isKfd(::dup2(kfd, 400)));
  EXPECT_TRUE(isKfd(::fcntl(kfd, F_DUPFD_CLOEXEC, 100)));
  errno = 0;
  EXPECT_EQ(::ioctl(kfd, kFailing, nullptr), -1);
  EXPECT_EQ(errno, EPROTO);

  const pid_t child = ::fork();
  if (child == 0) {
    FakeAnswer answer{};
    ::_exit(::ioctl(render, kDrmRequest, &answer) == 7 && answer.file == 1 ? 0 : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  ::close(kfd);
  ::close(render);
}

TEST(Preload, ioctlsOfOthersPass) {
  isKfd(::open("/dev/kfd", O_RDWR)); // the driver is in
  int pipes[2];
  ASSERT_EQ(::pipe(pipes), 0);
  ASSERT_EQ(::write(pipes[1], "abc", 3), 3);
  int waiting = 0;
  EXPECT_EQ(::ioctl(pipes[0], FIONREAD, &waiting), 0);
  EXPECT_EQ(waiting, 3);
  EXPECT_EQ(::ioctl(pipes[0], kKfdRequest, nullptr), -1);
  EXPECT_EQ(errno, ENOTTY);
  EXPECT_EQ(::ioctl(-1, kKfdRequest, nullptr), -1);
  EXPECT_EQ(errno, EBADF);
  ::close(pipes[0]);
  ::close(pipes[1]);
}

TEST(Preload, mmapReachesTheDriver) {
  const int render = ::open("/dev/dri/renderD185", O_RDWR);
  for (const auto map : {::mmap, ::mmap64}) {
    auto *words = static_cast<uint64_t *>(map(nullptr, 4096, PROT_READ, MAP_SHARED, render, 0x12345000));
    ASSERT_NE(words, MAP_FAILED);
    EXPECT_EQ(words[0], 2u);
    EXPECT_EQ(words[1], 0x12345000u);
    EXPECT_EQ(words[2], uint64_t{PROT_READ});
    ::munmap(words, 4096);
  }
  errno = EDOM;
  void *anonymous = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, render, 0);
  EXPECT_EQ(*static_cast<uint64_t *>(anonymous), 0u);
  const int program = ::open(self().c_str(), O_RDONLY);
  const char *magic = static_cast<char *>(::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, program, 0));
  EXPECT_EQ(std::string(magic + 1, 3), "ELF");
  EXPECT_EQ(errno, EDOM);
  EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, 987654, 0), MAP_FAILED);
  EXPECT_EQ(errno, EBADF);
  ::close(render);
  ::close(program);
}

// Through SCM_RIGHTS, as ROCr shares memory between processes.
TEST(Preload, descriptorsThatWereSentAreKnown) {
  int sockets[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int kfd = ::open("/dev/kfd", O_RDWR);
  std::memcpy(CMSG_DATA(header), &kfd, sizeof kfd);
  ASSERT_EQ(::sendmsg(sockets[0], &message, 0), 1);
  ::close(kfd);
  ASSERT_EQ(::recvmsg(sockets[1], &message, 0), 1);
  int received = -1;
  std::memcpy(&received, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof received);
  EXPECT_TRUE(isKfd(received));
  ::close(sockets[0]);
  ::close(sockets[1]);
}

TEST(Preload, childrenSeeTheSame) {
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "they would have to be built like the driver";
#endif
  EXPECT_EQ(run("cat /sys/module/amdgpu/initstate").output, "live\n");
  EXPECT_EQ(run("test -c /dev/kfd && test -r /dev/kfd && test ! -e /dev/kfd2 && echo good").output, "good\n");
  EXPECT_THAT(run("ls -l /dev/kfd").output, StartsWith("crw-rw-rw-"));
  EXPECT_THAT(run("ls /dev/dri").output, HasSubstr("renderD184\nrenderD185\n"));
  EXPECT_EQ(run("cd /sys/class/kfd/kfd/topology/nodes && ls").output, "0\n1\n2\n");
  EXPECT_EQ(run("echo text; exit 3").output, "text\n");
  EXPECT_EQ(run("readlink -f /sys/class/kfd/kfd").output, "/sys/devices/virtual/kfd/kfd\n");
}

TEST(Preload, lsmodSaysThatTheModuleIsThere) {
  std::string line;
  FILE *pipe = ::popen("lsmod | grep amdgpu", "r");
  for (int c; (c = std::fgetc(pipe)) != EOF;)
    line += static_cast<char>(c);
  ::pclose(pipe);
  EXPECT_THAT(line, StartsWith("amdgpu "));
}

int runProbe(const std::string &name) {
  const auto found = probes().find(name);
  if (found == probes().end()) {
    std::fprintf(stderr, "no probe %s\n", name.c_str());
    return 2;
  }
  found->second();
  return testing::Test::HasFailure() ? 1 : 0;
}

} // namespace
} // namespace luthier::vgpu

int main(int count, char **arguments) {
  if (!::getenv("LD_PRELOAD")) {
    ::setenv("LD_PRELOAD", LUTHIER_PRELOAD, 1);
    // One tree for all that runs here, outside of the user's cache.
    luthier::cli::TempFolder *cache = new luthier::cli::TempFolder;
    ::setenv("LUTHIER_CACHE", cache->path().c_str(), 1);
    const pid_t child = ::fork();
    if (child == 0) {
      ::execv(arguments[0], arguments);
      std::perror(arguments[0]);
      ::_exit(127);
    }
    int status = 1;
    ::waitpid(child, &status, 0);
    delete cache;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  }
  if (count == 3 && std::string(arguments[1]) == "--probe")
    return luthier::vgpu::runProbe(arguments[2]);
  testing::InitGoogleTest(&count, arguments);
  return RUN_ALL_TESTS();
}
