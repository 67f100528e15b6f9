// The instruction table: one row per mnemonic.
//
// A row says what the instruction does and what types its operands have. The decoder does the rest: it knows the
// encodings, resolves operands by those types, and chooses between the row's own handler and the general path that
// serves all modifiers. Rows are written in the files of exec/, one per encoding; a mnemonic stands in the file of its
// shortest encoding (v_add_f32 in vop2.cc, although VOP3 can encode it too).
#pragma once

#include "isa/matrix.h"
#include "vgpu/exec/fidelity.h"
#include "vgpu/state/inst.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace luthier::vgpu {

/// Operands of a vector instruction as arrays of lanes. 64-bit values have their high halves kMaxLanes further on.
struct LaneArgs {
  uint32_t *d;
  const uint32_t *s[3];
  const uint32_t *in; ///< a lane mask that is read (carry in, select), 0 or ~0 per lane
  uint32_t *out;      ///< a lane mask that is written (carry out, compare), 0 or ~0 per lane
  uint32_t mode;      ///< the MODE register
  int32_t imm = 0;    ///< Inst::imm
};
using LaneLoop = void (*)(const LaneArgs &);

/// Row::traits.
inline constexpr uint16_t kAccumulates = 1; ///< the destination is also the third source (v_fmac_f32)
inline constexpr uint16_t kReadsMask = 2;   ///< the last source is a lane mask; VCC in the short encodings
inline constexpr uint16_t kWritesMask =
    4; ///< writes a lane mask beside (or instead of) a VGPR; VCC in the short encodings
inline constexpr uint16_t kReadsVcc = 8;     ///< reads VCC as a lane mask in every encoding (v_div_fmas)
inline constexpr uint16_t kWritesExec = 16;  ///< v_cmpx: the mask result also goes to EXEC
inline constexpr uint16_t kKeepsHigh = 32;   ///< a 16-bit result leaves the high half of the destination alone
inline constexpr uint16_t kEndsRun = 64;     ///< control never reaches the following instruction
inline constexpr uint16_t kScalarDst = 128;  ///< a VALU instruction whose VDST names an SGPR (v_readlane)
inline constexpr uint16_t kWritesScc = 256;  ///< SALU; `salu` finds out by itself
inline constexpr uint16_t kReadsScc = 512;   ///< SALU: the same
inline constexpr uint16_t kRelative = 1024;  ///< M0 moves registers: the handler sees to that, modifiers or not
inline constexpr uint16_t kMovesBits = 2048; ///< values keep their bits, whatever MODE says of denormals

inline constexpr uint16_t kTakesDpp = 4096; ///< a handler that does everything itself, DPP too

/// Control goes on behind the instruction or Inst::imm dwords further, and nowhere else.
inline constexpr uint16_t kBranches = 8192;
inline constexpr uint16_t kStops = 16384; ///< stops the wave, which goes on with the next instruction later

/// A pair of instructions that compilers write together, executed by one threaded handler: the second one reads the
/// lane mask that the first one writes, and overwrites it. Both keep their records, so that whoever takes one
/// instruction at a time, or jumps to the second, finds them.
struct Fusion {
  std::string_view second; ///< its mnemonic
  Handler handlers[4];     ///< bit 0: source 0 of the first is the same in all lanes; bit 1: of the second
};

/// What translated code is made of (vgpu/translate/): executes an instruction that carries no modifier, if it goes on
/// to the one behind it. False: it has changed nothing, and is the handler's to execute. Of branches (kBranches), which
/// change nothing, false says that control goes to the target.
using Attempt = bool (*)(Wave &, const Inst *);

struct Row {
  std::string_view mnemonic;
  Handler handler; ///< executes the instruction when it carries no modifier
  LaneLoop loop;   ///< vector ALU: all lanes, EXEC ignored; null for handlers that do everything themselves
  Type dst = Type::None;
  Type src[3] = {};
  uint16_t traits = 0;
  LaneLoop clamped = nullptr; ///< integer results: the loop that the clamp bit asks for; null when there is none
  /// Threaded handlers for the plain case, eight of them, or null. Of rows with a lane loop, bit n of the index says
  /// that source n is the same in all lanes (an SGPR or a constant); others have only the first. Null: not worth
  /// having.
  const Handler *threaded = nullptr;
  const Fusion *fusion = nullptr; ///< with what may follow
  Attempt attempt = nullptr;      ///< only in the bitcode for the translator; null where it has none
  /// Of matrix instructions. The target says how such inputs are added up (isa/matrix.h), and the decoder leaves that
  /// in `Inst::imm`.
  isa::MatrixFormat matrix = isa::MatrixFormat::None;
  Fidelity fidelity = Fidelity::Exact;
  std::string_view reason = {}; ///< why it is not exact

  /// The same row with another fidelity than Exact: op<...>("v_rcp_f32").documented(why::kOneUlp).
  constexpr Row documented(std::string_view why) const { return withFidelity(Fidelity::Documented, why); }
  constexpr Row chosen(std::string_view why) const { return withFidelity(Fidelity::Chosen, why); }
  constexpr Row refused(std::string_view why) const { return withFidelity(Fidelity::Refused, why); }
  constexpr Row withFidelity(Fidelity kind, std::string_view why) const {
    Row row = *this;
    row.fidelity = kind;
    row.reason = why;
    return row;
  }
};

/// Whether this is being compiled to the bitcode that the translator reads. There, rows have attempts.
#ifdef LUTHIER_VGPU_BITCODE
inline constexpr bool kBitcode = true;
#else
inline constexpr bool kBitcode = false;
#endif

/// The attempt of a handler that only falls through or stops the wave. In the bitcode, those who stop it do nothing but
/// return null (translate/bitcode.cc).
template <Handler H> constexpr Attempt attemptOf() {
  if constexpr (kBitcode)
    return [](Wave &w, const Inst *i) { return H(w, i) != nullptr; };
  else
    return nullptr;
}

/// What executes `i` and returns.
inline Handler single(const Inst &i) { return i.threaded ? i.row->handler : i.fn; }

} // namespace luthier::vgpu
