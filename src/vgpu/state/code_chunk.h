// A piece of decoded code: what a wave finds its next instruction in. Made and filled by wave/code_cache.h.
#pragma once

#include "vgpu/state/inst.h"

#include <cstdint>

namespace luthier::vgpu {

/// 64 KiB of guest code, with one record per dword.
class CodeChunk {
public:
  static constexpr uint64_t kBytes = 64 * 1024;
  static constexpr uint64_t kInsts = kBytes / 4;
  static constexpr uint64_t kOverrun = 4; ///< an instruction that starts in the last dword may end this far beyond

  explicit CodeChunk(uint64_t base);
  ~CodeChunk();
  CodeChunk(const CodeChunk &) = delete;
  CodeChunk &operator=(const CodeChunk &) = delete;

  uint64_t base() const { return base_; }
  uint64_t pc(const Inst *inst) const { return base_ + static_cast<uint64_t>(inst - insts_) * 4; }
  Inst *at(uint64_t pc) const { return insts_ + (pc - base_) / 4; }
  bool contains(uint64_t pc) const { return pc - base_ < kBytes; }

private:
  uint64_t base_;
  Inst *insts_; ///< mapped memory: untouched pages cost nothing
};

} // namespace luthier::vgpu
