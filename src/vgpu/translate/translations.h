// Which kernels are translated, and when.
//
// A kernel is translated once interpreting it has taken about as long as a translation does: by its number of waves, or
// by the time that they took. Most kernels never get there, and cost nothing. The work is done on a thread of its own,
// while waves go on being interpreted; when it is done, workgroups start in translated code, and waves that are under
// way go over to it at the next loop or barrier. What cannot be translated is remembered as such.
//
// Translations belong to a snapshot of decoded code (wave/code_cache.h) and go with it: whatever makes the virtual GPU
// decode anew makes it translate anew.
//
// LUTHIER_VGPU_TRANSLATE: 0 never, 1 hot kernels (the default), always: every kernel before its first wave, for tests.
#pragma once

#include "support/result.h"
#include "vgpu/translate/translator.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace luthier::vgpu {

class CodeSnapshot;

/// Why most kernels are interpreted.
inline constexpr const char *kNotHot = "too few waves to be hot";

/// One kernel, on its way to being translated or not.
class Translation {
public:
  /// Null while there is none, and for ever if it cannot be translated.
  const TranslatedCode *code() const { return code_.load(std::memory_order_acquire); }
  /// Why there is no code, or none yet.
  std::string why() const;

  // Once there is code.

  /// The instruction that `code` calls number n.
  const Inst *at(uint32_t n) const { return guest_.instructions[n].original; }
  /// The kernel's first.
  uint32_t first() const { return guest_.entry; }
  /// The number of an instruction where waves may come in.
  std::optional<uint32_t> entryAt(const Inst *inst) const;
  /// Whether its waves wait for each other.
  bool needsGroup() const { return guest_.needsGroup; }
  /// Vector registers (indices into Wave::v) that the wave's record has when the interpreter goes on with instruction
  /// n, sorted: others have not been written, or nobody will read them. Without n, when it goes on at the wave's `ip`.
  const std::vector<uint16_t> &written(std::optional<uint32_t> n) const { return n ? written_[*n] : used_; }

  /// Adds to the time for which the kernel has been interpreted, and says whether that makes it hot. In ticks of
  /// Device::clock().
  bool heats(uint64_t ticks) {
    return !asked() && heat_.fetch_add(ticks, std::memory_order_relaxed) + ticks >= kHotTicks;
  }
  /// Whether a translation has been asked for.
  bool asked() const { return asked_.load(std::memory_order_relaxed); }

private:
  friend class Translations;
  static constexpr uint64_t kHotTicks = 30'000'000; ///< 0.3 s, which is what short kernels take to translate
  void translate(uint32_t itemIdRegisters);
  void setWhy(std::string why);

  mutable std::mutex mutex_;
  std::string why_ = kNotHot;
  GuestCode guest_;
  std::vector<std::pair<const Inst *, uint32_t>> entries_; ///< sorted
  std::vector<std::vector<uint16_t>> written_;
  std::vector<uint16_t> used_;
  std::string kernel_;
  uint64_t waves_ = 0; ///< launched so far
  std::atomic<uint64_t> heat_{0};
  std::atomic<bool> asked_{false};
  std::unique_ptr<TranslatedCode> owned_;
  std::atomic<const TranslatedCode *> code_{nullptr};
};

/// A kernel that is about to be launched, or under way.
struct TranslationRequest {
  std::shared_ptr<CodeSnapshot> code; ///< to which `entry` belongs
  const Inst *entry;
  uint32_t itemIdRegisters;            ///< vector registers with work-item ids
  uint64_t waves;                      ///< of this launch
  bool hot;                            ///< however few waves there were
  std::function<std::string()> kernel; ///< gives its name, for messages
  std::function<Result<GuestCode>()> collect;
};

/// The translations of one snapshot.
class Translations {
public:
  /// The translation of a kernel, begun if it is hot; null when none is wanted.
  Translation *find(const TranslationRequest &request);

  /// Whether anything is translated in this process.
  static bool wanted();

private:
  std::mutex mutex_;
  std::map<std::pair<const Inst *, uint32_t>, std::unique_ptr<Translation>> known_;
};

} // namespace luthier::vgpu
