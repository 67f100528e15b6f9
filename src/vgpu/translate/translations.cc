#include "vgpu/translate/translations.h"

#include "support/log.h"
#include "support/thread.h"
#include "support/variables.h"
#include "vgpu/exec/level.h"
#include "vgpu/exec/row.h"
#include "vgpu/translate/library.h"
#include "vgpu/translate/thread.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace luthier::vgpu {

namespace {

enum class Policy : uint8_t { Never, Hot, Always };

/// Whether there is a translator at all.
#ifdef LUTHIER_VGPU_TRANSLATES
constexpr bool kBuilt = true;
#else
constexpr bool kBuilt = false;
#endif

Policy policy() {
  static const Policy chosen = [] {
    if (!kBuilt || std::string_view(execLevel().name) != "avx512")
      return Policy::Never;
    const auto choice = env::choice(env::kTranslate, 1);
    if (!choice) {
      log::error("{}; hot kernels are translated", choice.error().message());
      return Policy::Hot;
    }
    return static_cast<Policy>(*choice);
  }();
  return chosen;
}

/// Waves after which a kernel is worth translating, however short they are.
constexpr uint64_t kHotWaves = 32 * 1024;

} // namespace

bool Translations::wanted() { return policy() != Policy::Never; }

std::string Translation::why() const {
  std::lock_guard lock(mutex_);
  return why_;
}

void Translation::setWhy(std::string why) {
  std::lock_guard lock(mutex_);
  why_ = std::move(why);
}

std::optional<uint32_t> Translation::entryAt(const Inst *inst) const {
  const auto found = std::ranges::lower_bound(entries_, inst, {}, &std::pair<const Inst *, uint32_t>::first);
  if (found == entries_.end() || found->first != inst)
    return std::nullopt;
  return found->second;
}

void Translation::translate(uint32_t itemIdRegisters) {
  Translator *const with = translator();
  if (!with) {
    setWhy("there is no translator");
    return;
  }
  const double before = threadSeconds();
  std::string why;
  owned_ = with->translate(guest_, itemIdRegisters, why);
  if (!owned_) {
    log::debug("{} is not translated: {}", kernel_, why);
    setWhy(std::move(why));
    return;
  }
  // What mostly calls handlers is no faster than the interpreter.
  const auto calls = std::ranges::count_if(
      owned_->called, [&](uint32_t n) { return !(guest_.instructions[n].record.row->traits & kStops); });
  if (policy() == Policy::Hot && static_cast<size_t>(calls) * 8 > guest_.instructions.size()) {
    setWhy("one in eight of its instructions would call its handler");
    return;
  }
  RegSet used;
  for (uint32_t n = 0; n < guest_.instructions.size(); ++n) {
    const GuestInstruction &instruction = guest_.instructions[n];
    written_.push_back(vectorsOf(instruction.left()));
    used |= instruction.reads | instruction.writes;
    if (instruction.entry)
      entries_.emplace_back(instruction.original, n);
  }
  used_ = vectorsOf(used);
  std::ranges::sort(entries_);
  if (log::enabled(log::Level::debug)) {
    std::set<std::string_view> names;
    for (const uint32_t n : owned_->called)
      names.insert(guest_.instructions[n].record.row->mnemonic);
    log::debug("translated {}: {} instructions in {:.0f} ms; {} call their handlers{}{}", kernel_,
               guest_.instructions.size(), (threadSeconds() - before) * 1e3, owned_->called.size(),
               names.empty() ? "" : ": ", fmt::join(names, " "));
  }
  code_.store(owned_.get(), std::memory_order_release);
}

Translation *Translations::find(const TranslationRequest &request) {
  if (!wanted())
    return nullptr;
  std::unique_lock lock(mutex_);
  auto &known = known_[{request.entry, request.itemIdRegisters}];
  if (!known)
    known = std::make_unique<Translation>();
  Translation &translation = *known;
  translation.waves_ += request.waves;
  const bool hot = request.hot || policy() == Policy::Always || translation.waves_ >= kHotWaves;
  if (translation.asked() || !hot)
    return &translation;
  translation.asked_.store(true, std::memory_order_relaxed);
  translation.kernel_ = request.kernel();
  auto guest = request.collect();
  if (!guest) {
    log::debug("{} is not translated: {}", translation.kernel_, guest.error().message());
    translation.setWhy(guest.error().message());
    return &translation;
  }
  // Measured: with more registers than the host has, loops are no faster translated (docs/performance.md).
  const auto entries = std::ranges::count(guest->instructions, true, &GuestInstruction::entry);
  if (policy() == Policy::Hot && entries > 1) {
    translation.setWhy("loops and barriers are only translated by LUTHIER_VGPU_TRANSLATE=always");
    return &translation;
  }
  translation.guest_ = std::move(*guest);
  translation.setWhy("is being translated");
  auto job = [&translation, registers = request.itemIdRegisters, code = request.code] {
    translation.translate(registers);
  };
  TranslationThread &thread = TranslationThread::process();
  if (!(policy() == Policy::Always ? thread.run(std::move(job)) : thread.submit(std::move(job))))
    translation.setWhy(Translator::kLlvmFailed + thread.stoppedBecause());
  return &translation;
}

} // namespace luthier::vgpu
