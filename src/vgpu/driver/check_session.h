// `luthier check` inside the application: what is checked, what is known of the application's memory, and where
// findings go.
#pragma once

#include "check/checks.h"
#include "check/records.h"
#include "memcheck/application_memory.h"
#include "vgpu/driver/explain.h"
#include "vgpu/wave/memory_check.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>

namespace luthier::vgpu {

class Device;
struct Launch;

class CheckSession {
public:
  /// Null when nothing is to be checked, or when findings could not be recorded (after telling the user).
  static std::unique_ptr<CheckSession> fromEnvironment(AddressSpace &space, LoadedCode &code, MemoryManager &memory);

  /// Makes the device look for what was chosen. Before it runs anything.
  void watch(Device &device);

  /// Whether the address is that of an event's mailbox, where waves say which interrupt they are about to send: whoever
  /// writes one writes the same value. Set once, before any device runs.
  std::function<bool(uint64_t address)> isMailbox;

  /// To be told what the application does.
  memcheck::ApplicationMemory &application() { return application_; }

  /// The process ends.
  void finish();

private:
  CheckSession(AddressSpace &space, LoadedCode &code, MemoryManager &memory, check::Checks checks,
               std::unique_ptr<check::RecordWriter> records, bool leaks);
  void found(const Wave &wave, const Inst *inst, const BadAccess &access);
  void found(const Wave &wave, const Inst *inst, const Race &race);
  void found(const Wave &wave, const BarrierProblem &problem);
  void found(const Wave &wave, const Inst *inst, const EarlyUse &use);
  void found(const Wave &wave, const Inst *inst, const UndefinedUse &use);
  /// Of a class, in a kernel, at one instruction or two (0: one).
  using Place = std::tuple<std::string_view, uint64_t, uint64_t, uint64_t>;
  /// Counts what was found there before, or adds what `make` makes of it.
  template <class Make> void record(const Place &place, Make make);
  void launched(const Launch &launch);

  /// The page table as the application's allocations see it.
  struct Guards : memcheck::PageGuards {
    explicit Guards(AddressSpace &pages) : space(pages) {}
    void guard(uint64_t begin, uint64_t size) override { space.guard(begin, size); }
    void unguard(uint64_t begin, uint64_t size) override { space.unguard(begin, size); }
    AddressSpace &space;
  };

  /// Memory that waves share by way of the host, whose part in the order of accesses nobody sees here: the mailboxes of
  /// interrupts, and the buffers of calls of the host.
  bool sharedWithHost(uint64_t address);

  LoadedCode &code_;
  const Explainer explainer_;
  Guards guards_;
  memcheck::ApplicationMemory application_;
  const check::Checks checks_;
  const std::unique_ptr<check::RecordWriter> records_;
  const bool leaks_;
  const std::shared_ptr<CheckedCode> checkedCode_ = std::make_shared<CheckedCode>();
  // Null: not chosen.
  std::shared_ptr<MemoryCheck> memoryCheck_;
  std::shared_ptr<const RaceCheck> raceCheck_;
  std::shared_ptr<const BarrierCheck> barrierCheck_;
  std::shared_ptr<const WaitCheck> waitCheck_;
  std::shared_ptr<InitCheck> initCheck_;

  std::mutex mutex_;
  std::map<Place, size_t> known_;
  std::set<std::string> notChecked_;
  std::set<uint64_t> kernels_;                   ///< that have been launched
  std::map<uint64_t, uint64_t> hostcallBuffers_; ///< begin and end
};

} // namespace luthier::vgpu
