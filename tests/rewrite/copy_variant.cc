#include "copy_variant.h"

#include "isa/decode.h"

#include <array>
#include <cstring>

namespace luthier::rewrite::test {

namespace {

/// s_getpc_b64 s[n:n+1]; s_add_u32 sn, sn, literal; s_addc_u32 sn+1, sn+1, literal
bool isAddressOf(std::span<const Instr> three) {
  if (three.size() < 3 || three[0].opcode() != Opcode::S_GETPC_B64 || three[1].opcode() != Opcode::S_ADD_U32 ||
      three[2].opcode() != Opcode::S_ADDC_U32 || three[1].size() != 8 || three[2].size() != 8)
    return false;
  const RegRange pc = three[0].operands()[0].regs;
  auto adds = [](const Instr &instr, RegRange to) {
    return instr.operands()[0].regs == to && instr.operands()[1].regs == to;
  };
  return adds(three[1], {pc.first, 1}) && adds(three[2], {Reg(static_cast<uint16_t>(pc.first) + 1), 1});
}

uint32_t literalOf(const Instr &instr) {
  uint32_t literal;
  memcpy(&literal, instr.bytes().data() + 4, 4);
  return literal;
}

} // namespace

Result<Variant> variantWithCode(const object::CodeObject &object, const object::Symbol &kernel,
                                std::vector<uint8_t> code) {
  Variant variant;
  variant.kernel = &kernel;
  variant.descriptor = LUTHIER_TRY(object.descriptor(kernel));
  const object::Metadata metadata = LUTHIER_TRY(object.metadata());
  if (const object::KernelMetadata *found = metadata.kernel(kernel.name))
    variant.metadata = *found;
  variant.functions = {{&kernel, 0, code.size()}};
  variant.ranges = {{.kind = CodeRange::Kind::Original, .offset = 0, .size = code.size(), .original = kernel.address}};
  variant.code = std::move(code);
  return variant;
}

Result<Variant> copyOf(const object::CodeObject &object, const object::Symbol &kernel,
                       const object::Metadata &metadata) {
  Variant variant;
  variant.kernel = &kernel;
  variant.descriptor = LUTHIER_TRY(object.descriptor(kernel));
  if (const object::KernelMetadata *found = metadata.kernel(kernel.name))
    variant.metadata = *found;
  const auto code = LUTHIER_TRY(object.code(kernel));
  variant.code.assign(code.begin(), code.end());
  variant.functions = {{&kernel, 0, code.size()}};
  const auto decoder = LUTHIER_TRY(isa::Decoder::create(object.target(), variant.descriptor.waveSize(object.target())));
  const isa::InstrSequence sequence = LUTHIER_TRY(decoder->decode(code, kernel.address));
  const auto instrs = sequence.instrs();
  for (size_t n = 0; n < instrs.size(); ++n) {
    const Instr &instr = instrs[n];
    const uint64_t offset = instr.address() - kernel.address;
    if (const auto target = instr.target(); target && (*target < kernel.address || *target > kernel.end()))
      return makeError("{}: leaves its code at {:#x}", kernel.name, instr.address());
    if (instr.opcode() != Opcode::S_GETPC_B64) {
      variant.ranges.push_back({CodeRange::Kind::Original, offset, instr.size(), instr.address()});
      continue;
    }
    if (!isAddressOf(instrs.subspan(n)))
      return makeError("{}: uses the PC at {:#x} in a way that is not known here", kernel.name, instr.address());
    const uint64_t address = instr.end() + (uint64_t{literalOf(instrs[n + 2])} << 32 | literalOf(instrs[n + 1]));
    const auto pc = static_cast<uint32_t>(instr.bytes()[2] & 0x7f); // SDST of SOP1
    const std::array<uint32_t, 5> words{0xbe8000ff | pc << 16, 0, 0xbe8000ff | (pc + 1) << 16, 0, 0xbf800000};
    memcpy(variant.code.data() + offset, words.data(), sizeof words);
    for (const bool high : {false, true})
      variant.relocations.push_back({.offset = offset + (high ? 12 : 4), .high = high, .addend = address});
    variant.ranges.push_back({CodeRange::Kind::Replacement, offset, sizeof words, instr.address()});
    n += 2;
  }
  const uint64_t end = variant.ranges.empty() ? 0 : variant.ranges.back().offset + variant.ranges.back().size;
  if (end < code.size()) // padding
    variant.ranges.push_back({CodeRange::Kind::Original, end, code.size() - end, kernel.address + end});
  return variant;
}

} // namespace luthier::rewrite::test
