// What became of each kernel: translated, or why not.
//
// Names of kernels cost a look-up per launch, so that this is only for those who ask: LUTHIER_LOG=info.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace luthier::vgpu {

/// How one launch of a kernel was run.
struct LaunchOutcome {
  bool translated = false; ///< there is translated code for it
  std::string why;         ///< there is none; begins with Translator::kLlvmFailed if there should be
  uint64_t waves = 0;
  uint64_t translatedWaves = 0; ///< of these: in translated code from the first instruction to the last
};

class TranslationReport {
public:
  static bool wanted();
  /// The process's.
  static TranslationReport &process();

  void add(const std::string &kernel, const LaunchOutcome &outcome);

  /// A line of totals and one for each kernel, by name; empty when nothing was launched.
  std::string text() const;

private:
  struct Kernel {
    LaunchOutcome sum; ///< `why` is the latest
    uint64_t launches = 0;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Kernel> kernels_;
};

} // namespace luthier::vgpu
