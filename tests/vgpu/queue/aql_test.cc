#include "fixture.h"

namespace luthier::vgpu {
namespace {

constexpr uint32_t kRing = 64;
constexpr uint16_t kBarrierBit = 1 << HSA_PACKET_HEADER_BARRIER;

struct Aql : QueueTest {
  using QueueTest::QueueTest;
  amd_queue_t *amdQueue = make<amd_queue_t>();
  hsa_kernel_dispatch_packet_t *ring = make<hsa_kernel_dispatch_packet_t>(kRing);
  amd_signal_t *inactive = makeSignal(0);
  std::unique_ptr<AqlQueue> queue;
  uint64_t endpgm = makeKernel({kEndpgm});

  void SetUp() override {
    for (uint32_t i = 0; i < kRing; ++i)
      ring[i].header = HSA_PACKET_TYPE_INVALID;
    amdQueue->hsa_queue.base_address = ring;
    amdQueue->hsa_queue.size = kRing;
    amdQueue->queue_inactive_signal = handle(inactive);
    queue = std::make_unique<AqlQueue>(1, device, host, amdQueue);
    queue->start();
    poller.add(queue.get());
  }
  void TearDown() override { destroy(); }
  void destroy() {
    if (queue)
      poller.remove(queue.get());
    queue.reset();
  }

  uint64_t reserve() { return shared(amdQueue->write_dispatch_id).fetch_add(1); }
  uint64_t readIndex() { return shared(amdQueue->read_dispatch_id).load(); }
  template <typename P> void publish(uint64_t index, P packet, uint16_t header) {
    EXPECT_TRUE(eventually([&] { return index - readIndex() < kRing; }));
    static_assert(sizeof(P) == 64);
    auto *slot = reinterpret_cast<char *>(&ring[index % kRing]);
    std::memcpy(slot + 2, reinterpret_cast<char *>(&packet) + 2, 62);
    std::atomic_ref(*reinterpret_cast<uint16_t *>(slot)).store(header, std::memory_order_release);
  }
  template <typename P> uint64_t submit(P packet, uint16_t header) {
    const uint64_t index = reserve();
    publish(index, packet, header);
    return index;
  }
  hsa_kernel_dispatch_packet_t kernel(uint64_t object, amd_signal_t *completion = nullptr, uint32_t grid = 64) {
    hsa_kernel_dispatch_packet_t packet{};
    packet.setup = 1;
    packet.workgroup_size_x = 64;
    packet.workgroup_size_y = packet.workgroup_size_z = 1;
    packet.grid_size_x = grid;
    packet.grid_size_y = packet.grid_size_z = 1;
    packet.kernel_object = object;
    packet.completion_signal = handle(completion);
    return packet;
  }
  bool drained(uint64_t count) {
    return eventually([&] { return readIndex() == count; });
  }
};

TEST_F(Aql, kernelCompletesItsSignal) {
  amd_signal_t *done = makeSignal(1, 7);
  submit(kernel(endpgm, done), HSA_PACKET_TYPE_KERNEL_DISPATCH);
  ASSERT_TRUE(eventually([&] { return value(done) == 0; }));
  ASSERT_TRUE(drained(1));
  EXPECT_EQ(ring[0].header, HSA_PACKET_TYPE_INVALID);
  EXPECT_NE(done->start_ts, 0u);
  EXPECT_GE(done->end_ts, done->start_ts);
  ASSERT_TRUE(eventually([&] { return host.locked([](auto &h) { return h.events.size() == 1; }); }));
  EXPECT_EQ(host.events[0], 7u);
}

TEST_F(Aql, ringWrapsManyTimes) {
  amd_signal_t *done = makeSignal(1000);
  for (int i = 0; i < 1000; ++i)
    submit(kernel(endpgm, done, 64 + i % 200), HSA_PACKET_TYPE_KERNEL_DISPATCH | (i % 3 ? 0 : kBarrierBit));
  ASSERT_TRUE(eventually([&] { return value(done) == 0; }));
  EXPECT_TRUE(drained(1000));
}

TEST_F(Aql, packetsPublishedOutOfOrderRunInOrder) {
  amd_signal_t *first = makeSignal(1), *second = makeSignal(1);
  const uint64_t a = reserve(), b = reserve();
  publish(b, kernel(endpgm, second), HSA_PACKET_TYPE_KERNEL_DISPATCH);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(value(second), 1);
  publish(a, kernel(endpgm, first), HSA_PACKET_TYPE_KERNEL_DISPATCH);
  EXPECT_TRUE(eventually([&] { return value(first) == 0 && value(second) == 0; }));
}

TEST_F(Aql, manyProducers) {
  amd_signal_t *done = makeSignal(4 * 300);
  std::vector<std::thread> producers;
  for (int t = 0; t < 4; ++t)
    producers.emplace_back([&] {
      for (int i = 0; i < 300; ++i)
        submit(kernel(endpgm, done), HSA_PACKET_TYPE_KERNEL_DISPATCH);
    });
  for (std::thread &producer : producers)
    producer.join();
  EXPECT_TRUE(eventually([&] { return value(done) == 0; }));
}

// The slot of a running kernel keeps its valid header; the packet one ring later must not be taken from it.
TEST_F(Aql, fullRingBehindALongKernel) {
  const uint64_t endless = makeKernel({0xbf82ffff}); // s_branch to itself
  amd_signal_t *done = makeSignal(kRing - 1);
  submit(kernel(endless), HSA_PACKET_TYPE_KERNEL_DISPATCH);
  for (uint32_t i = 1; i < kRing; ++i)
    submit(kernel(endpgm, done), HSA_PACKET_TYPE_KERNEL_DISPATCH);
  reserve();
  reserve();
  EXPECT_TRUE(eventually([&] { return value(done) == 0; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(value(done), 0);
  EXPECT_EQ(readIndex(), 0u);
}

TEST_F(Aql, barrierAndWaitsForAll) {
  amd_signal_t *a = makeSignal(1), *b = makeSignal(2), *done = makeSignal(1);
  hsa_barrier_and_packet_t packet{};
  packet.dep_signal[0] = handle(a);
  packet.dep_signal[3] = handle(b);
  packet.completion_signal = handle(done);
  submit(packet, HSA_PACKET_TYPE_BARRIER_AND | kBarrierBit);
  shared(a->value).store(0);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(value(done), 1);
  shared(b->value).store(0);
  EXPECT_TRUE(eventually([&] { return value(done) == 0; }));
}

TEST_F(Aql, barrierOrWaitsForOne) {
  amd_signal_t *a = makeSignal(1), *b = makeSignal(1), *done = makeSignal(2);
  hsa_barrier_or_packet_t packet{};
  packet.dep_signal[1] = handle(a);
  packet.dep_signal[4] = handle(b);
  packet.completion_signal = handle(done);
  submit(packet, HSA_PACKET_TYPE_BARRIER_OR);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(value(done), 2);
  shared(b->value).store(0);
  EXPECT_TRUE(eventually([&] { return value(done) == 1; }));
  hsa_barrier_or_packet_t empty{};
  empty.completion_signal = handle(done);
  submit(empty, HSA_PACKET_TYPE_BARRIER_OR);
  EXPECT_TRUE(eventually([&] { return value(done) == 0; }));
}

TEST_F(Aql, barrierValueComparesUnderAMask) {
  struct Case {
    uint32_t condition;
    int64_t reference, before, after;
  };
  for (Case c : {Case{HSA_SIGNAL_CONDITION_EQ, 3, 0xf1, 0xf3},
                 {HSA_SIGNAL_CONDITION_NE, 3, 0xf3, 0xf2},
                 {HSA_SIGNAL_CONDITION_LT, 3, 0xf3, 0xf2},
                 {HSA_SIGNAL_CONDITION_GTE, 3, 0xf2, 0xf3}}) {
    amd_signal_t *watched = makeSignal(c.before), *done = makeSignal(1);
    hsa_amd_barrier_value_packet_t packet{};
    packet.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
    packet.signal = handle(watched);
    packet.value = c.reference;
    packet.mask = 0xf;
    packet.cond = c.condition;
    packet.completion_signal = handle(done);
    submit(packet, HSA_PACKET_TYPE_VENDOR_SPECIFIC);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(value(done), 1) << c.condition;
    shared(watched->value).store(c.after);
    EXPECT_TRUE(eventually([&] { return value(done) == 0; })) << c.condition;
  }
}

TEST_F(Aql, suspendedQueueRunsNothing) {
  queue->suspend(true);
  amd_signal_t *done = makeSignal(1);
  submit(kernel(endpgm, done), HSA_PACKET_TYPE_KERNEL_DISPATCH);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(value(done), 1);
  queue->suspend(false);
  EXPECT_TRUE(eventually([&] { return value(done) == 0; }));
}

TEST_F(Aql, destroyEndsABlockedBarrier) {
  hsa_barrier_and_packet_t packet{};
  packet.dep_signal[0] = handle(makeSignal(1));
  submit(packet, HSA_PACKET_TYPE_BARRIER_AND);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  destroy();
}

TEST_F(Aql, destroyEndsAnEndlessKernel) {
  const uint64_t endless = makeKernel({0xbf82ffff}); // s_branch to itself
  submit(kernel(endless), HSA_PACKET_TYPE_KERNEL_DISPATCH);
  submit(kernel(endpgm), HSA_PACKET_TYPE_KERNEL_DISPATCH | kBarrierBit);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(readIndex(), 0u);
  destroy();
  EXPECT_EQ(host.deaths, "");
}

// The runtime's side of an error: it sees the code, suspends the queue and tells the application, which destroys it.
struct AqlErrors : Aql {
  void expectCode(int64_t code) {
    ASSERT_TRUE(eventually([&] { return value(inactive) != 0; }));
    EXPECT_EQ(value(inactive), code);
    queue->suspend(true);
    destroy();
    EXPECT_NE(host.reports, "");
    EXPECT_EQ(host.deaths, "");
  }
};

TEST_F(AqlErrors, illegalInstruction) {
  submit(kernel(makeKernel({0xffffffff, 0xffffffff})), HSA_PACKET_TYPE_KERNEL_DISPATCH);
  expectCode(queue_code::kIllegalInstruction);
}

// Rounded up to whole workgroups, the grid has more work-items than 32 bits can count.
TEST_F(AqlErrors, largestGridRunsAtAll) {
  submit(kernel(makeKernel({0xffffffff, 0xffffffff}), nullptr, 0xffffffff), HSA_PACKET_TYPE_KERNEL_DISPATCH);
  expectCode(queue_code::kIllegalInstruction);
}

TEST_F(AqlErrors, gridBeyond64Bits) {
  auto packet = kernel(endpgm, nullptr, 0xffffffff);
  packet.setup = 3;
  packet.grid_size_y = packet.grid_size_z = 0xffffffff;
  submit(packet, HSA_PACKET_TYPE_KERNEL_DISPATCH);
  expectCode(queue_code::kBadCode);
  EXPECT_NE(host.reports.find("more than 2^64 work-items"), std::string::npos) << host.reports;
}

TEST_F(AqlErrors, badDimensions) {
  submit(kernel(endpgm, nullptr, 0), HSA_PACKET_TYPE_KERNEL_DISPATCH);
  expectCode(queue_code::kBadDimensions);
}

TEST_F(AqlErrors, workgroupTooLarge) {
  auto packet = kernel(endpgm);
  packet.workgroup_size_x = 1025;
  submit(packet, HSA_PACKET_TYPE_KERNEL_DISPATCH);
  expectCode(queue_code::kWorkgroupTooLarge);
}

TEST_F(AqlErrors, tooMuchGroupMemory) {
  auto packet = kernel(endpgm);
  packet.group_segment_size = 64 * 1024 + 1;
  submit(packet, HSA_PACKET_TYPE_KERNEL_DISPATCH);
  expectCode(queue_code::kBadGroupMemory);
}

TEST_F(AqlErrors, noKernel) {
  submit(kernel(0), HSA_PACKET_TYPE_KERNEL_DISPATCH);
  expectCode(queue_code::kBadCode);
}

TEST_F(AqlErrors, agentDispatch) {
  submit(hsa_agent_dispatch_packet_t{}, HSA_PACKET_TYPE_AGENT_DISPATCH);
  expectCode(queue_code::kBadPacket);
}

TEST_F(AqlErrors, unknownVendorPacket) {
  hsa_amd_barrier_value_packet_t packet{};
  packet.header.AmdFormat = 9;
  submit(packet, HSA_PACKET_TYPE_VENDOR_SPECIFIC);
  expectCode(queue_code::kBadVendorPacket);
}

TEST_F(AqlErrors, reservedBitsOfTheHeader) {
  submit(kernel(endpgm), HSA_PACKET_TYPE_KERNEL_DISPATCH | 1 << 14);
  expectCode(queue_code::kBadPacket);
  EXPECT_NE(host.reports.find("header 0x4002"), std::string::npos) << host.reports;
}

TEST_F(AqlErrors, fenceScopeThatDoesNotExist) {
  submit(kernel(endpgm), HSA_PACKET_TYPE_KERNEL_DISPATCH | 3 << HSA_PACKET_HEADER_ACQUIRE_FENCE_SCOPE);
  expectCode(queue_code::kBadPacket);
  EXPECT_NE(host.reports.find("acquire fence scope"), std::string::npos) << host.reports;
}

TEST_F(AqlErrors, reservedBitsOfSetup) {
  auto packet = kernel(endpgm);
  packet.setup |= 1 << 7;
  submit(packet, HSA_PACKET_TYPE_KERNEL_DISPATCH);
  expectCode(queue_code::kBadPacket);
  EXPECT_NE(host.reports.find("setup's reserved part of a kernel dispatch packet is 0x20"), std::string::npos)
      << host.reports;
}

TEST_F(AqlErrors, reservedFieldsOfADispatch) {
  auto packet = kernel(endpgm);
  packet.reserved0 = 5;
  submit(packet, HSA_PACKET_TYPE_KERNEL_DISPATCH);
  expectCode(queue_code::kBadPacket);
}

// ROCm's profilers put a correlation id there.
TEST_F(Aql, reserved2OfADispatchIsAnybodys) {
  amd_signal_t *done = makeSignal(1);
  auto packet = kernel(endpgm, done);
  packet.reserved2 = 0x123456789a;
  submit(packet, HSA_PACKET_TYPE_KERNEL_DISPATCH);
  EXPECT_TRUE(eventually([&] { return value(done) == 0; }));
}

TEST_F(AqlErrors, sizesInDimensionsThatTheGridDoesNotHave) {
  auto packet = kernel(endpgm);
  packet.grid_size_z = 4;
  submit(packet, HSA_PACKET_TYPE_KERNEL_DISPATCH);
  expectCode(queue_code::kBadDimensions);
  EXPECT_NE(host.reports.find("1 dimensions, but a grid of 64x1x4"), std::string::npos) << host.reports;
}

TEST_F(AqlErrors, reservedFieldsOfABarrier) {
  hsa_barrier_and_packet_t packet{};
  packet.reserved1 = 1;
  submit(packet, HSA_PACKET_TYPE_BARRIER_AND);
  expectCode(queue_code::kBadPacket);
  EXPECT_NE(host.reports.find("reserved1 of a barrier-AND packet is 0x1"), std::string::npos) << host.reports;
}

TEST_F(AqlErrors, reservedByteOfAVendorPacket) {
  hsa_amd_barrier_value_packet_t packet{};
  packet.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
  packet.header.reserved = 1;
  submit(packet, HSA_PACKET_TYPE_VENDOR_SPECIFIC);
  expectCode(queue_code::kBadVendorPacket);
}

// Hardware does not look at them, and HIP 6.4 leaves there what was in the slot before.
TEST_F(Aql, reservedFieldsOfABarrierValueAreIgnored) {
  amd_signal_t *awaited = makeSignal(3), *done = makeSignal(1);
  hsa_amd_barrier_value_packet_t packet{};
  packet.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
  packet.reserved0 = 0x12345678;
  packet.reserved1 = 0x9abcdef0;
  packet.reserved2 = 1;
  packet.reserved3 = 2;
  packet.signal = handle(awaited);
  packet.value = 3;
  packet.mask = ~0ull;
  packet.cond = HSA_SIGNAL_CONDITION_EQ;
  packet.completion_signal = handle(done);
  submit(packet, HSA_PACKET_TYPE_VENDOR_SPECIFIC);
  EXPECT_TRUE(eventually([&] { return value(done) == 0; }));
}

// A PM4 packet: format 1, a jump of four words, the count of words behind it.
struct AqlPm4 : AqlErrors {
  struct Packet {
    uint16_t header = 0, format = 1;
    uint32_t jump[4] = {0xc0021000, 0, 0, 0}; // NOP
    uint32_t remaining = 10;
    uint32_t reserved[8] = {};
    hsa_signal_t completion = {};
  };
};

TEST_F(AqlPm4, runs) {
  amd_signal_t *done = makeSignal(1);
  Packet packet;
  packet.completion = handle(done);
  submit(packet, HSA_PACKET_TYPE_VENDOR_SPECIFIC);
  EXPECT_TRUE(eventually([&] { return value(done) == 0; }));
}

TEST_F(AqlPm4, unknownCommand) {
  Packet packet;
  packet.jump[0] = 0xc0023700; // WRITE_DATA
  submit(packet, HSA_PACKET_TYPE_VENDOR_SPECIFIC);
  expectCode(queue_code::kBadVendorPacket);
  EXPECT_NE(host.reports.find("opcode 0x37"), std::string::npos) << host.reports;
}

TEST_F(AqlPm4, wrongCountOfWords) {
  Packet packet;
  packet.remaining = 11;
  submit(packet, HSA_PACKET_TYPE_VENDOR_SPECIFIC);
  expectCode(queue_code::kBadVendorPacket);
}

TEST_F(AqlErrors, signalThatIsNotMapped) {
  amd_signal_t stray{};
  submit(kernel(endpgm, &stray), HSA_PACKET_TYPE_KERNEL_DISPATCH);
  ASSERT_TRUE(eventually([&] { return host.locked([](auto &h) { return h.memoryFaults == 1; }); }));
  destroy();
}

TEST_F(AqlErrors, nobodyListens) {
  submit(kernel(0), HSA_PACKET_TYPE_KERNEL_DISPATCH);
  EXPECT_TRUE(eventually([&] { return host.locked([](auto &h) { return !h.deaths.empty(); }); }));
}

TEST_F(AqlErrors, reservedBitsOfTheScratchSize) {
  auto packet = kernel(endpgm);
  packet.private_segment_size = 4;
  amdQueue->scratch_wave64_lane_byte_size = 4;
  amdQueue->compute_tmpring_size = 1 | 1 << 12 | 1 << 25;
  submit(packet, HSA_PACKET_TYPE_KERNEL_DISPATCH);
  expectCode(queue_code::kBadPacket);
  EXPECT_NE(host.reports.find("compute_tmpring_size of the queue is 0x2001001"), std::string::npos) << host.reports;
}

TEST_F(AqlErrors, kernelDescriptorsThatAskForMore) {
  struct Case {
    size_t offset;
    uint32_t word;
    const char *part;
  };
  for (const Case &c : {Case{48, 1u << 20, "COMPUTE_PGM_RSRC1"}, // PRIV
                        {48, 1u << 31, "COMPUTE_PGM_RSRC1"},     // of gfx10
                        {52, 1u << 24, "COMPUTE_PGM_RSRC2"},     // a floating-point exception
                        {44, 1u << 8, "COMPUTE_PGM_RSRC3"},
                        {56, 1u << 7, "KERNEL_CODE_PROPERTIES"}, // grid counts in SGPRs
                        {16, 258, "not a multiple of 4"}}) {
    const uint64_t object = makeKernel({kEndpgm, kEndpgm, kEndpgm});
    std::memcpy(reinterpret_cast<char *>(object) + c.offset, &c.word, 4);
    Launch launch;
    launch.kernelObject = object;
    launch.workgroup = {64, 1, 1};
    const auto dispatch = device.prepare(launch, {});
    EXPECT_EQ(dispatch->fault().kind, Fault::Kind::BadLaunch) << c.part;
    EXPECT_NE(dispatch->fault().text.find(c.part), std::string::npos) << dispatch->fault().text;
  }
}

// The runtime's side of dynamic scratch.
TEST_F(Aql, scratchIsAskedForAndGivenBack) {
  amd_signal_t *done = makeSignal(3);
  auto packet = kernel(endpgm, done);
  packet.private_segment_size = 100;
  submit(kernel(endpgm, done), HSA_PACKET_TYPE_KERNEL_DISPATCH);
  submit(packet, HSA_PACKET_TYPE_KERNEL_DISPATCH);
  ASSERT_TRUE(eventually([&] { return value(inactive) == queue_code::kNeedScratchWave64; }));
  EXPECT_EQ(readIndex(), 1u) << "the runtime looks for the packet at the read index";

  constexpr uint32_t kWaves = 8, kWaveKib = 7;
  auto *scratch = make<char>(kWaves * kWaveKib * 1024);
  amdQueue->scratch_backing_memory_location = reinterpret_cast<uint64_t>(scratch);
  amdQueue->compute_tmpring_size = kWaves | (kWaveKib << 12);
  shared(amdQueue->scratch_wave64_lane_byte_size).store(112);
  shared(amdQueue->queue_properties).fetch_or(AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE);
  shared(inactive->value).store(0);
  ASSERT_TRUE(eventually([&] { return value(inactive) == queue_code::kScratchReclaim; }));
  EXPECT_EQ(value(done), 1);

  shared(amdQueue->scratch_wave64_lane_byte_size).store(0);
  shared(inactive->value).store(0);
  shared(amdQueue->queue_properties).fetch_and(~uint32_t{AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE});
  submit(kernel(endpgm, done), HSA_PACKET_TYPE_KERNEL_DISPATCH);
  EXPECT_TRUE(eventually([&] { return value(done) == 0; }));
}

struct AqlGfx11 : Aql {
  AqlGfx11() : Aql("gfx1100") {}
  static constexpr uint32_t kEndpgm11 = 0xbfb00000;
  static constexpr uint16_t kWave32 = 1 << 10; // of the descriptor's properties

  uint64_t kernelObject(uint16_t properties) {
    const uint64_t object = makeKernel({kEndpgm11});
    std::memcpy(reinterpret_cast<char *>(object) + 56, &properties, sizeof properties);
    return object;
  }
  /// As ROCr does it: for waves of `lanes` lanes, in units of 256 bytes, waves counted by shader array.
  void provide(uint32_t bytesPerLane, uint32_t lanes) {
    constexpr uint32_t kWaves = 1;
    auto *scratch = make<char>(uint64_t{kWaves} * device.config().shaderArrays * bytesPerLane * lanes);
    amdQueue->scratch_backing_memory_location = reinterpret_cast<uint64_t>(scratch);
    amdQueue->compute_tmpring_size = kWaves | (bytesPerLane * lanes / 256) << 12;
    shared(amdQueue->scratch_wave64_lane_byte_size).store(bytesPerLane * lanes / 64);
    shared(inactive->value).store(0);
  }
};

// What was made for waves of 32 lanes is half as much for waves of 64.
TEST_F(AqlGfx11, scratchDependsOnTheKernelsWaves) {
  amd_signal_t *done = makeSignal(4);
  auto narrow = kernel(kernelObject(kWave32), done), wide = kernel(kernelObject(0), done);
  narrow.private_segment_size = wide.private_segment_size = 16;
  submit(narrow, HSA_PACKET_TYPE_KERNEL_DISPATCH); // two waves
  ASSERT_TRUE(eventually([&] { return value(inactive) == queue_code::kNeedScratchWave32; }));
  provide(16, 32);
  ASSERT_TRUE(eventually([&] { return value(done) == 3; })) << host.reports;
  submit(narrow, HSA_PACKET_TYPE_KERNEL_DISPATCH); // nothing to ask for
  ASSERT_TRUE(eventually([&] { return value(done) == 2; })) << host.reports;
  submit(wide, HSA_PACKET_TYPE_KERNEL_DISPATCH);
  ASSERT_TRUE(eventually([&] { return value(inactive) == queue_code::kNeedScratchWave64; }));
  provide(16, 64);
  ASSERT_TRUE(eventually([&] { return value(done) == 1; })) << host.reports;
  submit(narrow, HSA_PACKET_TYPE_KERNEL_DISPATCH);
  EXPECT_TRUE(eventually([&] { return value(done) == 0; })) << host.reports;
}

} // namespace
} // namespace luthier::vgpu
