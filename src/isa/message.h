// Messages of s_sendmsg (the RDNA manuals, "S_SENDMSG"; LLVM has the same list).
#pragma once

#include <cstdint>

namespace luthier::isa {

enum class Message : uint8_t {
  Interrupt = 1,
  DeallocVgprs = 3, ///< where Target::deallocatesVgprs: the wave's vector registers and scratch are no longer its own
  SaveWave = 4,
  StallWaveGen = 5,
  HaltWaves = 6,
  GetDoorbell = 10,
};

/// What an s_sendmsg with this immediate sends.
constexpr Message messageOf(int64_t immediate) { return static_cast<Message>(immediate & 0xf); }

} // namespace luthier::isa
