#include "vgpu/translate/report.h"

#include "support/log.h"
#include "vgpu/translate/translator.h"

#include <fmt/format.h>

#include <string_view>

namespace luthier::vgpu {

bool TranslationReport::wanted() { return log::enabled(log::Level::info); }

TranslationReport &TranslationReport::process() {
  static auto *const instance = new TranslationReport; // workers may use it until the process is gone
  return *instance;
}

void TranslationReport::add(const std::string &kernel, const LaunchOutcome &outcome) {
  std::lock_guard lock(mutex_);
  Kernel &known = kernels_[kernel];
  ++known.launches;
  known.sum.translated |= outcome.translated;
  known.sum.why = outcome.why;
  known.sum.waves += outcome.waves;
  known.sum.translatedWaves += outcome.translatedWaves;
}

std::string TranslationReport::text() const {
  std::lock_guard lock(mutex_);
  if (kernels_.empty())
    return {};
  uint64_t launches = 0, translated = 0, failed = 0, waves = 0, translatedWaves = 0;
  std::string lines;
  for (const auto &[name, kernel] : kernels_) {
    launches += kernel.launches;
    waves += kernel.sum.waves;
    translatedWaves += kernel.sum.translatedWaves;
    if (kernel.sum.translated) {
      ++translated;
      lines += fmt::format("\n  translated: {}: launches {}, waves {}, in translated code {}", name, kernel.launches,
                           kernel.sum.waves, kernel.sum.translatedWaves);
    } else {
      failed += std::string_view(kernel.sum.why).starts_with(Translator::kLlvmFailed);
      lines += fmt::format("\n  interpreted: {}: launches {}, waves {}: {}", name, kernel.launches, kernel.sum.waves,
                           kernel.sum.why);
    }
  }
  return fmt::format("translation: kernels {}, translated {}, failed {}; launches {}; waves {}, in translated code {}",
                     kernels_.size(), translated, failed, launches, waves, translatedWaves) +
         lines;
}

} // namespace luthier::vgpu
