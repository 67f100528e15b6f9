// Finds every instruction of a target by asking LLVM's disassembler about the whole space of opcodes.
//
// LLVM's list of opcodes cannot be used as it is: it has the instructions of all generations and thousands of pseudo
// instructions in one enumeration, and which of them a target encodes is decided in the decoder tables. So the decoder
// is asked. A microcode format is a fixed pattern, an opcode field of at most 10 bits and operands; the walk tries
// every number in the opcode field of every format (manual, chapter "Microcode Formats"), assigned or not. Operands
// matter to some instructions: an odd register can make a 64-bit operation invalid, the LDS, GDS and TFE bits, the
// segment of FLAT or the absence of a scalar address choose other forms, and SDWA and DPP hide behind a source number.
// Each opcode is therefore tried with a few starting operands per format, and with each of these once more for every
// operand bit, flipped. An instruction that is valid only with a combination of two unusual bits would escape; that
// none does is checked by the test, which asks LLVM's assembler, an independent table, about every mnemonic of every
// generation.

#include "isa/opcode_universe.h"

#include "isa/disassembler.h"
#include "isa/target.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <set>
#include <vector>

namespace luthier::isa {

namespace {

struct Space {
  Format format;
  uint32_t pattern;
  unsigned opcodeLow;
  unsigned opcodeBits;
  unsigned dwords;
  std::vector<uint64_t> operands;
};
using Spaces = std::vector<Space>;

/// Those of an older generation, but for formats that are new or have changed.
Spaces withSpaces(const Spaces &older, const Spaces &changed) {
  Spaces result;
  const auto has = [](const Spaces &spaces, Format format) {
    return std::ranges::find(spaces, format, &Space::format) != spaces.end();
  };
  const auto addChanged = [&](Format format) {
    if (!has(result, format))
      std::ranges::copy_if(changed, std::back_inserter(result), [&](const Space &s) { return s.format == format; });
  };
  for (const Space &space : older)
    if (has(changed, space.format))
      addChanged(space.format);
    else
      result.push_back(space);
  for (const Space &space : changed)
    addChanged(space.format);
  return result;
}

constexpr uint64_t second(uint64_t dword) { return dword << 32; }

// What VOP1, VOP2 and VOPC have in SRC0: s0, v0, SDWA with whole registers (VOP1 must not select a second one), DPP
// with quad_perm and with row_newbcast (the only control that 64-bit operations take), a literal.
constexpr uint64_t kSdwaOne = src::kSdwa | second(0x00060600);
constexpr uint64_t kSdwaTwo = src::kSdwa | second(0x06060600);
constexpr uint64_t kDppQuad = src::kDpp | second(0xff00e400);
constexpr uint64_t kDppBroadcast = src::kDpp | second(0xff015000);
constexpr uint64_t kV0 = src::kVgpr0;

// VOP3's sources: all VGPRs, all SGPRs, and a constant in each place where a lane mask or an index may stand.
constexpr uint64_t kVop3Vgprs = second(kV0 | kV0 << 9 | kV0 << 18);
constexpr uint64_t kVop3Lane = second(kV0 | src::kIntZero << 9 | src::kIntZero << 18);

constexpr uint64_t kNoSaddr = second(0x7f0000);
constexpr uint64_t flatSegment(uint64_t segment) { return segment << 14; }

Spaces gfx9() {
  return {
      {Format::Sop1, 0xbe800000, 8, 8, 2, {0, src::kIntZero, src::kLiteral}},
      {Format::Sop2, 0x80000000, 23, 7, 2, {0, src::kIntZero, src::kLiteral}},
      {Format::Sopc, 0xbf000000, 16, 7, 2, {0, src::kIntZero, src::kLiteral}},
      {Format::Sopk, 0xb0000000, 23, 5, 2, {0}},
      {Format::Sopp, 0xbf800000, 16, 7, 1, {0, 1}},
      {Format::Smem, 0xc0000000, 18, 8, 2, {0, 1u << 14, 1u << 17, 1u << 14 | 1u << 17}},
      // v0 first: some LLVM disassembles with any source, but they take a VGPR (v_swap_b32).
      {Format::Vop1, 0x7e000000, 9, 8, 2, {kV0, 0, kSdwaOne, kSdwaTwo, kDppQuad, kDppBroadcast, src::kLiteral}},
      {Format::Vop2, 0x00000000, 25, 6, 2, {0, kV0, kSdwaOne, kSdwaTwo, kDppQuad, kDppBroadcast, src::kLiteral}},
      {Format::Vopc, 0x7c000000, 17, 8, 2, {0, kV0, kSdwaOne, kSdwaTwo, kDppQuad, kDppBroadcast, src::kLiteral}},
      {Format::Vop3, 0xd0000000, 16, 10, 2, {0, kVop3Vgprs, kVop3Lane}},
      {Format::Vop3p, 0xd3800000, 16, 7, 2, {0, kVop3Vgprs, kVop3Lane}},
      {Format::Vinterp, 0xd4000000, 16, 2, 1, {0}},
      {Format::Ds, 0xd8000000, 17, 8, 2, {0, 1u << 16}},
      {Format::Flat,
       0xdc000000,
       18,
       7,
       2,
       {flatSegment(0), flatSegment(0) | kNoSaddr, flatSegment(1), flatSegment(1) | kNoSaddr, flatSegment(2),
        flatSegment(2) | kNoSaddr}},
      {Format::Mubuf, 0xe0000000, 18, 7, 2, {0, 1u << 12, 1u << 13, 3u << 12}},
      {Format::Mtbuf, 0xe8000000, 15, 4, 2, {1u << 19, 1u << 19 | 1u << 12, 1u << 19 | 1u << 13, 1u << 19 | 3u << 12}},
      {Format::Mimg, 0xf0000000, 18, 7, 2, {0, 1u << 8, 0xf00, 1}},
      {Format::Export, 0xc4000000, 0, 0, 2, {0, 0xf}},
  };
}

// From gfx10 on there is DPP8, and v_cmpx in VOP3 names EXEC as its result. gfx11 has DPP in VOP3 too, behind its two
// dwords; zeros select there.
constexpr uint64_t kDpp8 = src::kDpp8 | second(0xfac68800);
constexpr uint64_t kExec = src::kExecLo;
constexpr uint64_t kVop3Exec = kVop3Vgprs | kExec;
constexpr uint64_t kVop3Dpp = second(src::kDpp | kV0 << 9 | kV0 << 18);
constexpr uint64_t kVop3Dpp8 = second(src::kDpp8 | kV0 << 9 | kV0 << 18);
constexpr uint64_t kVop3pHigh = kVop3Vgprs | second(3u << 27) | 1u << 14; ///< op_sel_hi, which matrices must have
constexpr uint64_t kMinusOne = 193;                                       ///< the barrier of a workgroup
constexpr uint64_t kNull10 = 0x7d, kNull11 = 0x7c;
constexpr uint64_t flatGfx10(uint64_t segment, uint64_t saddr) { return segment << 14 | second(saddr << 16); }
constexpr uint64_t flatGfx11(uint64_t segment, uint64_t saddr) { return segment << 16 | second(saddr << 16); }
constexpr uint64_t flatGfx12(uint64_t segment, uint64_t saddr) { return segment << 24 | saddr; }

Spaces gfx10() {
  return withSpaces(
      gfx9(),
      {
          {Format::Smem, 0xf4000000, 18, 8, 2, {0, second(kNull10 << 25)}},
          {Format::Vop1, 0x7e000000, 9, 8, 2, {kV0, 0, kSdwaOne, kSdwaTwo, kDppQuad, kDpp8, src::kLiteral}},
          {Format::Vop2, 0x00000000, 25, 6, 2, {0, kV0, kSdwaOne, kSdwaTwo, kDppQuad, kDpp8, src::kLiteral}},
          {Format::Vopc, 0x7c000000, 17, 8, 2, {0, kV0, kSdwaOne, kSdwaTwo, src::kLiteral}},
          {Format::Vop3, 0xd4000000, 16, 10, 2, {0, kVop3Vgprs, kVop3Lane, kVop3Exec}},
          {Format::Vop3p, 0xcc000000, 16, 7, 2, {0, kVop3Vgprs, kVop3Lane}},
          {Format::Vinterp, 0xc8000000, 16, 2, 1, {0}},
          {Format::Ds, 0xd8000000, 18, 8, 2, {0, 1u << 17}},
          {Format::Flat,
           0xdc000000,
           18,
           7,
           2,
           {flatGfx10(0, 0), flatGfx10(0, kNull10), flatGfx10(1, 0), flatGfx10(1, kNull10), flatGfx10(1, 0x7f),
            flatGfx10(2, 0), flatGfx10(2, kNull10), flatGfx10(2, 0x7f)}},
          {Format::Mubuf, 0xe0000000, 18, 8, 2, {0, 1u << 12, 1u << 13, 3u << 12}},
          {Format::Mtbuf,
           0xe8000000,
           16,
           3,
           2,
           {1u << 19, 1u << 19 | 1u << 12, 1u << 19 | 1u << 13, 1u << 19 | 3u << 12, 1u << 19 | second(1u << 21),
            1u << 19 | 1u << 12 | second(1u << 21), 1u << 19 | 1u << 13 | second(1u << 21),
            1u << 19 | 3u << 12 | second(1u << 21)}},
          {Format::Mimg, 0xf0000000, 18, 7, 2, {0, 1u << 8, 0xf00, 1, 1u << 8 | 1, 0xf01, 0xf00 | 1u << 15, 0x9f01}},
          {Format::Export, 0xf8000000, 0, 0, 2, {0, 0xf}},
      });
}

Spaces gfx11() {
  return withSpaces(
      gfx10(), {
                   {Format::Smem, 0xf4000000, 18, 8, 2, {0, second(kNull11 << 25)}},
                   {Format::Vop1, 0x7e000000, 9, 8, 2, {kV0, 0, kDppQuad, kDpp8, src::kLiteral}},
                   {Format::Vop2, 0x00000000, 25, 6, 2, {0, kV0, kDppQuad, kDpp8, src::kLiteral}},
                   {Format::Vopc, 0x7c000000, 17, 8, 2, {0, kV0, kDppQuad, kDpp8, src::kLiteral}},
                   {Format::Vop3,
                    0xd4000000,
                    16,
                    10,
                    2,
                    {0, kVop3Vgprs, kVop3Lane, kVop3Exec, kVop3Dpp, kVop3Dpp | kExec, kVop3Dpp8, kVop3Dpp8 | kExec}},
                   {Format::Vop3p, 0xcc000000, 16, 7, 2, {0, kVop3Vgprs, kVop3pHigh, kVop3Lane, kVop3Dpp, kVop3Dpp8}},
                   {Format::Vopd, 0xc8000000, 17, 9, 2, {0, kV0 | second(kV0)}},
                   {Format::Vinterp, 0xcd000000, 16, 7, 2, {0, kVop3Vgprs}},
                   {Format::LdsDirect, 0xce000000, 20, 2, 1, {0}},
                   {Format::Flat,
                    0xdc000000,
                    18,
                    7,
                    2,
                    {flatGfx11(0, 0), flatGfx11(0, kNull11), flatGfx11(2, 0), flatGfx11(2, kNull11), flatGfx11(1, 0),
                     flatGfx11(1, kNull11)}},
                   {Format::Mubuf, 0xe0000000, 18, 8, 2, {0, second(1u << 22), second(1u << 23), second(3u << 22)}},
                   {Format::Mtbuf,
                    0xe8000000,
                    15,
                    4,
                    2,
                    {1u << 19, 1u << 19 | second(1u << 22), 1u << 19 | second(1u << 23), 1u << 19 | second(3u << 22)}},
                   {Format::Mimg,
                    0xf0000000,
                    18,
                    8,
                    2,
                    {0, 1u << 8, 0xf00, 1, 0xf01, 0xf00 | 1u << 17, 0xf00 | 1u << 16, 0x8f81}},
               });
}

Spaces gfx12() {
  return withSpaces(
      gfx11(),
      {
          {Format::Sop1, 0xbe800000, 8, 8, 2, {0, src::kIntZero, kMinusOne, src::kLiteral}},
          {Format::Smem, 0xf4000000, 13, 6, 2, {0, second(kNull11 << 25)}},
          {Format::Ds, 0xd8000000, 18, 8, 2, {0}},
          {Format::Flat,
           0xec000000,
           14,
           8,
           2,
           {flatGfx12(0, 0), flatGfx12(0, kNull11), flatGfx12(2, 0), flatGfx12(2, kNull11), flatGfx12(1, 0),
            flatGfx12(1, kNull11)}},
          {Format::Mubuf,
           0xc4000000,
           14,
           7,
           2,
           {kNull11, kNull11 | second(1u << 30), kNull11 | second(1u << 31), kNull11 | second(3u << 30)}},
          {Format::Mtbuf,
           0xc4200000,
           14,
           7,
           2,
           {kNull11 | second(1u << 23), kNull11 | second(1u << 23 | 1u << 30), kNull11 | second(1u << 23 | 1u << 31),
            kNull11 | second(1u << 23 | 3u << 30)}},
          {Format::Mimg, 0xd0000000, 14, 8, 2, {0, 1u << 22, 0xfu << 22, 0xfu << 22 | 1, 0xfu << 22 | 1u << 4}},
          {Format::Mimg, 0xe4000000, 14, 8, 2, {0, 1u << 22, 0xfu << 22, 0xfu << 22 | 1}},
      });
}

Spaces spacesOf(EncodingFamily family) {
  switch (family) {
  case EncodingFamily::Gfx9:
    return gfx9();
  case EncodingFamily::Gfx10:
    return gfx10();
  case EncodingFamily::Gfx11:
    return gfx11();
  case EncodingFamily::Gfx12:
    return gfx12();
  case EncodingFamily::Gfx8: // no target that executes has it
    break;
  }
  return {};
}

class Walk {
public:
  Walk(const Target &target, Disassembler &disassembler) : target_(target), disassembler_(disassembler) {}

  void visit(const Space &space) {
    const uint64_t opcodeMask = ((1ull << space.opcodeBits) - 1) << space.opcodeLow;
    for (uint64_t opcode = 0; opcode < 1ull << space.opcodeBits; ++opcode)
      for (const uint64_t operands : space.operands) {
        const uint64_t bits = space.pattern | opcode << space.opcodeLow | operands;
        probe(space.format, bits);
        for (unsigned bit = 0; bit < 32 * space.dwords; ++bit)
          if (!(1ull << bit & opcodeMask))
            probe(space.format, bits ^ 1ull << bit);
      }
  }

  OpcodeUniverse result() && {
    for (auto &[mnemonic, opcode] : opcodes_)
      universe_.opcodes.push_back(std::move(opcode));
    universe_.forms = forms_.size();
    return std::move(universe_);
  }

private:
  void probe(Format format, uint64_t bits) {
    // A flipped bit can lead into another format, whose opcodes have their own turn.
    if (formatOf(target_, static_cast<uint32_t>(bits)) != format)
      return;
    uint8_t bytes[16] = {};
    memcpy(bytes, &bits, sizeof bits);
    ++universe_.probes;
    auto found = disassembler_.disassemble(bytes, 0);
    if (!found)
      return;
    ++universe_.valid;
    if (!forms_.insert(found->form).second)
      return;
    OpcodeEntry &opcode = opcodes_[found->mnemonic];
    opcode.mnemonic = found->mnemonic;
    opcode.forms.push_back({format, bits});
  }

  const Target &target_;
  Disassembler &disassembler_;
  OpcodeUniverse universe_;
  std::map<std::string, OpcodeEntry> opcodes_;
  std::set<uint32_t> forms_;
};

} // namespace

const OpcodeEntry *OpcodeUniverse::find(std::string_view mnemonic) const {
  auto it = std::lower_bound(opcodes.begin(), opcodes.end(), mnemonic,
                             [](const OpcodeEntry &opcode, std::string_view name) { return opcode.mnemonic < name; });
  return it != opcodes.end() && it->mnemonic == mnemonic ? &*it : nullptr;
}

Result<OpcodeUniverse> opcodeUniverse(const Target &target) {
  const Spaces spaces = spacesOf(target.encoding);
  if (spaces.empty())
    return makeError("the space of {}'s opcodes is not described", target.name);
  std::unique_ptr<Disassembler> disassembler = LUTHIER_TRY(Disassembler::create(target));
  Walk walk(target, *disassembler);
  for (const Space &space : spaces)
    walk.visit(space);
  return std::move(walk).result();
}

} // namespace luthier::isa
