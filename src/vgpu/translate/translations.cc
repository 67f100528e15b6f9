#include "vgpu/translate/translations.h"

#include "support/log.h"
#include "support/thread.h"
#include "support/variables.h"
#include "vgpu/exec/level.h"
#include "vgpu/exec/row.h"
#include "vgpu/translate/library.h"
#include "vgpu/wave/code_cache.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <functional>
#include <thread>

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

/// The records from `entry` to s_endpgm; empty when something else is on the way.
std::vector<const Inst *> straightRun(const Inst *entry) {
  std::vector<const Inst *> run;
  for (const Inst *inst = entry; run.size() < kMostInstructions && inst->fn; inst = inst->next()) {
    if (!isPlain(*inst))
      return {};
    run.push_back(inst);
    if (inst->row->mnemonic == "s_endpgm")
      return run;
    if (inst->row->traits & kEndsRun)
      return {};
  }
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

/// The thread that translates. It runs until the process ends, in a library that is never torn down (embedded.cc).
class Background {
public:
  Background() {
    std::thread([this] { run(); }).detach();
  }

  void submit(std::function<void()> job) {
    std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    wake_.notify_one();
  }

private:
  void run() {
    becomeInternalThread("vgpu-translate");
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return !jobs_.empty(); });
      auto job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      job = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
};

Background &background() {
  static auto *const instance = new Background; // never destroyed: its thread is in it
  return *instance;
}

} // namespace

bool Translations::wanted() { return policy() != Policy::Never; }

void Translation::translate(std::span<const Inst *const> records, uint32_t itemIdRegisters) {
  Translator *const with = translator();
  if (!with)
    return;
  static std::mutex one; // the translator's rule
  std::lock_guard lock(one);
  const double before = threadSeconds();
  std::string why;
  owned_ = with->translate(records, itemIdRegisters, why);
  if (!owned_) {
    log::debug("{} is not translated: {}", kernel_, why);
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
  if (!translation.asked_ && (policy() == Policy::Always || translation.waves_ >= kHotWaves)) {
    translation.asked_ = true;
    translation.run_ = straightRun(request.entry);
    translation.kernel_ = request.kernel();
    if (translation.run_.empty()) {
      log::debug("{} is not translated: no straight code to its end", translation.kernel_);
      return &translation;
    }
    auto records = std::make_shared<const Records>(translation.run_);
    auto job = [&translation, records, registers = request.itemIdRegisters, code = request.code] {
      translation.translate(records->pointers(), registers);
    };
    if (policy() == Policy::Always)
      job();
    else
      background().submit(std::move(job));
  }
  return &translation;
}

} // namespace luthier::vgpu
