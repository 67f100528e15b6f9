// What queues need of the driver around them: events, fault reports, and a way out when nobody listens.
#pragma once

#include "vgpu/wave/dispatch.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace luthier::vgpu {

class Activity;
class Device;

class QueueHost {
public:
  virtual ~QueueHost() = default;

  /// Sets the event with this id, as the interrupt of a packet processor does. Unknown ids are ignored.
  virtual void signalEvent(uint32_t eventId) = 0;

  /// Prints what happened, with the prefix of the virtual GPU; also writes out statistics, since the process may be
  /// about to end.
  virtual void reportFault(std::string_view text) = 0;

  /// Lines about the instruction at this address, each with a newline before it: its line of source, and in
  /// instrumented code whether it is the kernel's or a hook's. Empty when nothing is known.
  virtual std::string describeCode(uint64_t) { return {}; }

  /// Raises the memory exception event; false when the runtime never made one.
  virtual bool raiseMemoryFault(Device &device, const Fault &fault) = 0;

  /// Nobody handled a fault: ends the process with a message.
  virtual void die(std::string_view why) = 0;

  /// A kernel is about to start: what the host has done to its page tables until now must be seen.
  virtual void beforeKernel() {}

  virtual Activity &activity() = 0;
};

} // namespace luthier::vgpu
