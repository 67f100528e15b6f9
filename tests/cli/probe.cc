// Asks the operating system what rocminfo and rocm_agent_enumerator ask it, each in several ways, and prints one line
// per answer. run_test.cc knows what a virtual run must answer.
//
// Also what must not change: ordinary files, missing files, other commands.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

void say(const char *what, bool yes) { std::printf("%s: %s\n", what, yes ? "yes" : "no"); }

bool opens(int fd) {
  if (fd < 0)
    return false;
  ::close(fd);
  return true;
}

std::string outputOf(const char *command) {
  std::string output;
  if (FILE *pipe = ::popen(command, "r")) {
    for (int c; (c = std::fgetc(pipe)) != EOF;)
      output += static_cast<char>(c);
    ::pclose(pipe);
  }
  return output;
}

std::string firstLine(const char *path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

} // namespace

int main() {
  struct stat status;
  say("open /dev/kfd", opens(::open("/dev/kfd", O_RDWR | O_CLOEXEC)));
  say("openat /dev/kfd", opens(::openat(AT_FDCWD, "/dev/kfd", O_RDWR)));
  say("access /dev/kfd", ::access("/dev/kfd", R_OK | W_OK) == 0);
  say("stat /dev/kfd", ::stat("/dev/kfd", &status) == 0 && S_ISCHR(status.st_mode));
  say("exists /dev/kfd", std::filesystem::exists("/dev/kfd"));
  say("lsmod", outputOf("lsmod | grep amdgpu").starts_with("amdgpu"));
  say("initstate", firstLine("/sys/module/amdgpu/initstate") == "live");

  say("other command", outputOf("echo hello") == "hello\n");
  say("other file", opens(::open("/dev/zero", O_RDONLY)) && firstLine("/proc/self/status").starts_with("Name:"));
  say("missing file", !opens(::open("/no/such/file", O_RDONLY)) && ::access("/no/such/file", F_OK) != 0);

  char name[] = "/tmp/luthier-probe-XXXXXX";
  int made = ::mkstemp(name);
  ::unlink(name);
  int created = ::open(name, O_RDWR | O_CREAT | O_EXCL, 0640);
  say("created file keeps its mode",
      opens(made) && ::fstat(created, &status) == 0 && (status.st_mode & 0777) == (0640 & ~::umask(0)));
  opens(created);
  ::unlink(name);
}
