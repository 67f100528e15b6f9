#include "vgpu/wave/code_cache.h"

#include "vgpu/exec/row.h"
#include "vgpu/state/wave.h"
#include "vgpu/wave/checked_code.h"
#include "vgpu/wave/decoder.h"
#include "vgpu/wave/device.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

namespace luthier::vgpu {

namespace {

constexpr uint64_t kMaxInstBytes = 16;
constexpr size_t kChunkMemory = (CodeChunk::kInsts + CodeChunk::kOverrun) * sizeof(Inst);

/// Stands behind the last instruction of a chunk: control has run into the next one.
const Inst *hopToNextChunk(Wave &w, const Inst *i) { return w.jump(w.chunk->pc(i)); }

const Inst *fetchFault(Wave &w, const Inst *i) { return w.memoryFault(i, w.pc(i), false); }

Handler loadHandler(const Inst &inst) { return __atomic_load_n(&inst.fn, __ATOMIC_ACQUIRE); }

} // namespace

CodeChunk::CodeChunk(uint64_t base) : base_(base) {
  void *memory =
      mmap(nullptr, kChunkMemory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    abort(); // no memory for 1 MiB: the process cannot go on in any useful way
  insts_ = static_cast<Inst *>(memory);
  for (uint64_t n = 0; n < kOverrun; ++n) {
    insts_[kInsts + n].fn = hopToNextChunk;
    insts_[kInsts + n].words = 0;
  }
}

CodeChunk::~CodeChunk() { munmap(insts_, kChunkMemory); }

CodeSnapshot::CodeSnapshot(Device &device, Decoder &decoder, uint32_t lanes)
    : device_(device), decoder_(decoder), lanes_(lanes) {}
CodeSnapshot::~CodeSnapshot() = default;

CodeChunk &CodeSnapshot::chunkFor(uint64_t pc) {
  const uint64_t base = pc & ~(CodeChunk::kBytes - 1);
  auto &chunk = chunks_[base];
  if (!chunk)
    chunk = std::make_unique<CodeChunk>(base);
  return *chunk;
}

bool CodeSnapshot::covers(uint64_t begin, uint64_t size) {
  std::lock_guard lock(mutex_);
  return std::ranges::any_of(chunks_, [&](const auto &chunk) {
    return chunk.first < begin + size && begin < chunk.first + CodeChunk::kBytes + 4 * CodeChunk::kOverrun;
  });
}

const Inst *CodeSnapshot::find(uint64_t pc, const CodeChunk *&chunk) {
  std::lock_guard lock(mutex_);
  CodeChunk &found = chunkFor(pc);
  if (!loadHandler(*found.at(pc)))
    decodeRun(found, pc);
  chunk = &found;
  return found.at(pc);
}

void CodeSnapshot::decodeRun(CodeChunk &chunk, uint64_t pc) {
  struct Decoded {
    Inst *place;
    Inst inst;
  };
  std::vector<Decoded> run;
  const AddressSpace &memory = device_.memory();
  while (chunk.contains(pc) && !loadHandler(*chunk.at(pc))) {
    Decoded &next = run.emplace_back();
    next.place = chunk.at(pc);
    uint64_t readable = 0;
    while (readable < kMaxInstBytes && memory.mapped(pc + readable, 4, device_.mask()))
      readable += 4;
    if (readable == 0) {
      next.inst = {};
      next.inst.fn = fetchFault;
      next.inst.words = 1;
      break;
    }
    decoder_.decode({reinterpret_cast<const uint8_t *>(pc), readable}, pc, next.inst);
    // Stop where control does: behind an unconditional jump, and where decoding failed.
    const bool ends = !next.inst.row || (next.inst.row->traits & kEndsRun);
    if (CheckedCode *checked = device_.checkedCode.get())
      checked->wrap(next.inst, {reinterpret_cast<const uint8_t *>(pc), readable}, pc, lanes_, decoder_,
                    device_.target());
    if (ends)
      break;
    pc += next.inst.words * 4ull;
  }
  for (size_t n = 1; n < run.size(); ++n)
    Decoder::fuse(run[n - 1].inst, run[n].inst);
  // Back to front, so that a wave which finds one record published finds all that follow it published too.
  for (auto it = run.rbegin(); it != run.rend(); ++it) {
    // Another wave may look at the handler meanwhile: it is only ever stored atomically, and last.
    static_assert(offsetof(Inst, fn) == 0);
    memcpy(reinterpret_cast<std::byte *>(it->place) + sizeof(Handler),
           reinterpret_cast<const std::byte *>(&it->inst) + sizeof(Handler), sizeof(Inst) - sizeof(Handler));
    __atomic_store_n(&it->place->fn, it->inst.fn, __ATOMIC_RELEASE);
  }
}

CodeCache::CodeCache(Device &device, uint32_t lanes) : device_(device), lanes_(lanes) {}
CodeCache::~CodeCache() = default;

Decoder &CodeCache::decoder() {
  std::call_once(once_, [&] { decoder_ = std::make_unique<Decoder>(device_.target(), lanes_); });
  return *decoder_;
}

std::shared_ptr<CodeSnapshot> CodeCache::current() {
  Decoder &mine = decoder();
  std::lock_guard lock(mutex_);
  if (!current_)
    current_ = std::make_shared<CodeSnapshot>(device_, mine, lanes_);
  return current_;
}

void CodeCache::invalidate() {
  std::lock_guard lock(mutex_);
  current_ = nullptr;
}

bool CodeCache::invalidate(uint64_t begin, uint64_t size) {
  std::shared_ptr<CodeSnapshot> known;
  {
    std::lock_guard lock(mutex_);
    known = current_;
  }
  if (!known || !known->covers(begin, size))
    return false;
  invalidate();
  return true;
}

} // namespace luthier::vgpu
