// Kernel-driver events: what HSA signals sleep on.
//
// An event is set by a finished packet, by the host, by an SDMA trap, or by a shader that writes the event's id to its
// mailbox and sends an interrupt message. Semantics follow the kernel driver: setting an auto-reset event releases
// everybody who waits for it at that moment and only stays set when nobody does; each setting makes a signal event a
// year older, and whoever knows its age does not miss one between two waits.
//
// Signal events have small ids, each with a mailbox of 8 bytes in a page that the thunk provides; ids are used again
// after destruction. Other events (memory exception, hardware exception) have ids of their own above.
#pragma once

#include "vgpu/driver/kfd_abi.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

namespace luthier::vgpu {

class EventTable {
public:
  static constexpr uint32_t kMaxSignalEvents = 4096;
  static constexpr uint64_t kMailboxBytes = kMaxSignalEvents * sizeof(uint64_t);

  /// `ownMailboxes`: kMaxSignalEvents of them, used while the runtime has provided none.
  explicit EventTable(uint64_t *ownMailboxes);
  ~EventTable();
  EventTable(const EventTable &) = delete;
  EventTable &operator=(const EventTable &) = delete;

  /// Where mailboxes are from now on, and by which address GPUs have them; null for our own again.
  void setMailboxes(uint64_t *mailboxes, uint64_t address);
  bool isMailbox(uint64_t address);

  static bool isSignal(uint32_t type);

  // 0 or an errno value, as everything below.
  int create(uint32_t type, bool autoReset, uint32_t &id);
  int destroy(uint32_t id);
  int set(uint32_t id);
  int reset(uint32_t id);
  /// Fills in what is known of each event that ended the wait.
  int wait(std::span<kfd::EventData> events, bool all, uint32_t milliseconds, kfd::WaitResult &result);

  /// A packet processor's interrupt: the id is complete. Unknown ids are ignored.
  void signal(uint32_t id);

  /// A shader's interrupt message: `m0` holds the low 8 bits of the id; the mailboxes say which events are meant.
  void interrupt(uint32_t m0);

  struct MemoryFault {
    uint32_t gpuId;
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
  bool mailboxFull(uint32_t id) const;
  void emptyMailbox(uint32_t id) const;

  uint64_t *const ownMailboxes_;
  uint64_t *mailboxes_;
  uint64_t mailboxAddress_; ///< the GPUs'
  std::mutex mutex_;
  std::unordered_map<uint32_t, std::unique_ptr<Event>> events_;
  std::set<uint32_t> freeIds_; ///< used before, below nextId_
  uint32_t nextId_ = 1;
  uint32_t nextSystemId_ = 0x80000000;
};

} // namespace luthier::vgpu
