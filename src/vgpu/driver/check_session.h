// `luthier check` inside the application: what is checked, what is known of the application's memory, and where
// findings go.
#pragma once

#include "check/checks.h"
#include "check/records.h"
#include "vgpu/driver/explain.h"
#include "vgpu/memory/allocations.h"
#include "vgpu/wave/memory_check.h"

#include <deque>
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

  // What the application does.

  void allocated(uint64_t begin, uint64_t size);
  void registered(uint64_t host, uint64_t begin, uint64_t size);
  void unregistered(uint64_t host);
  /// Memory that hipMallocManaged has got from the host.
  void managed(uint64_t begin, uint64_t size);

  /// The application itself asked for what begins there.
  void claimed(uint64_t begin);
  /// The host has written `size` bytes at `to` itself, from `from`.
  void copied(uint64_t to, uint64_t from, uint64_t size);
  /// hipFree has returned: ROCr does not hear of managed memory.
  void freedByHip(uint64_t begin);

  enum class Freed : uint8_t {
    Kept,    ///< nobody may access it; it is given back later, by `release`
    Again,   ///< it was freed before
    Unknown, ///< none of ours
  };
  Freed freed(uint64_t begin);
  /// Addresses that may be given back to the runtime now: the oldest, so that no more than the quarantine holds are
  /// kept. `all`: memory is short.
  std::vector<uint64_t> release(bool all);

  /// ROCr has handed over its table: sizes are known.
  void tableSeen() { tableSeen_ = true; }

  /// The process ends.
  void finish();

private:
  CheckSession(AddressSpace &space, LoadedCode &code, MemoryManager &memory, check::Checks checks,
               std::unique_ptr<check::RecordWriter> records, uint64_t quarantineBytes, bool leaks);
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

  MemoryManager &memory_;
  const Explainer explainer_;
  Allocations allocations_;
  const check::Checks checks_;
  const std::unique_ptr<check::RecordWriter> records_;
  const uint64_t quarantineBytes_;
  const bool leaks_;
  const std::shared_ptr<CheckedCode> checkedCode_ = std::make_shared<CheckedCode>();
  // Null: not chosen.
  std::shared_ptr<MemoryCheck> memoryCheck_;
  std::shared_ptr<const RaceCheck> raceCheck_;
  std::shared_ptr<const BarrierCheck> barrierCheck_;
  std::shared_ptr<const WaitCheck> waitCheck_;
  std::shared_ptr<InitCheck> initCheck_;
  std::atomic<bool> tableSeen_{false};

  std::mutex mutex_;
  std::map<Place, size_t> known_;
  std::set<std::string> notChecked_;
  std::set<uint64_t> kernels_;                           ///< that have been launched
  std::map<uint64_t, uint64_t> registered_;              ///< GPU's addresses by the host's
  std::deque<std::pair<uint64_t, uint64_t>> quarantine_; ///< addresses and sizes, oldest first
  uint64_t quarantined_ = 0;                             ///< bytes
};

} // namespace luthier::vgpu
