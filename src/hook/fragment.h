// A compiled hook: straight machine code that is entered at its first byte and left behind its last one.
//
// A fragment has registers of its own choosing, from s0 and v0 up. Who places it renames them; what must be known for
// that is read off the code: which registers carry what at the entry and at the end, what is written, what is in flight
// at the end.
#pragma once

#include "hook/module.h"
#include "isa/decode.h"
#include "luthier/launch_value.h"
#include "luthier/reg.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace luthier::hook {

/// How the value of a hook's parameter comes to be.
enum class SourceKind : uint8_t {
  Scalar, ///< in SGPRs: constants, scalar registers, EXEC, ...
  Vector, ///< in VGPRs
  // The effective address of a memory access, computed by the fragment from the access's parts (Part). As the
  // manual has it, immediate offset included.
  FlatAddress,    ///< FLAT and GLOBAL with a 64-bit vector address; 64 bits
  GlobalAddress,  ///< GLOBAL with a scalar base and a 32-bit vector offset; 64 bits
  LdsAddress,     ///< bytes from the workgroup's LDS start; 32 bits
  ScratchAddress, ///< bytes from the lane's own scratch start; 32 bits
  BufferAddress,  ///< 64 bits
  ScalarAddress,  ///< SMEM; 64 bits, one for the wave
  KernelArgument, ///< loaded by the fragment: Saddr is where the kernel's arguments are
};

/// What a source needs besides its kind; part of a fragment's identity.
struct Source {
  SourceKind kind = SourceKind::Scalar;
  bool vaddr = false;    ///< addresses: there is a vector part (LDS, scratch, buffer)
  bool saddr = false;    ///< there is a scalar base or offset (scratch; M0 for LDS; soffset of SMEM and buffers)
  bool idxen = false;    ///< buffers
  bool offen = false;    ///< buffers
  bool offset = false;   ///< the immediate offset is not 0
  bool typed = false;    ///< buffers: tbuffer_*, whose stride never includes the data format
  bool resource = false; ///< SMEM: the base is a buffer resource's (s_buffer_*): 48 bits
  bool unit64 = false;   ///< SMEM: soffset counts 64 bytes (s_scratch_*)
  bool narrow = false;   ///< SMEM: less than a dword is loaded, from any byte (s_load_u8)
  uint8_t bytes = 0;     ///< KernelArgument: its size
  bool byLane = false;   ///< LDS without a vector part: lane n is at + 4 * n (ds_read_addtid_b32)
  bool operator==(const Source &) const = default;
  auto operator<=>(const Source &) const = default;
};

/// Which part of a parameter's source an input carries.
enum class Part : uint8_t {
  Value,   ///< Scalar, Vector
  Vaddr,   ///< in VGPRs: as in the instruction (64 bits for FlatAddress; with idxen and offen both: index, offset)
  Saddr,   ///< in SGPRs: 64-bit base (global, SMEM), 32-bit offset (scratch; M0 for LDS), the resource's four (buffer)
  Soffset, ///< in an SGPR: soffset of SMEM and buffers
  Offset,  ///< in an SGPR: the immediate, sign-extended to 32 bits
};

/// What a fragment takes from its surroundings or leaves there. SCC is a number in an SGPR, an AccVGPR a VGPR. An input
/// that is no output has its value at the end too, and its registers are in Fragment::writes only if the code needs
/// them in between.
struct Port {
  enum class Kind : uint8_t {
    Parameter,    ///< input: `index` is the hook's parameter, `part` says which part of its source
    Result,       ///< output: what the hook returns
    WaveVariable, ///< in and out: `index` is the variable's number in HookModule::variables()
    LaunchBlock,  ///< input: address of the PerLaunch variables, 64 bits
    Register,     ///< in: read by luthier::readReg; out: written by luthier::writeReg. `guest` says which
    Launch,       ///< input: `launch` says what
    LaneVariable, ///< as WaveVariable, with a value per lane
    LdsBlock,     ///< input: where the Lds variables are in the workgroup's LDS, 32 bits
    GroupBlock,   ///< input: address of the workgroup's PerWorkgroup variables, 64 bits
    Frame,        ///< input: where Fragment::frameBytes of the hook's own start, in bytes from the lane's scratch start
  };
  Kind kind = Kind::Parameter;
  uint16_t index = 0;
  Part part = Part::Value;
  RegRange guest = {};
  uint8_t launch = 0; ///< a LaunchValue
  RegRange regs = {}; ///< the fragment's own
  bool operator==(const Port &) const = default;
};

using luthier::isLaunchArgument;
using luthier::isWorkitemId;
using luthier::kLaunchValueNames;
using luthier::LaunchValue;

/// A literal in the code that is half of an address of a variable.
struct FragmentRelocation {
  uint32_t offset = 0;   ///< of the four bytes, in the code
  bool high = false;     ///< the upper 32 bits
  uint32_t variable = 0; ///< number in HookModule::variables(); Storage::Device, or PerSite: of the place's copy
  int64_t addend = 0;
  bool operator==(const FragmentRelocation &) const = default;
};

/// Of scratch per lane. The hardware has room for about twice as much, which the kernel's own is part of.
inline constexpr uint32_t kMaxFrameBytes = 1 << 16;
/// Of the frame's start, and hence of what is in it at most.
inline constexpr uint32_t kFrameAlignment = 64;

struct Fragment {
  std::string hook;
  HookKind kind = HookKind::Lane;
  std::vector<uint8_t> bytes;
  isa::InstrSequence code;           ///< of `bytes`, at address 0; branches stay within, or go to its end
  std::vector<Port> inputs, outputs; ///< a port in both lists has the same registers in both
  std::vector<FragmentRelocation> relocations;
  uint32_t frameBytes = 0; ///< scratch that each lane needs for local variables; 0: there is no port Frame
  /// No hook, but assembly of the tool: its registers are the kernel's own and stay what they are; there are no ports.
  bool asWritten = false;

  // Read off the code.
  RegSet reads;               ///< everything that is read anywhere
  RegSet writes;              ///< everything that is written anywhere, SCC, VCC, M0 and EXEC among it
  bool vector = false;        ///< has instructions that depend on EXEC: a wave hook without runs under any EXEC
  bool crossLane = false;     ///< writes lanes that EXEC has off, or reads them (readlane, DPP, permute)
  bool safeWhenEmpty = false; ///< a lane hook that does nothing when no lane is active: needs no branch around it
  bool loops = false;
  unsigned sgprs = 0, vgprs = 0; ///< highest number used, plus one
  bool pendingVector = false;    ///< vector memory operations may be in flight at its end (stores, atomics)
  bool pendingScalar = false;    ///< scalar memory or LDS operations may be
};

} // namespace luthier::hook
