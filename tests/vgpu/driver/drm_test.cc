// Render nodes as libdrm meets them. The structures here are those of <drm/drm.h> and <drm/amdgpu_drm.h>.
#include "vgpu/driver/drm.h"

#include "fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace luthier::vgpu {
namespace {

using testing::HasSubstr;

constexpr unsigned kVersion = 0x00, kClient = 0x05, kClose = 0x09, kCapability = 0x0c, kToFd = 0x2d, kFromFd = 0x2e,
                   kMmap = 0x41, kInfo = 0x45, kMetadata = 0x46, kVa = 0x48, kOp = 0x50;

struct VersionRequest {
  int32_t major, minor, patch;
  uint64_t nameLength;
  char *name;
  uint64_t dateLength;
  char *date;
  uint64_t descriptionLength;
  char *description;
};
struct PrimeRequest {
  uint32_t handle, flags;
  int32_t fd;
};
struct InfoRequest {
  void *answer;
  uint32_t bytes, query, parameters[4];
};
struct VaRequest {
  uint32_t handle, pad, operation, flags;
  uint64_t address, offset, size;
};
constexpr uint32_t kMap = 1, kUnmap = 2, kReplace = 4, kReadable = 2, kWriteable = 4;

struct Drm : KfdTest {
  RenderNode node{driver, 0}, other{driver, 1};

  template <typename T> static int ask(RenderNode &of, unsigned number, T &argument) {
    return of.ioctl(number, sizeof(T), &argument);
  }
  template <typename T> int ask(unsigned number, T &argument) { return ask(node, number, argument); }

  int info(uint32_t query, void *answer, uint32_t bytes) {
    InfoRequest request{answer, bytes, query, {}};
    return ask(kInfo, request);
  }
  /// A buffer without an address, as virtual memory management makes it, by its dmabuf.
  int dmabuf(uint64_t size, uint64_t *handle = nullptr) {
    kfd::AllocMemory made{0, size, 0, 0, id(0), kVram};
    EXPECT_EQ(call(kfd::Request::AllocMemory, made), 0);
    kfd::ExportDmabuf exported{made.handle, O_CLOEXEC, 0};
    EXPECT_EQ(call(kfd::Request::ExportDmabuf, exported), 0);
    if (handle)
      *handle = made.handle;
    return static_cast<int>(exported.fd);
  }
  uint32_t import(RenderNode &of, int fd) {
    PrimeRequest request{0, 0, fd};
    EXPECT_EQ(ask(of, kFromFd, request), 0);
    return request.handle;
  }
  uint32_t buffer(uint64_t size) {
    const int fd = dmabuf(size);
    const uint32_t handle = import(node, fd);
    close(fd);
    return handle;
  }
  int va(RenderNode &of, uint32_t operation, uint32_t handle, uint64_t address, uint64_t size, uint64_t offset = 0,
         uint32_t flags = kReadable | kWriteable) {
    VaRequest request{handle, 0, operation, flags, address, offset, size};
    return ask(of, kVa, request);
  }
  int gemClose(uint32_t handle) {
    uint32_t request[2] = {handle, 0};
    return ask(kClose, request);
  }
  bool allows(uint64_t address, uint64_t size, DeviceMask mask) {
    // The driver's address space is its own; a queue can be where its GPU has memory.
    kfd::CreateQueue queue{};
    queue.type = static_cast<uint32_t>(kfd::QueueType::Sdma);
    queue.ring = address;
    queue.ringBytes = static_cast<uint32_t>(size);
    queue.gpuId = id(mask == 1 ? 0 : 1);
    const uint64_t pointers = mapped(kPage, kGtt, {0, 1});
    queue.readPointer = pointers;
    queue.writePointer = pointers + 8;
    if (call(kfd::Request::CreateQueue, queue) != 0)
      return false;
    kfd::DestroyQueue destroy{queue.queueId, 0};
    EXPECT_EQ(call(kfd::Request::DestroyQueue, destroy), 0);
    return true;
  }
};

TEST_F(Drm, versionIsAskedForTwice) {
  VersionRequest request{};
  ASSERT_EQ(ask(kVersion, request), 0);
  EXPECT_EQ(request.major, 3);
  EXPECT_EQ(request.nameLength, 6u);
  EXPECT_GT(request.dateLength, 0u); // libdrm 2.4.114 crashes on none
  EXPECT_GT(request.descriptionLength, 0u);
  char name[7] = {}, date[32] = {}, description[4] = {'x', 'x', 'x', 'x'};
  request.name = name;
  request.date = date;
  request.description = description;
  request.descriptionLength = 3; // less room than there is text
  ASSERT_EQ(ask(kVersion, request), 0);
  EXPECT_STREQ(name, "amdgpu");
  EXPECT_EQ(description[3], 'x');
}

TEST_F(Drm, clientAndCapabilities) {
  struct {
    int32_t index, authenticated;
    uint64_t pid, uid, magic, count;
  } client{};
  EXPECT_EQ(ask(kClient, client), 0);
  EXPECT_EQ(client.authenticated, 1);
  EXPECT_EQ(client.pid, static_cast<uint64_t>(getpid()));
  client.index = 1;
  EXPECT_EQ(ask(kClient, client), EINVAL);
  uint64_t capability[2] = {5, 0};
  EXPECT_EQ(ask(kCapability, capability), 0);
  EXPECT_EQ(capability[1], 3u);
}

// libdrm 2.4.114, .124 and .134 have structures of these sizes.
TEST_F(Drm, deviceInfoInEverySize) {
  std::array<unsigned char, 600> longest{};
  ASSERT_EQ(info(0x16, longest.data(), 448), 0);
  uint32_t words[12];
  std::memcpy(words, longest.data(), sizeof(words));
  EXPECT_EQ(words[4], 141u);    // family AI
  EXPECT_EQ(words[7], 100000u); // kHz
  for (const uint32_t bytes : {4u, 368u, 440u, 448u, 600u}) {
    std::array<unsigned char, 700> answer;
    answer.fill(0xa5);
    ASSERT_EQ(info(0x16, answer.data(), bytes), 0);
    const uint32_t known = std::min(bytes, 448u);
    EXPECT_EQ(std::memcmp(answer.data(), longest.data(), known), 0) << bytes;
    EXPECT_EQ(answer[known], 0xa5) << bytes;
  }
  EXPECT_EQ(info(0x16, nullptr, 368), EFAULT);
}

TEST_F(Drm, otherInfos) {
  uint32_t working = 0;
  EXPECT_EQ(info(0x00, &working, sizeof(working)), 0);
  EXPECT_EQ(working, 1u);
  uint32_t registers[2] = {1, 1};
  EXPECT_EQ(info(0x15, registers, sizeof(registers)), 0);
  EXPECT_EQ(registers[1], 0u);
  uint64_t used = 1, heaps[12] = {};
  EXPECT_EQ(info(0x10, &used, sizeof(used)), 0);
  EXPECT_EQ(used, 0u);
  allocate(1 << 20);
  EXPECT_EQ(info(0x10, &used, sizeof(used)), 0);
  EXPECT_EQ(used, 1u << 20);
  EXPECT_EQ(info(0x19, heaps, sizeof(heaps)), 0);
  EXPECT_EQ(heaps[0], topology.gpu(1).localMemoryBytes);
  EXPECT_EQ(heaps[2], 1u << 20);
  EXPECT_THAT(messagesOf([&] { EXPECT_EQ(info(0x7e, &used, sizeof(used)), EINVAL); }), HasSubstr("query 0x7e"));
}

TEST_F(Drm, unknownRequestsAreNamed) {
  char argument[128] = {};
  EXPECT_THAT(messagesOf([&] { EXPECT_EQ(node.ioctl(0x44, 24, argument), EINVAL); }), HasSubstr("ioctl 0x44"));
  EXPECT_EQ(node.ioctl(kInfo, sizeof(InfoRequest), nullptr), EFAULT);
  argument[100] = 1;
  EXPECT_THAT(messagesOf([&] { EXPECT_EQ(node.ioctl(kClient, 101, argument), EINVAL); }),
              HasSubstr("DRM_IOCTL_GET_CLIENT"));
}

TEST_F(Drm, oneBufferHasOneHandle) {
  uint64_t kfdHandle = 0;
  const int fd = dmabuf(2 * kPage, &kfdHandle);
  const uint32_t handle = import(node, fd);
  EXPECT_NE(handle, 0u);
  EXPECT_EQ(import(node, fd), handle);
  kfd::ExportDmabuf again{kfdHandle, 0, 0};
  ASSERT_EQ(call(kfd::Request::ExportDmabuf, again), 0);
  EXPECT_EQ(import(node, static_cast<int>(again.fd)), handle);
  // And out again.
  PrimeRequest out{handle, O_CLOEXEC, -1};
  ASSERT_EQ(ask(kToFd, out), 0);
  EXPECT_EQ(import(node, out.fd), handle);
  EXPECT_EQ(lseek(out.fd, 0, SEEK_END), static_cast<off_t>(2 * kPage));
  EXPECT_EQ(fcntl(out.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  close(out.fd);
  close(static_cast<int>(again.fd));
  close(fd);
  out.handle = handle + 1;
  EXPECT_EQ(ask(kToFd, out), ENOENT);
  PrimeRequest bad{0, 0, 9999};
  EXPECT_EQ(ask(kFromFd, bad), EBADF);
}

TEST_F(Drm, handlesKeepTheirBuffer) {
  kfd::AvailableMemory available{0, id(0), 0};
  ASSERT_EQ(call(kfd::Request::AvailableMemory, available), 0);
  const uint64_t before = available.bytes;
  uint64_t kfdHandle = 0;
  const int fd = dmabuf(kPage, &kfdHandle);
  const uint32_t handle = import(node, fd);
  close(fd);
  EXPECT_EQ(free(kfdHandle), 0);
  uint64_t offset = handle;
  ASSERT_EQ(ask(kMmap, offset), 0);
  auto *bytes = static_cast<char *>(driver.memory.mapToHost(nullptr, kPage, MAP_SHARED, offset));
  ASSERT_NE(bytes, MAP_FAILED);
  bytes[0] = 1;
  call(kfd::Request::AvailableMemory, available);
  EXPECT_EQ(available.bytes, before - kPage);
  EXPECT_EQ(gemClose(handle), 0);
  EXPECT_EQ(gemClose(handle), EINVAL);
  call(kfd::Request::AvailableMemory, available);
  EXPECT_EQ(available.bytes, before);
  offset = handle;
  EXPECT_EQ(ask(kMmap, offset), ENOENT);
}

TEST_F(Drm, oneBufferAtTwoAddresses) {
  const uint32_t handle = buffer(4 * kPage);
  const uint64_t first = reserveAddresses(4 * kPage), second = reserveAddresses(4 * kPage);
  ASSERT_EQ(va(node, kMap, handle, first, 4 * kPage), 0);
  ASSERT_EQ(va(node, kMap, handle, second, 2 * kPage, 2 * kPage), 0);
  pointer(first)[2 * kPage + 5] = 42;
  EXPECT_EQ(pointer(second)[5], 42);
  EXPECT_TRUE(allows(first, 4 * kPage, 1));
  EXPECT_TRUE(allows(second, 2 * kPage, 1));
  EXPECT_FALSE(allows(second + 2 * kPage, kPage, 1));
  EXPECT_FALSE(allows(first, kPage, 2));
  EXPECT_EQ(gemClose(handle), 0); // mappings keep it as well
  ASSERT_EQ(va(node, kUnmap, 0, first, 4 * kPage), 0);
  EXPECT_FALSE(allows(first, kPage, 1));
  EXPECT_EQ(pointer(second)[5], 42);
  EXPECT_EQ(va(node, kUnmap, 0, first, 4 * kPage), EINVAL);
  EXPECT_EQ(va(node, kUnmap, 0, second, 2 * kPage), 0);
}

TEST_F(Drm, mappedForTwoGpus) {
  const int fd = dmabuf(kPage);
  const uint32_t here = import(node, fd), there = import(other, fd);
  close(fd);
  const uint64_t address = reserveAddresses(kPage);
  ASSERT_EQ(va(node, kMap, here, address, kPage), 0);
  ASSERT_EQ(va(other, kMap, there, address, kPage), 0);
  EXPECT_TRUE(allows(address, kPage, 1));
  EXPECT_TRUE(allows(address, kPage, 2));
  pointer(address)[0] = 1;
  ASSERT_EQ(va(node, kUnmap, here, address, kPage), 0);
  EXPECT_FALSE(allows(address, kPage, 1));
  EXPECT_TRUE(allows(address, kPage, 2));
  EXPECT_EQ(pointer(address)[0], 1);
}

TEST_F(Drm, replacedByAnother) {
  const uint32_t first = buffer(2 * kPage), second = buffer(2 * kPage);
  const uint64_t address = reserveAddresses(2 * kPage);
  ASSERT_EQ(va(node, kReplace, first, address, 2 * kPage), 0); // of nothing
  pointer(address)[0] = 1;
  EXPECT_EQ(va(node, kMap, second, address, 2 * kPage), EINVAL);
  ASSERT_EQ(va(node, kReplace, second, address, 2 * kPage), 0);
  EXPECT_EQ(pointer(address)[0], 0);
  ASSERT_EQ(va(node, kReplace, first, address, 2 * kPage), 0);
  EXPECT_EQ(pointer(address)[0], 1);
}

// A mapping over part of another must not hide that the other is still there.
TEST_F(Drm, mappingsDoNotOverlap) {
  const uint32_t first = buffer(4 * kPage), second = buffer(kPage);
  const uint64_t address = reserveAddresses(4 * kPage);
  ASSERT_EQ(va(node, kMap, first, address, 4 * kPage), 0);
  pointer(address)[kPage] = 1;
  EXPECT_EQ(va(node, kMap, second, address + kPage, kPage), EINVAL);
  EXPECT_EQ(pointer(address)[kPage], 1);
  EXPECT_EQ(va(node, kUnmap, 0, address, 4 * kPage), 0);
  EXPECT_EQ(va(node, kMap, second, address + kPage, kPage), 0);
  EXPECT_EQ(va(node, kMap, first, address, 4 * kPage), EINVAL);
}

TEST_F(Drm, badMappings) {
  const uint32_t handle = buffer(2 * kPage);
  const uint64_t address = reserveAddresses(4 * kPage);
  EXPECT_EQ(va(node, kMap, handle + 1, address, kPage), ENOENT);
  EXPECT_EQ(va(node, kMap, handle, address + 1, kPage), EINVAL);
  EXPECT_EQ(va(node, kMap, handle, address, kPage + 1), EINVAL);
  EXPECT_EQ(va(node, kMap, handle, address, 0), EINVAL);
  EXPECT_EQ(va(node, kMap, handle, address, 3 * kPage), EINVAL);
  EXPECT_EQ(va(node, kMap, handle, address, 2 * kPage, kPage), EINVAL);
  EXPECT_EQ(va(node, kMap, handle, 1ull << 48, kPage), EINVAL);
  EXPECT_EQ(va(node, 9, handle, address, kPage), EINVAL);
  EXPECT_THAT(messagesOf([&] { EXPECT_EQ(va(node, kMap, handle, address, kPage, 0, 0x10002), EINVAL); }),
              HasSubstr("the flags 0x10000 (of 0x10002)"));
  EXPECT_FALSE(allows(address, kPage, 1));
}

TEST_F(Drm, metadataAndCreation) {
  const uint32_t handle = buffer(2 * kPage);
  struct {
    uint32_t handle, op;
    uint64_t flags, tiling;
    uint32_t bytes, words[64];
  } metadata{handle, 1, 5, 6, 8, {7, 8}}, read{handle, 2, 0, 0, 0, {}};
  EXPECT_EQ(ask(kMetadata, metadata), 0);
  EXPECT_EQ(ask(kMetadata, read), 0);
  EXPECT_EQ(read.flags, 5u);
  EXPECT_EQ(read.tiling, 6u);
  EXPECT_EQ(read.bytes, 8u);
  EXPECT_EQ(read.words[1], 8u);
  metadata.bytes = 3; // not a multiple of words
  metadata.words[0] = 0x04030201;
  EXPECT_EQ(ask(kMetadata, metadata), 0);
  EXPECT_EQ(ask(kMetadata, read), 0);
  EXPECT_EQ(read.bytes, 3u);
  EXPECT_EQ(read.words[0], 0x030201u);
  EXPECT_EQ(read.words[1], 0u);
  metadata.bytes = 257;
  EXPECT_EQ(ask(kMetadata, metadata), EINVAL);
  metadata.op = 3;
  EXPECT_EQ(ask(kMetadata, metadata), EINVAL);
  uint64_t made[4] = {};
  struct {
    uint32_t handle, op;
    void *value;
  } op{handle, 0, made};
  EXPECT_EQ(ask(kOp, op), 0);
  EXPECT_EQ(made[0], 2 * kPage);
  EXPECT_EQ(made[2], 4u); // VRAM
  op.value = nullptr;
  EXPECT_EQ(ask(kOp, op), EINVAL);
}

} // namespace
} // namespace luthier::vgpu
