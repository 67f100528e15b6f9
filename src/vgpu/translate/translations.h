// Which kernels are translated, and when.
//
// A kernel is translated once its launches have added up to enough waves that interpreting them has taken about as long
// as a translation does; most kernels never get there, and cost nothing. The work is done on a thread of its own, while
// waves go on being interpreted; workgroups that start when it is done run translated code. What cannot be translated
// is remembered as such.
//
// Translations belong to a snapshot of decoded code (wave/code_cache.h) and go with it: whatever makes the virtual GPU
// decode anew makes it translate anew.
//
// LUTHIER_VGPU_TRANSLATE: 0 never, 1 hot kernels (the default), always: every kernel before its first wave, for tests.
#pragma once

#include "vgpu/translate/translator.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
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
  /// The instruction that `code` calls number n.
  const Inst *at(uint32_t n) const { return run_[n]; }
  uint32_t end() const { return static_cast<uint32_t>(run_.size()) - 1; }
  /// Why there is no code, or none yet.
  std::string why() const;

private:
  friend class Translations;
  void translate(std::span<const Inst *const> records, uint32_t itemIdRegisters);
  void setWhy(std::string why);

  mutable std::mutex mutex_;
  std::string why_ = kNotHot;
  std::vector<const Inst *> run_;
  std::string kernel_;
  uint64_t waves_ = 0; ///< launched so far
  bool asked_ = false;
  std::unique_ptr<TranslatedCode> owned_;
  std::atomic<const TranslatedCode *> code_{nullptr};
};

/// A kernel that is about to be launched.
struct TranslationRequest {
  std::shared_ptr<CodeSnapshot> code; ///< to which `entry` belongs
  const Inst *entry;
  uint32_t itemIdRegisters;            ///< vector registers with work-item ids
  uint64_t waves;                      ///< of this launch
  std::function<std::string()> kernel; ///< gives its name, for messages
};

/// The translations of one snapshot.
class Translations {
public:
  /// The translation of a kernel, begun if this launch makes it hot; null when none is wanted.
  const Translation *find(const TranslationRequest &request);

  /// Whether anything is translated in this process.
  static bool wanted();

private:
  std::mutex mutex_;
  std::map<std::pair<const Inst *, uint32_t>, std::unique_ptr<Translation>> known_;
};

} // namespace luthier::vgpu
