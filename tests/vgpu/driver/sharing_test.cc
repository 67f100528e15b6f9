// Memory between two real processes, each with a driver of its own: by IPC handles, and by dmabufs over a socket.
#include "vgpu/driver/sharing.h"

#include "fixture.h"
#include "vgpu/driver/drm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace luthier::vgpu {
namespace {

constexpr uint64_t kSize = 4 * kPage;

/// One end of the conversation, with a driver that is made after fork.
struct Side : KfdTest {
  explicit Side(int socket) : KfdTest(1), socket(socket) {}
  void TestBody() override {}
  const int socket;
  RenderNode node{driver, 0};

  void tell(char word) { ASSERT_EQ(write(socket, &word, 1), 1); }
  void hear(char word) {
    char heard = 0;
    ASSERT_EQ(read(socket, &heard, 1), 1);
    ASSERT_EQ(heard, word);
  }

  kfd::AllocMemory filled(char value) {
    const kfd::AllocMemory made = allocate(kSize);
    EXPECT_EQ(map(made.handle, {0}), 0);
    std::memset(pointer(made.address), value, kSize);
    return made;
  }
  void drop(uint64_t handle) {
    EXPECT_EQ(map(handle, {0}, true), 0);
    EXPECT_EQ(free(handle), 0);
  }
  bool isAll(uint64_t address, char value) {
    return std::all_of(pointer(address), pointer(address + kSize), [&](char byte) { return byte == value; });
  }

  void sendHandle(const kfd::AllocMemory &made) {
    kfd::IpcExport request{made.handle, {}, id(0), 0};
    ASSERT_EQ(call(kfd::Request::IpcExport, request), 0);
    ASSERT_EQ(write(socket, request.shared, sizeof(request.shared)), ssize_t{sizeof(request.shared)});
  }
  kfd::IpcImport receiveHandle(int expected = 0) {
    kfd::IpcImport request{};
    EXPECT_EQ(read(socket, request.shared, sizeof(request.shared)), ssize_t{sizeof(request.shared)});
    import(request, expected);
    return request;
  }
  void import(kfd::IpcImport &request, int expected) {
    request.gpuId = id(0);
    request.address = reserveAddresses(kSize);
    EXPECT_EQ(call(kfd::Request::IpcImport, request), expected);
    if (!expected) {
      EXPECT_EQ(map(request.handle, {0}), 0);
    }
  }

  void sendDmabuf(const kfd::AllocMemory &made) {
    kfd::ExportDmabuf request{made.handle, 0, 0};
    ASSERT_EQ(call(kfd::Request::ExportDmabuf, request), 0);
    char byte = 0;
    iovec data{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{nullptr, 0, &data, 1, control, sizeof(control), 0};
    cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    std::memcpy(CMSG_DATA(header), &request.fd, sizeof(int));
    ASSERT_EQ(sendmsg(socket, &message, 0), 1);
    close(static_cast<int>(request.fd));
  }
  int receiveFd() {
    char byte = 0;
    iovec data{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{nullptr, 0, &data, 1, control, sizeof(control), 0};
    EXPECT_EQ(recvmsg(socket, &message, 0), 1);
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
    return fd;
  }
  kfd::ImportDmabuf receiveDmabuf() {
    const int fd = receiveFd();
    kfd::ImportDmabuf request{reserveAddresses(kSize), 0, id(0), static_cast<uint32_t>(fd)};
    EXPECT_EQ(call(kfd::Request::ImportDmabuf, request), 0);
    close(fd);
    EXPECT_EQ(map(request.handle, {0}), 0);
    return request;
  }

  /// The render node's metadata of the buffer behind a dmabuf. `value` is written if it is not 0; what is read is
  /// returned.
  uint32_t metadata(int fd, uint32_t value = 0) {
    struct {
      uint32_t handle, flags;
      int32_t fd;
    } prime{0, 0, fd};
    EXPECT_EQ(node.ioctl(0x2e, sizeof(prime), &prime), 0); // DRM_IOCTL_PRIME_FD_TO_HANDLE
    struct {
      uint32_t handle, op;
      uint64_t flags, tiling;
      uint32_t bytes, words[64];
    } set{prime.handle, 1, 0, 0, 4, {value}}, get{prime.handle, 2, 0, 0, 0, {}};
    if (value) {
      EXPECT_EQ(node.ioctl(0x46, sizeof(set), &set), 0); // DRM_IOCTL_AMDGPU_GEM_METADATA
    }
    EXPECT_EQ(node.ioctl(0x46, sizeof(get), &get), 0);
    EXPECT_EQ(get.bytes, get.words[0] ? 4u : 0u);
    return get.words[0];
  }

  /// Shares a buffer in the given way, and expects the other side to change() it.
  void expectChange(void (Side::*send)(const kfd::AllocMemory &)) {
    const kfd::AllocMemory made = filled(42);
    (this->*send)(made);
    hear('w');
    EXPECT_TRUE(isAll(made.address, 43));
  }
  void change(uint64_t address) {
    EXPECT_TRUE(isAll(address, 42));
    std::memset(pointer(address), 43, kSize);
    tell('w');
  }
};

struct TwoProcesses : testing::Test {
  /// Runs both, one of them in a child; its failures are ours.
  static void run(const std::function<void(Side &)> &exporter, const std::function<void(Side &)> &importer) {
    int sockets[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(sockets[0]);
      {
        Side side(sockets[1]);
        exporter(side);
      }
      fflush(nullptr);
      _exit(HasFailure() ? 1 : 0);
    }
    close(sockets[1]);
    {
      Side side(sockets[0]);
      importer(side);
    }
    close(sockets[0]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
};

TEST_F(TwoProcesses, ipcMemoryIsTheSameInBoth) {
  run([](Side &side) { side.expectChange(&Side::sendHandle); },
      [](Side &side) { side.change(side.receiveHandle().address); });
}

TEST_F(TwoProcesses, dmabufsAreTheSameInBoth) {
  run([](Side &side) { side.expectChange(&Side::sendDmabuf); },
      [](Side &side) { side.change(side.receiveDmabuf().address); });
}

// ROCr 7.2 knows by them whether a dmabuf is the one that a handle is of. It writes them after it has made a first
// dmabuf.
TEST_F(TwoProcesses, metadataGoWithTheBuffer) {
  run(
      [](Side &side) {
        const kfd::AllocMemory made = side.filled(42);
        side.sendDmabuf(made);
        side.hear('n'); // there are none yet
        kfd::ExportDmabuf own{made.handle, 0, 0};
        ASSERT_EQ(side.call(kfd::Request::ExportDmabuf, own), 0);
        EXPECT_EQ(side.metadata(static_cast<int>(own.fd), 0x12345678), 0x12345678u);
        side.tell('s');
        side.hear('c');
        EXPECT_EQ(side.metadata(static_cast<int>(own.fd)), 77u);
        close(static_cast<int>(own.fd));
      },
      [](Side &side) {
        const int fd = side.receiveFd();
        EXPECT_EQ(side.metadata(fd), 0u);
        side.tell('n');
        side.hear('s');
        EXPECT_EQ(side.metadata(fd), 0x12345678u);
        EXPECT_EQ(side.metadata(fd, 77), 77u);
        side.tell('c');
        close(fd);
      });
}

TEST_F(TwoProcesses, theImporterKeepsWhatTheExporterFrees) {
  run(
      [](Side &side) {
        const kfd::AllocMemory made = side.filled(42);
        side.sendHandle(made);
        side.hear('i');
        side.drop(made.handle);
        for (char n = 1; n < 10; ++n)
          side.filled(n); // some of which could be in the same place
        side.tell('f');
      },
      [](Side &side) {
        const kfd::IpcImport imported = side.receiveHandle();
        side.tell('i');
        side.hear('f');
        EXPECT_TRUE(side.isAll(imported.address, 42));
        side.drop(imported.handle);
      });
}

TEST_F(TwoProcesses, theImporterKeepsWhatAnEndedProcessHad) {
  run(
      [](Side &side) {
        side.sendHandle(side.filled(42));
        side.hear('i');
      },
      [](Side &side) {
        const kfd::IpcImport imported = side.receiveHandle();
        side.tell('i');
        char byte;
        EXPECT_EQ(read(side.socket, &byte, 1), 0); // its end is closed
        EXPECT_TRUE(side.isAll(imported.address, 42));
      });
}

TEST_F(TwoProcesses, staleHandlesAreRefused) {
  run(
      [](Side &side) {
        const kfd::AllocMemory made = side.filled(42);
        kfd::IpcExport request{made.handle, {}, side.id(0), 0};
        ASSERT_EQ(side.call(kfd::Request::IpcExport, request), 0);
        side.drop(made.handle);
        side.filled(43);
        ASSERT_EQ(write(side.socket, request.shared, sizeof(request.shared)), ssize_t{sizeof(request.shared)});
        side.hear('t');
      },
      [](Side &side) {
        kfd::IpcImport refused = side.receiveHandle(ENOENT);
        side.tell('t');
        char byte;
        EXPECT_EQ(read(side.socket, &byte, 1), 0);
        waitid(P_ALL, 0, nullptr, WEXITED | WNOWAIT);
        side.import(refused, ENOENT); // nor when the process is gone
      });
}

// Twice the same handle is the same memory, and freeing one of them keeps the other.
TEST_F(TwoProcesses, importedTwice) {
  run(
      [](Side &side) {
        side.sendHandle(side.filled(42));
        side.hear('d');
      },
      [](Side &side) {
        kfd::IpcImport first = side.receiveHandle(), second = first;
        side.import(second, 0);
        EXPECT_NE(first.handle, second.handle);
        pointer(first.address)[0] = 7;
        EXPECT_EQ(pointer(second.address)[0], 7);
        side.drop(first.handle);
        EXPECT_EQ(pointer(second.address)[0], 7);
        side.tell('d');
      });
}

TEST(ShareHandle, roundTrip) {
  SharedBuffer shared;
  shared.pid = 0x12345678;
  shared.fd = 203;
  shared.offset = (1ull << 44) + 5 * kPage;
  shared.size = 192ull << 30;
  uint32_t words[4];
  ASSERT_TRUE(packShareHandle(shared, words));
  const SharedBuffer back = unpackShareHandle(words);
  EXPECT_EQ(back.pid, shared.pid);
  EXPECT_EQ(back.fd, shared.fd);
  EXPECT_EQ(back.offset, shared.offset);
  EXPECT_EQ(back.size, shared.size);
  shared.fd = 1 << 16;
  EXPECT_FALSE(packShareHandle(shared, words));
}

} // namespace
} // namespace luthier::vgpu
