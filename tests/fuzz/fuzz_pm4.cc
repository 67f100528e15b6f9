// PM4 packets, and the indirect buffers that they jump to: nothing but the GPU's memory is read, and it ends.

#include "packets.h"

#include "vgpu/queue/pm4.h"

using namespace luthier::vgpu;
using namespace luthier::vgpu::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Gpu &gpu = Gpu::get();
  Input input(data, size);
  std::vector<uint32_t> words = input.take(4);
  std::vector<uint32_t> memory = input.rest(Arena::kBytes / 4);
  gpu.arena.relocate(words);
  gpu.arena.relocate(memory);
  memset(gpu.arena.data(), 0, Arena::kBytes);
  if (!memory.empty()) // at the very end: a step beyond is one into the guard
    memcpy(gpu.arena.data() + Arena::kBytes - memory.size() * 4, memory.data(), memory.size() * 4);
  words.shrink_to_fit();
  Fault fault;
  unsigned looks = 0;
  const bool fine = runPm4(gpu.device, words, fault, [&] { return ++looks > 1000; });
  if (fine != (fault.kind == Fault::Kind::None) || (!fine && fault.text.empty()))
    abort();
  return 0;
}
