// SDMA packets: whatever is in the ring, the engine touches no memory but the GPU's, reads no further than the doorbell
// says, and comes to an end.

#include "packets.h"

#include "vgpu/queue/sdma.h"

using namespace luthier::vgpu;
using namespace luthier::vgpu::fuzz;

namespace {

struct SteppedQueue : SdmaQueue {
  using SdmaQueue::run;
  using SdmaQueue::SdmaQueue;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Gpu &gpu = Gpu::get();
  Input input(data, size);
  const std::vector<uint32_t> setup = input.take(2);
  std::vector<uint32_t> packets = input.rest(1024);
  if (packets.empty())
    return 0;
  gpu.arena.relocate(packets);
  for (uint64_t n = 0; n < Arena::kBytes / 8; ++n)
    reinterpret_cast<uint64_t *>(gpu.arena.data())[n] = n * setup[0];

  // A ring of its own, so that AddressSanitizer sees every step beyond.
  const uint64_t ringBytes = 4096;
  std::vector<uint32_t> ring(ringBytes / 4);
  std::copy(packets.begin(), packets.end(), ring.begin());
  uint64_t read = 0;
  volatile uint64_t doorbell = packets.size() * 4;
  if (setup[1] & 1) // a doorbell that nothing was written for
    doorbell = doorbell + (setup[1] >> 1) % (2 * ringBytes);
  const uint64_t announced = doorbell;
  SteppedQueue queue(1, gpu.device, gpu.host, ring.data(), ringBytes, &read, &doorbell);
  const auto stop = [&queue] { queue.stop(); };
  gpu.host.begin(stop);
  gpu.watchdog.guard(stop, [&] { queue.run(); });
  if (read > announced || read % 4 != 0)
    abort();
  gpu.host.begin([] {});
  return 0;
}
