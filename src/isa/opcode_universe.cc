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
#include <map>
#include <set>
#include <span>

namespace luthier::isa {

namespace {

struct Space {
  Format format;
  uint32_t pattern;
  unsigned opcodeLow;
  unsigned opcodeBits;
  unsigned dwords;
  std::initializer_list<uint64_t> operands;
};

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

const Space kGfx9[] = {
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

std::span<const Space> spacesOf(EncodingFamily family) {
  switch (family) {
  case EncodingFamily::Gfx9:
    return kGfx9;
  default:
    return {}; // their spaces are not written down yet
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
  if (spacesOf(target.encoding).empty())
    return makeError("the space of {}'s opcodes is not described", target.name);
  std::unique_ptr<Disassembler> disassembler = LUTHIER_TRY(Disassembler::create(target));
  Walk walk(target, *disassembler);
  for (const Space &space : spacesOf(target.encoding))
    walk.visit(space);
  return std::move(walk).result();
}

} // namespace luthier::isa
