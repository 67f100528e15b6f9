// Decoded code: chunks of instruction records, made on first use and dropped when guest code may have changed.
//
// A chunk stands for 64 KiB of guest code with one record per dword. Decoding runs straight ahead from the place that
// was jumped to until control cannot go further, so that only jumps need to ask whether their target is decoded; past
// a chunk's last dword stand records that hop to the next chunk.
//
// A dispatch holds the snapshot that was current when it started. Invalidation starts an empty snapshot for those to
// come, and never pulls records from under a running wave.
#pragma once

#include "isa/target.h"
#include "vgpu/state/code_chunk.h"
#include "vgpu/translate/translations.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace luthier::vgpu {

class Decoder;
class Device;

class CodeSnapshot {
public:
  CodeSnapshot(Device &device, Decoder &decoder, uint32_t lanes);
  ~CodeSnapshot();

  /// The decoded instruction at `pc`, and the chunk it is in. Never null: what cannot be decoded is a record whose
  /// handler reports it. Thread-safe.
  const Inst *find(uint64_t pc, const CodeChunk *&chunk);

  /// Whether anything was decoded from these addresses.
  bool covers(uint64_t begin, uint64_t size);

  /// What has been translated of it.
  Translations &translations() { return translations_; }

private:
  CodeChunk &chunkFor(uint64_t pc);
  void decodeRun(CodeChunk &chunk, uint64_t pc);

  Device &device_;
  Decoder &decoder_;
  const uint32_t lanes_;
  std::mutex mutex_;
  std::unordered_map<uint64_t, std::unique_ptr<CodeChunk>> chunks_;
  Translations translations_;
};

/// For waves of one size: the same bytes may mean another thing to those of the other.
class CodeCache {
public:
  CodeCache(Device &device, uint32_t lanes);
  ~CodeCache();

  std::shared_ptr<CodeSnapshot> current();
  void invalidate();
  /// Only if something was decoded from these addresses: then true.
  bool invalidate(uint64_t begin, uint64_t size);
  /// Made when first asked for: most code has waves of one size only.
  Decoder &decoder();

private:
  Device &device_;
  uint32_t lanes_;
  std::once_flag once_;
  std::unique_ptr<Decoder> decoder_;
  std::mutex mutex_;
  std::shared_ptr<CodeSnapshot> current_;
};

} // namespace luthier::vgpu
