// AQL packets, with kernel descriptors, signals and the queue's own fields around them: a packet runs or fails the
// queue, nothing but the GPU's memory is touched, and the queue can be destroyed.

#include "packets.h"

#include "vgpu/queue/aql.h"

using namespace luthier::vgpu;
using namespace luthier::vgpu::fuzz;

namespace {

struct SteppedQueue : AqlQueue {
  using AqlQueue::AqlQueue;
  using AqlQueue::run;
};

constexpr uint32_t kSlots = 8;
// Where the arena has what packets may name; seeds do.
constexpr uint64_t kCode = 0xc000, kEndless = kCode + 0x100, kIllegal = kCode + 0x200;

/// Code that is known, whatever a descriptor asks for besides.
void placeCode(uint8_t *arena) {
  constexpr uint32_t kEndpgm = 0xbf810000, kBranchToItself = 0xbf82ffff, kNothing = 0xffffffff;
  memset(arena + kCode, 0, Arena::kBytes - kCode);
  memcpy(arena + kCode, &kEndpgm, 4);
  memcpy(arena + kEndless, &kBranchToItself, 4);
  memcpy(arena + kIllegal, &kNothing, 4);
}

/// Descriptors lie in the first 16 KiB, one every 64 bytes; each leads to one of the pieces of code.
void placeDescriptors(uint8_t *arena) {
  for (uint64_t at = 0; at < 0x4000; at += 64) {
    uint64_t offset;
    memcpy(&offset, arena + at + 16, 8);
    offset = (offset & 3) == 0   ? kCode - at
             : (offset & 3) == 1 ? kEndless - at
             : (offset & 3) == 2 ? kIllegal - at
                                 : 64;
    memcpy(arena + at + 16, &offset, 8);
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Gpu &gpu = Gpu::get();
  Input input(data, size);
  std::vector<uint32_t> setup = input.take(8);
  std::vector<uint32_t> packets = input.take(kSlots * 16);
  std::vector<uint32_t> memory = input.rest(kCode / 4);
  gpu.arena.relocate(setup);
  gpu.arena.relocate(packets);
  gpu.arena.relocate(memory);
  memset(gpu.arena.data(), 0, kCode);
  if (!memory.empty())
    memcpy(gpu.arena.data(), memory.data(), memory.size() * 4);
  placeDescriptors(gpu.arena.data());
  placeCode(gpu.arena.data());

  alignas(64) static amd_queue_t queueMemory;
  queueMemory = {};
  alignas(64) static hsa_kernel_dispatch_packet_t ring[kSlots];
  memcpy(ring, packets.data(), sizeof ring);
  alignas(64) static amd_signal_t inactive;
  inactive = {};
  inactive.kind = AMD_SIGNAL_KIND_USER;
  queueMemory.hsa_queue.base_address = ring;
  queueMemory.hsa_queue.size = kSlots;
  queueMemory.write_dispatch_id = setup[0] % (kSlots + 1);
  queueMemory.queue_inactive_signal = {setup[1] & 1 ? 0 : reinterpret_cast<uint64_t>(&inactive)};
  queueMemory.compute_tmpring_size = setup[2];
  queueMemory.scratch_wave64_lane_byte_size = setup[3];
  queueMemory.scratch_backing_memory_location = setup[4] | uint64_t{setup[5]} << 32;
  queueMemory.queue_properties = setup[6];
  std::copy_n(setup.begin(), 4, queueMemory.scratch_resource_descriptor);

  SteppedQueue queue(1, gpu.device, gpu.host, &queueMemory);
  const auto stop = [&queue] { queue.stop(); };
  gpu.host.begin(stop);
  gpu.watchdog.guard(stop, [&] { queue.run(); });
  gpu.host.begin([] {});
  if (queueMemory.read_dispatch_id > queueMemory.write_dispatch_id)
    abort();
  return 0;
}
