// /dev/kfd as a thunk meets it: requests by number and size, and what each of them refuses.
#include "vgpu/driver/kfd.h"

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

using kfd::Request;
using testing::HasSubstr;
using testing::IsEmpty;

struct Kfd : KfdTest {
  int raw(unsigned number, uint64_t size, void *argument) { return kfdIoctl(driver, number, size, argument); }
  int raw(Request request, uint64_t size, void *argument) {
    return raw(static_cast<unsigned>(request), size, argument);
  }
};

TEST_F(Kfd, unknownRequestsAreNamed) {
  char argument[64] = {};
  for (const unsigned number : {0x00u, 0x0du, 0x10u, 0x28u, 0x7fu, 0x86u, 0xffu})
    EXPECT_THAT(messagesOf([&] { EXPECT_EQ(raw(number, sizeof(argument), argument), ENOTTY); }),
                HasSubstr(fmt::format("ioctl {:#x} of /dev/kfd, with 64 bytes", number)));
}

// ROCr asks for these and does without.
TEST_F(Kfd, debuggersAndProfilersHaveNothing) {
  char argument[64] = {};
  for (const Request request : {Request::GetQueueWaveState, Request::CriuOp, Request::DebugTrap, Request::CreateProcess,
                                Request::OldDebugTrap, Request::CrossMemoryCopy, Request::Spm, Request::PcSampling})
    EXPECT_THAT(messagesOf([&] { EXPECT_EQ(raw(request, sizeof(argument), argument), ENOTTY); }), IsEmpty());
}

struct Sized {
  Request request;
  uint64_t bytes;
  const char *name;
};
constexpr Sized kSizes[] = {
    {Request::GetVersion, 8, "GET_VERSION"},
    {Request::DestroyQueue, 8, "DESTROY_QUEUE"},
    {Request::SetMemoryPolicy, 32, "SET_MEMORY_POLICY"},
    {Request::GetClockCounters, 40, "GET_CLOCK_COUNTERS"},
    {Request::GetProcessApertures, 400, "GET_PROCESS_APERTURES"},
    {Request::UpdateQueue, 24, "UPDATE_QUEUE"},
    {Request::CreateEvent, 32, "CREATE_EVENT"},
    {Request::DestroyEvent, 8, "DESTROY_EVENT"},
    {Request::SetEvent, 8, "SET_EVENT"},
    {Request::ResetEvent, 8, "RESET_EVENT"},
    {Request::WaitEvents, 24, "WAIT_EVENTS"},
    {Request::SetScratchBackingVa, 16, "SET_SCRATCH_BACKING_VA"},
    {Request::GetTileConfig, 40, "GET_TILE_CONFIG"},
    {Request::SetTrapHandler, 24, "SET_TRAP_HANDLER"},
    {Request::GetProcessAperturesNew, 16, "GET_PROCESS_APERTURES_NEW"},
    {Request::AcquireVm, 8, "ACQUIRE_VM"},
    {Request::AllocMemory, 40, "ALLOC_MEMORY_OF_GPU"},
    {Request::FreeMemory, 8, "FREE_MEMORY_OF_GPU"},
    {Request::MapMemory, 24, "MAP_MEMORY_TO_GPU"},
    {Request::UnmapMemory, 24, "UNMAP_MEMORY_FROM_GPU"},
    {Request::SetCuMask, 16, "SET_CU_MASK"},
    {Request::GetDmabufInfo, 32, "GET_DMABUF_INFO"},
    {Request::ImportDmabuf, 24, "IMPORT_DMABUF"},
    {Request::AllocQueueGws, 16, "ALLOC_QUEUE_GWS"},
    {Request::SmiEvents, 8, "SMI_EVENTS"},
    {Request::SetXnackMode, 4, "SET_XNACK_MODE"},
    {Request::AvailableMemory, 16, "AVAILABLE_MEMORY"},
    {Request::ExportDmabuf, 16, "EXPORT_DMABUF"},
    {Request::RuntimeEnable, 16, "RUNTIME_ENABLE"},
    {Request::IpcImport, 48, "IPC_IMPORT_HANDLE"},
    {Request::IpcExport, 32, "IPC_EXPORT_HANDLE"},
};

// The sizes are those of the kernel's header.
TEST_F(Kfd, sizesOfRequestsAreChecked) {
  std::array<char, 1024> argument{};
  for (const Sized &sized : kSizes) {
    EXPECT_EQ(raw(sized.request, sized.bytes, nullptr), EFAULT) << sized.name;
    for (const uint64_t bytes : {sized.bytes - 4, sized.bytes + 4})
      EXPECT_THAT(messagesOf([&] { EXPECT_EQ(raw(sized.request, bytes, argument.data()), EINVAL) << sized.name; }),
                  HasSubstr(fmt::format("AMDKFD_IOC_{} with {} bytes; expected {}", sized.name, bytes, sized.bytes)));
    // Whatever comes of it, the size is right.
    EXPECT_THAT(messagesOf([&] { raw(sized.request, sized.bytes, argument.data()); }),
                testing::Not(HasSubstr("expected")));
    argument.fill(0);
  }
}

TEST_F(Kfd, answersStayWithinTheArgument) {
  for (const Sized &sized : kSizes) {
    if (sized.request == Request::SmiEvents)
      continue; // makes a descriptor
    std::array<unsigned char, 1024> argument{};
    std::fill(argument.begin() + static_cast<ptrdiff_t>(sized.bytes), argument.end(), 0xa5);
    raw(sized.request, sized.bytes, argument.data());
    EXPECT_TRUE(std::all_of(argument.begin() + static_cast<ptrdiff_t>(sized.bytes), argument.end(),
                            [](unsigned char byte) { return byte == 0xa5; }))
        << sized.name;
  }
}

TEST_F(Kfd, version) {
  kfd::Version version{};
  EXPECT_EQ(call(Request::GetVersion, version), 0);
  EXPECT_EQ(version.major, 1u);
  EXPECT_EQ(version.minor, 17u);
}

TEST_F(Kfd, clocksAdvance) {
  kfd::ClockCounters first{}, second{};
  first.gpuId = second.gpuId = id(0);
  ASSERT_EQ(call(Request::GetClockCounters, first), 0);
  usleep(2000);
  ASSERT_EQ(call(Request::GetClockCounters, second), 0);
  EXPECT_EQ(first.frequency, 1'000'000'000u);
  EXPECT_GE(second.system - first.system, 2'000'000u);
  EXPECT_GE(second.cpu - first.cpu, 2'000'000u);
  EXPECT_GE(second.gpu - first.gpu, Device::kClockHz / 500);
}

TEST_F(Kfd, apertures) {
  kfd::GetAperturesNew request{};
  ASSERT_EQ(call(Request::GetProcessAperturesNew, request), 0);
  EXPECT_EQ(request.count, 2u);
  request.count = 1;
  EXPECT_EQ(call(Request::GetProcessAperturesNew, request), EFAULT);
  std::array<kfd::Apertures, 3> array{};
  request = {reinterpret_cast<uint64_t>(array.data()), 1, 0};
  ASSERT_EQ(call(Request::GetProcessAperturesNew, request), 0);
  EXPECT_EQ(request.count, 1u);
  EXPECT_EQ(array[1].gpuId, 0u);
  request.count = 3;
  ASSERT_EQ(call(Request::GetProcessAperturesNew, request), 0);
  EXPECT_EQ(request.count, 2u);
  EXPECT_EQ(array[0].gpuId, id(0));
  EXPECT_EQ(array[1].gpuId, id(1));
  EXPECT_EQ(array[2].gpuId, 0u);
  EXPECT_EQ(array[0].ldsBase, topology.gpu(1).sharedApertureBase);
  EXPECT_EQ(array[0].scratchBase, topology.gpu(1).privateApertureBase);
  EXPECT_GE(array[0].gpuvmLimit, (1ull << 47) - 1); // or the thunk reserves addresses of its own
  kfd::GetApertures old{};
  ASSERT_EQ(call(Request::GetProcessApertures, old), 0);
  EXPECT_EQ(old.count, 2u);
  EXPECT_EQ(std::memcmp(old.gpus, array.data(), 2 * sizeof(kfd::Apertures)), 0);
}

TEST_F(Kfd, gpusThatAreNotThere) {
  constexpr uint32_t kNobody = 0x7777;
  const auto refused = [&](Request request, auto argument) {
    argument.gpuId = kNobody;
    EXPECT_EQ(call(request, argument), EINVAL) << static_cast<int>(request);
    argument.gpuId = 0; // the CPU's
    EXPECT_EQ(call(request, argument), EINVAL) << static_cast<int>(request);
  };
  refused(Request::CreateQueue, kfd::CreateQueue{});
  refused(Request::SetMemoryPolicy, kfd::SetMemoryPolicy{});
  refused(Request::SetScratchBackingVa, kfd::SetScratchBackingVa{});
  refused(Request::GetTileConfig, kfd::GetTileConfig{});
  refused(Request::SetTrapHandler, kfd::SetTrapHandler{});
  refused(Request::AcquireVm, kfd::AcquireVm{});
  refused(Request::AllocMemory, kfd::AllocMemory{reserveAddresses(kPage), kPage, 0, 0, 0, kVram});
  refused(Request::ImportDmabuf, kfd::ImportDmabuf{});
  refused(Request::SmiEvents, kfd::SmiEvents{});
  refused(Request::AvailableMemory, kfd::AvailableMemory{});
  refused(Request::IpcImport, kfd::IpcImport{});
  const kfd::AllocMemory made = allocate(kPage);
  uint32_t ids[] = {id(0), kNobody};
  kfd::MapMemory request{made.handle, reinterpret_cast<uint64_t>(ids), 2, 0};
  EXPECT_EQ(call(Request::MapMemory, request), EINVAL);
  EXPECT_EQ(request.done, 0u);
  EXPECT_EQ(call(Request::UnmapMemory, request), EINVAL);
}

TEST_F(Kfd, whatIsSetAndHasNoEffect) {
  kfd::SetMemoryPolicy policy{0, 0, id(0), 0, 1, 0};
  EXPECT_EQ(call(Request::SetMemoryPolicy, policy), 0);
  policy.policy = 2;
  EXPECT_EQ(call(Request::SetMemoryPolicy, policy), EINVAL);
  kfd::SetScratchBackingVa scratch{0x10000, id(0), 0};
  EXPECT_EQ(call(Request::SetScratchBackingVa, scratch), 0);
  kfd::SetTrapHandler trap{0x10000, 0x20000, id(1), 0};
  EXPECT_EQ(call(Request::SetTrapHandler, trap), 0);
  kfd::AcquireVm acquire{3, id(0)};
  EXPECT_EQ(call(Request::AcquireVm, acquire), 0);
  kfd::RuntimeEnable enable{0, 1, 7};
  EXPECT_EQ(call(Request::RuntimeEnable, enable), 0);
  EXPECT_EQ(enable.capabilities, 0u);
  enable.mode = 0;
  EXPECT_EQ(call(Request::RuntimeEnable, enable), 0);
  kfd::GetTileConfig tiles{};
  tiles.gpuId = id(0);
  tiles.tileCount = tiles.macroTileCount = 32;
  EXPECT_EQ(call(Request::GetTileConfig, tiles), 0);
  EXPECT_EQ(tiles.tileCount, 0u);
}

TEST_F(Kfd, smiEventsAreADescriptorWithNothingToRead) {
  kfd::SmiEvents request{id(0), 0};
  ASSERT_EQ(call(Request::SmiEvents, request), 0);
  const int fd = static_cast<int>(request.fd);
  uint64_t value;
  EXPECT_EQ(read(fd, &value, sizeof(value)), -1);
  EXPECT_EQ(errno, EAGAIN);
  close(fd);
}

TEST_F(Kfd, xnackIsAskedForAndSet) {
  const auto xnack = [&](int32_t wanted) {
    kfd::SetXnackMode request{wanted};
    EXPECT_EQ(call(Request::SetXnackMode, request), 0);
    return request.enabled;
  };
  EXPECT_EQ(xnack(-1), 0);
  EXPECT_EQ(xnack(1), 1);
  EXPECT_EQ(xnack(-1), 1);
  EXPECT_EQ(xnack(0), 0);
  EXPECT_EQ(xnack(-1), 0);
}

// Shared virtual memory's attributes stand behind its structure, and its size counts them.
TEST_F(Kfd, svmAttributesFollow) {
  struct {
    kfd::Svm head;
    kfd::SvmAttribute attributes[2];
  } request{};
  const uint64_t pages = hostPages(kPage);
  request.head = {pages, kPage, static_cast<uint32_t>(kfd::SvmOp::Set), 2};
  request.attributes[0] = {static_cast<uint32_t>(kfd::SvmType::Access), id(0)};
  request.attributes[1] = {static_cast<uint32_t>(kfd::SvmType::Granularity), 5};
  EXPECT_EQ(call(Request::Svm, request), 0);
  EXPECT_EQ(raw(Request::Svm, sizeof(request) - sizeof(kfd::SvmAttribute), &request), EINVAL);
  EXPECT_EQ(raw(Request::Svm, sizeof(kfd::Svm), &request), EINVAL);
  EXPECT_THAT(messagesOf([&] { EXPECT_EQ(raw(Request::Svm, 16, &request), EINVAL); }), HasSubstr("AMDKFD_IOC_SVM"));
  EXPECT_EQ(raw(Request::Svm, sizeof(request), nullptr), EFAULT);
  request.head.op = static_cast<uint32_t>(kfd::SvmOp::Get);
  request.attributes[1].value = 0;
  EXPECT_EQ(call(Request::Svm, request), 0);
  EXPECT_EQ(request.attributes[1].value, 5u);
  request.head.op = 2;
  EXPECT_EQ(call(Request::Svm, request), EINVAL);
}

struct QueueSizes : Kfd {
  const uint64_t ring = mapped(kPage), pointers = mapped(kPage);
  static constexpr uint64_t kOld = 88, kNow = 96, kFuture = 128;

  struct Space {
    kfd::CreateQueue request;
    unsigned char behind[64];
  };
  Space sdma(unsigned char fill) const {
    Space space{};
    space.request.type = static_cast<uint32_t>(kfd::QueueType::Sdma);
    space.request.ring = ring;
    space.request.ringBytes = kPage;
    space.request.gpuId = id(0);
    space.request.percentage = 100;
    space.request.readPointer = pointers;
    space.request.writePointer = pointers + 8;
    std::memset(space.behind, fill, sizeof(space.behind));
    return space;
  }
};

TEST_F(QueueSizes, everyVersionOfCreateQueue) {
  static_assert(sizeof(kfd::CreateQueue) == kNow);
  for (const uint64_t bytes : {kOld, kNow, kNow + 8, kFuture}) {
    Space space = sdma(0);
    EXPECT_EQ(raw(Request::CreateQueue, bytes, &space), 0) << bytes;
    EXPECT_NE(space.request.queueId, 0u) << bytes;
    EXPECT_NE(space.request.doorbellOffset, 0u) << bytes;
  }
  for (const uint64_t bytes : {uint64_t{0}, kOld - 8, kFuture + 8}) {
    Space space = sdma(0);
    EXPECT_THAT(messagesOf([&] { EXPECT_EQ(raw(Request::CreateQueue, bytes, &space), EINVAL); }),
                HasSubstr(fmt::format("AMDKFD_IOC_CREATE_QUEUE with {} bytes", bytes)));
  }
}

TEST_F(QueueSizes, whatIsNotKnownMustBeZero) {
  Space space = sdma(0xa5);
  EXPECT_EQ(raw(Request::CreateQueue, kNow, &space), 0); // not part of the request
  EXPECT_EQ(space.behind[0], 0xa5);
  space = sdma(0xa5);
  EXPECT_THAT(messagesOf([&] { EXPECT_EQ(raw(Request::CreateQueue, kFuture, &space), EINVAL); }),
              HasSubstr("those behind the first 96 are not known and not 0"));
  // An old thunk's structure ends before the engine; what is behind it is anything.
  space = sdma(0);
  space.request.sdmaEngine = space.request.pad = 0xdeadbeef;
  EXPECT_EQ(raw(Request::CreateQueue, kOld, &space), 0);
  EXPECT_EQ(space.request.sdmaEngine, 0xdeadbeef);
}

struct EventRequests : Kfd {
  kfd::CreateEvent create(uint32_t type, uint64_t page = 0, int expected = 0) {
    kfd::CreateEvent request{};
    request.type = type;
    request.autoReset = 1;
    request.pageOffset = page;
    EXPECT_EQ(call(Request::CreateEvent, request), expected);
    return request;
  }
};

TEST_F(EventRequests, signalsHaveSlotsAndOthersNone) {
  const kfd::CreateEvent signal = create(0), memory = create(8), hardware = create(3);
  EXPECT_EQ(signal.slot, signal.eventId);
  EXPECT_EQ(signal.triggerData, signal.eventId);
  EXPECT_NE(signal.pageOffset, 0u);
  EXPECT_LT(signal.eventId, EventTable::kMaxSignalEvents);
  EXPECT_EQ(memory.pageOffset, 0u);
  EXPECT_GE(memory.eventId, EventTable::kMaxSignalEvents);
  EXPECT_NE(memory.eventId, hardware.eventId);
  create(9, 0, EINVAL);
  auto *slots = static_cast<uint64_t *>(
      driver.memory.mapToHost(nullptr, EventTable::kMailboxBytes, MAP_SHARED, signal.pageOffset));
  ASSERT_NE(slots, MAP_FAILED);
  EXPECT_EQ(slots[signal.slot], ~0ull);
}

TEST_F(EventRequests, thePageOfTheSlotsIsTheThunks) {
  const kfd::AllocMemory small = allocate(kPage, kGtt), page = allocate(EventTable::kMailboxBytes, kGtt);
  create(0, small.handle, EINVAL);
  create(0, 0x1234, EINVAL);
  ASSERT_EQ(map(page.handle, {0}), 0);
  const kfd::CreateEvent event = create(0, page.handle);
  const uint64_t *slots = pointer<uint64_t>(page.address);
  EXPECT_EQ(slots[event.slot], ~0ull);
  create(0, page.handle, EINVAL); // there is one already
  EXPECT_EQ(free(page.handle), EBUSY);
  const kfd::CreateEvent next = create(0);
  EXPECT_EQ(slots[next.slot], ~0ull); // still there: freeing failed
  EXPECT_EQ(map(page.handle, {0}, true), 0);
  EXPECT_EQ(free(page.handle), 0);
  create(0); // in the driver's own page
  const kfd::AllocMemory other = allocate(EventTable::kMailboxBytes, kGtt);
  create(0, other.handle); // and another may be provided
}

TEST_F(EventRequests, waiting) {
  const kfd::CreateEvent event = create(0);
  kfd::EventData data{};
  data.eventId = event.eventId;
  kfd::WaitEvents wait{reinterpret_cast<uint64_t>(&data), 1, 1, 0, 9};
  EXPECT_EQ(call(Request::WaitEvents, wait), 0);
  EXPECT_EQ(wait.result, static_cast<uint32_t>(kfd::WaitResult::Timeout));
  kfd::EventId set{event.eventId, 0};
  EXPECT_EQ(call(Request::SetEvent, set), 0);
  EXPECT_EQ(call(Request::WaitEvents, wait), 0);
  EXPECT_EQ(wait.result, static_cast<uint32_t>(kfd::WaitResult::Complete));
  EXPECT_EQ(call(Request::SetEvent, set), 0);
  EXPECT_EQ(call(Request::ResetEvent, set), 0);
  EXPECT_EQ(call(Request::WaitEvents, wait), 0);
  EXPECT_EQ(wait.result, static_cast<uint32_t>(kfd::WaitResult::Timeout));
  EXPECT_EQ(call(Request::DestroyEvent, set), 0);
  EXPECT_EQ(call(Request::WaitEvents, wait), EINVAL);
  for (const Request request : {Request::SetEvent, Request::ResetEvent, Request::DestroyEvent})
    EXPECT_EQ(call(request, set), EINVAL);
  wait.events = 0;
  EXPECT_EQ(call(Request::WaitEvents, wait), EFAULT);
}

struct MemoryRequests : Kfd {
  uint64_t available(uint32_t gpu) {
    kfd::AvailableMemory request{0, id(gpu), 0};
    EXPECT_EQ(call(Request::AvailableMemory, request), 0);
    return request.bytes;
  }
};

TEST_F(MemoryRequests, availableMemoryIsByGpu) {
  const uint64_t before = available(0), other = available(1);
  const kfd::AllocMemory made = allocate(8 << 20);
  EXPECT_EQ(available(0), before - (8 << 20));
  EXPECT_EQ(available(1), other);
  allocate(8 << 20, kGtt);
  EXPECT_EQ(available(0), before - (8 << 20));
  EXPECT_EQ(free(made.handle), 0);
  EXPECT_EQ(available(0), before);
  EXPECT_EQ(free(made.handle), EINVAL);
}

TEST_F(MemoryRequests, arraysOfGpus) {
  const kfd::AllocMemory made = allocate(kPage);
  kfd::MapMemory request{made.handle, 0, 1, 0};
  EXPECT_EQ(call(Request::MapMemory, request), EFAULT);
  request.count = 0;
  EXPECT_EQ(call(Request::MapMemory, request), EINVAL);
  uint32_t ids[] = {id(0), id(1)};
  request = {made.handle, reinterpret_cast<uint64_t>(ids), 2, 3};
  EXPECT_EQ(call(Request::MapMemory, request), EINVAL);
  request.done = 1; // a call that was interrupted after the first
  EXPECT_EQ(call(Request::MapMemory, request), 0);
  EXPECT_EQ(request.done, 2u);
  EXPECT_EQ(free(made.handle), EBUSY);
  EXPECT_EQ(map(made.handle, {0, 1}, true), 0);
  EXPECT_EQ(free(made.handle), 0);
}

// Queues' doorbells and the page behind which stores are flushed have one place for each GPU.
TEST_F(MemoryRequests, pagesOfTheDriver) {
  for (const auto &[kind, type, bytes] :
       {std::tuple{kfd::memory::kDoorbell, kfd::MmapType::Doorbell, QueueTable::kDoorbellBytes},
        std::tuple{kfd::memory::kMmioRemap, kfd::MmapType::MmioRemap, kPage}})
    for (const uint32_t gpu : {0u, 1u}) {
      kfd::AllocMemory request{reserveAddresses(bytes), bytes, 0, 0, id(gpu), kind | kfd::memory::kWritable};
      ASSERT_EQ(call(Request::AllocMemory, request), 0);
      EXPECT_EQ(request.mmapOffset, kfd::mmapOffset(type, id(gpu)));
      EXPECT_EQ(request.mmapOffset & 0xffffffff, 0u); // thunks of ROCm 5 need that
      EXPECT_EQ(map(request.handle, {gpu}), 0);
      EXPECT_EQ(map(request.handle, {gpu}, true), 0);
      EXPECT_EQ(free(request.handle), 0);
      request.size += kPage;
      EXPECT_EQ(call(Request::AllocMemory, request), EINVAL);
    }
}

struct SharingRequests : Kfd {
  const kfd::AllocMemory made = allocate(3 * kPage);
  uint32_t fd = 0;
  void SetUp() override {
    ASSERT_EQ(map(made.handle, {0}), 0);
    kfd::ExportDmabuf request{made.handle, O_CLOEXEC, 0};
    ASSERT_EQ(call(Request::ExportDmabuf, request), 0);
    fd = request.fd;
  }
  void TearDown() override { close(static_cast<int>(fd)); }
};

TEST_F(SharingRequests, dmabufsSayWhatTheyAre) {
  kfd::GetDmabufInfo info{};
  info.fd = fd;
  ASSERT_EQ(call(Request::GetDmabufInfo, info), 0);
  EXPECT_EQ(info.size, 3 * kPage);
  EXPECT_EQ(info.gpuId, id(0));
  EXPECT_EQ(info.flags & kfd::memory::kKinds, kfd::memory::kVram);
  EXPECT_EQ(lseek(static_cast<int>(fd), 0, SEEK_END), static_cast<off_t>(3 * kPage)); // how libdrm asks
  info.fd = 9999;
  EXPECT_EQ(call(Request::GetDmabufInfo, info), EBADF);
  const int plain = memfd_create("plain", 0);
  info.fd = static_cast<uint32_t>(plain);
  EXPECT_EQ(call(Request::GetDmabufInfo, info), EINVAL);
  close(plain);
}

TEST_F(SharingRequests, importedAtAnotherAddress) {
  const uint64_t address = reserveAddresses(3 * kPage);
  kfd::ImportDmabuf request{address, 0, id(1), fd};
  ASSERT_EQ(call(Request::ImportDmabuf, request), 0);
  EXPECT_NE(request.handle, made.handle);
  ASSERT_EQ(map(request.handle, {1}), 0);
  pointer(made.address)[kPage] = 42;
  EXPECT_EQ(pointer(address)[kPage], 42);
  // Each handle is one reference.
  EXPECT_EQ(map(made.handle, {0}, true), 0);
  EXPECT_EQ(free(made.handle), 0);
  EXPECT_EQ(pointer(address)[kPage], 42);
  request.fd = 9999;
  EXPECT_EQ(call(Request::ImportDmabuf, request), EBADF);
  kfd::ExportDmabuf again{made.handle, 0, 0};
  EXPECT_EQ(call(Request::ExportDmabuf, again), EINVAL);
}

TEST_F(SharingRequests, ipcHandlesWithinAProcess) {
  kfd::IpcExport exported{made.handle, {}, id(0), 0};
  ASSERT_EQ(call(Request::IpcExport, exported), 0);
  kfd::IpcImport request{};
  request.address = reserveAddresses(3 * kPage);
  request.gpuId = id(0);
  std::ranges::copy(exported.shared, request.shared);
  ASSERT_EQ(call(Request::IpcImport, request), 0);
  EXPECT_EQ(request.mmapOffset, made.mmapOffset);
  ASSERT_EQ(map(request.handle, {0}), 0);
  pointer(made.address)[5] = 7;
  EXPECT_EQ(pointer(request.address)[5], 7);
  exported.handle = 77;
  EXPECT_EQ(call(Request::IpcExport, exported), EINVAL);
  // The application's own pages are not in the driver's file.
  const uint64_t own = hostPages(kPage);
  kfd::AllocMemory user{own, kPage, 0, own, id(0), kfd::memory::kUserPointer | kfd::memory::kWritable};
  ASSERT_EQ(call(Request::AllocMemory, user), 0);
  exported.handle = user.handle;
  EXPECT_EQ(call(Request::IpcExport, exported), EINVAL);
}

TEST_F(SharingRequests, staleIpcHandlesAreRefused) {
  kfd::IpcExport exported{made.handle, {}, id(0), 0};
  ASSERT_EQ(call(Request::IpcExport, exported), 0);
  ASSERT_EQ(map(made.handle, {0}, true), 0);
  ASSERT_EQ(free(made.handle), 0);
  allocate(3 * kPage); // which could be in the same place
  kfd::IpcImport request{};
  request.address = reserveAddresses(3 * kPage);
  request.gpuId = id(0);
  std::ranges::copy(exported.shared, request.shared);
  EXPECT_EQ(call(Request::IpcImport, request), ENOENT);
  request.shared[0] = 0x7ffffff0; // no such process
  EXPECT_EQ(call(Request::IpcImport, request), ENOENT);
}

} // namespace
} // namespace luthier::vgpu
