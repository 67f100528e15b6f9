#include "vgpu/translate/translations.h"

#include "support/log.h"
#include "support/thread.h"
#include "support/variables.h"
#include "vgpu/exec/level.h"
#include "vgpu/exec/row.h"
#include "vgpu/translate/library.h"
#include "vgpu/translate/thread.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>

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

/// Waves after which a kernel is worth translating. Those that can be are short: some hundred nanoseconds each.
constexpr uint64_t kHotWaves = 32 * 1024;

/// Launches of fewer waves spend their time elsewhere.
constexpr uint64_t kFewestWaves = 64;

/// Longer code takes too long to translate, and has other things than its beginning to spend its time on.
constexpr size_t kMostInstructions = 400;

/// The records from `entry` to s_endpgm; empty, and in `why` what is on the way, when it is not straight code.
std::vector<const Inst *> straightRun(const Inst *entry, std::string &why) {
  std::vector<const Inst *> run;
  for (const Inst *inst = entry; inst->fn; inst = inst->next()) {
    if (run.size() == kMostInstructions) {
      why = fmt::format("more than {} instructions", kMostInstructions);
      return {};
    }
    if (!isPlain(*inst)) {
      why = inst->row ? fmt::format("{}, with modifiers or special operands", inst->row->mnemonic)
                      : std::string("code across a boundary of 64 KiB, or that cannot be decoded");
      return {};
    }
    run.push_back(inst);
    if (inst->row->mnemonic == "s_endpgm")
      return run;
    if (inst->row->traits & kEndsRun) {
      why = inst->row->mnemonic;
      return {};
    }
  }
  why = "no s_endpgm";
  return {};
}

/// A copy of records and of the constants that they point to, which may go with the device while it is being
/// translated.
class Records {
public:
  explicit Records(std::span<const Inst *const> run) {
    for (const Inst *inst : run) {
      Inst &copy = records_.emplace_back(*inst);
      for (unsigned n = 0; n < 3; ++n)
        if (copy.srcKind[n] == SrcKind::Constant) {
          auto &lanes = constants_.emplace_back();
          std::copy_n(copy.src[n].lanes, lanes.size(), lanes.begin());
          copy.src[n].lanes = lanes.data();
        }
      pointers_.push_back(&copy);
    }
  }
  std::span<const Inst *const> pointers() const { return pointers_; }

private:
  std::deque<Inst> records_;
  std::deque<std::array<uint32_t, 2 * kMaxLanes>> constants_;
  std::vector<const Inst *> pointers_;
};

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

void Translation::translate(std::span<const Inst *const> records, uint32_t itemIdRegisters) {
  Translator *const with = translator();
  if (!with) {
    setWhy("there is no translator");
    return;
  }
  const double before = threadSeconds();
  std::string why;
  owned_ = with->translate(records, itemIdRegisters, why);
  if (!owned_) {
    log::debug("{} is not translated: {}", kernel_, why);
    setWhy(std::move(why));
    return;
  }
  log::debug("translated {}: {} instructions in {:.0f} ms", kernel_, records.size(), (threadSeconds() - before) * 1e3);
  code_.store(owned_.get(), std::memory_order_release);
}

const Translation *Translations::find(const TranslationRequest &request) {
  if (!wanted() || (policy() == Policy::Hot && request.waves < kFewestWaves))
    return nullptr;
  std::unique_lock lock(mutex_);
  auto &known = known_[{request.entry, request.itemIdRegisters}];
  if (!known)
    known = std::make_unique<Translation>();
  Translation &translation = *known;
  translation.waves_ += request.waves;
  if (translation.asked_ || (policy() == Policy::Hot && translation.waves_ < kHotWaves))
    return &translation;
  translation.asked_ = true;
  translation.kernel_ = request.kernel();
  std::string why;
  translation.run_ = straightRun(request.entry, why);
  if (translation.run_.empty()) {
    log::debug("{} is not translated: {}", translation.kernel_, why);
    translation.setWhy(std::move(why));
    return &translation;
  }
  translation.setWhy("is being translated");
  auto records = std::make_shared<const Records>(translation.run_);
  auto job = [&translation, records, registers = request.itemIdRegisters, code = request.code] {
    translation.translate(records->pointers(), registers);
  };
  TranslationThread &thread = TranslationThread::process();
  if (!(policy() == Policy::Always ? thread.run(std::move(job)) : thread.submit(std::move(job))))
    translation.setWhy(Translator::kLlvmFailed + thread.stoppedBecause());
  return &translation;
}

} // namespace luthier::vgpu
