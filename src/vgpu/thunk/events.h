// Kernel-driver events: what HSA signals sleep on.
//
// An event is set by a finished packet, by hsaKmtSetEvent, by an SDMA trap, or by a shader that writes the event's id
// to its mailbox and sends an interrupt message. Semantics follow the kernel driver: setting an auto-reset event
// releases everybody who waits for it at that moment and only stays set when nobody does.
//
// Signal events have small ids, each with a mailbox of 8 bytes; ids are used again after destruction. Other events
// (memory exception, hardware exception) have ids of their own above.
#pragma once

#include <hsakmttypes.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

namespace luthier::vgpu {

class EventTable {
public:
  /// More than the kernel driver's 4096: when events run out, ROCr falls back to signals on which the host spins.
  static constexpr uint32_t kMaxSignalEvents = 65536;
  static constexpr uint64_t kMailboxBytes = kMaxSignalEvents * sizeof(uint64_t);

  /// `mailboxes`: kMaxSignalEvents of them, accessible to every GPU.
  explicit EventTable(uint64_t *mailboxes);
  ~EventTable();
  EventTable(const EventTable &) = delete;
  EventTable &operator=(const EventTable &) = delete;

  HSAKMT_STATUS create(const HsaEventDescriptor &descriptor, bool manualReset, bool set, HsaEvent **event);
  HSAKMT_STATUS destroy(HsaEvent *event);
  HSAKMT_STATUS set(const HsaEvent *event);
  HSAKMT_STATUS reset(const HsaEvent *event);
  HSAKMT_STATUS wait(std::span<HsaEvent *const> events, bool all, uint32_t milliseconds);

  /// A packet processor's interrupt: the id is complete.
  void signal(uint32_t id);

  /// A shader's interrupt message: `m0` holds the low 8 bits of the id; the mailboxes say which events are meant.
  void interrupt(uint32_t m0);

  struct MemoryFault {
    uint32_t node;
    uint64_t address;
    bool notPresent;
    bool readOnly;
  };
  /// False when there is no memory exception event.
  bool raiseMemoryFault(const MemoryFault &fault);

private:
  struct Waiter;
  struct Event;

  Event *find(uint32_t id);
  void setLocked(Event &event);
  bool mailboxFull(uint32_t id);

  uint64_t *const mailboxes_;
  std::mutex mutex_;
  std::unordered_map<uint32_t, std::unique_ptr<Event>> events_;
  std::set<uint32_t> freeIds_; ///< used before, below nextId_
  uint32_t nextId_ = 1;
  uint32_t nextSystemId_ = 0x80000000;
};

} // namespace luthier::vgpu
