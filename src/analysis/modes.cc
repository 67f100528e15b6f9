#include "analysis/modes.h"

#include "analysis/block_flow.h"

#include "isa/form.h"

#include <algorithm>
#include <optional>

namespace luthier::analysis {

namespace {

using isa::HardwareRegister;

constexpr uint32_t kClampAndIeee = 0x300;
constexpr unsigned kFirstException = 12;

bool hasTrapControl(const isa::Target &target) {
  return std::ranges::find(target.hardwareRegisters->byNumber, HardwareRegister::TrapControl) !=
         target.hardwareRegisters->byNumber.end();
}

/// The field of a hardware register that s_setreg or s_getreg names.
struct HardwareField {
  unsigned id, first, bits;
  uint32_t mask() const { return static_cast<uint32_t>(((uint64_t{1} << bits) - 1) << first); }
};

std::optional<HardwareField> fieldOf(const Instr &instr) {
  const auto roles = isa::operandsOf(isa::formOf(instr.form_));
  for (size_t n = 0; n < instr.operands().size(); ++n)
    if (roles[n].role == isa::Role::HardwareRegister) {
      const auto value = static_cast<uint64_t>(instr.operands()[n].value);
      return HardwareField{static_cast<unsigned>(value & 0x3f), static_cast<unsigned>(value >> 6 & 0x1f),
                           static_cast<unsigned>(value >> 11 & 0x1f) + 1};
    }
  return {};
}

/// The bits that an instruction sets, and to what, if that is known.
struct ModeWrite {
  uint32_t mask = 0;
  std::optional<uint32_t> value;
};

ModeWrite writeOf(const Instr &instr, const isa::Target &target) {
  const auto roles = isa::operandsOf(isa::formOf(instr.form_));
  const auto immediate = [&]() -> std::optional<uint32_t> {
    for (size_t n = 0; n < instr.operands().size(); ++n)
      if (instr.operands()[n].kind != OperandKind::Register && roles[n].role != isa::Role::HardwareRegister)
        return static_cast<uint32_t>(instr.operands()[n].value);
    return {};
  };
  switch (instr.opcode()) {
  case Opcode::S_SETREG_B32:
  case Opcode::S_SETREG_IMM32_B32: {
    const auto field = fieldOf(instr);
    const HardwareRegister reg = field ? (*target.hardwareRegisters)[field->id] : HardwareRegister::None;
    const bool control = reg == HardwareRegister::TrapControl;
    if (reg != HardwareRegister::Mode && !control)
      return {};
    const unsigned shift = control ? kFirstException : 0;
    ModeWrite write{field->mask() << shift & (control ? kExceptionBits : settableModeBits(target)), {}};
    if (instr.opcode() == Opcode::S_SETREG_IMM32_B32)
      if (const auto value = immediate())
        write.value = (*value << field->first << shift) & write.mask;
    return write;
  }
  case Opcode::S_ROUND_MODE:
    return {0x0f, immediate() ? std::optional(*immediate() & 0xf) : std::nullopt};
  case Opcode::S_DENORM_MODE:
    return {0xf0, immediate() ? std::optional((*immediate() & 0xf) << 4) : std::nullopt};
  default:
    return {};
  }
}

} // namespace

uint32_t settableModeBits(const isa::Target &target) {
  uint32_t bits = kModeBits;
  if (!target.clampAndIeeeModes)
    bits &= ~kClampAndIeee;
  if (hasTrapControl(target))
    bits &= ~kExceptionBits;
  return bits;
}

ModeState ModeState::atStart(const object::KernelDescriptor &descriptor, const isa::Target &target) {
  namespace rsrc2 = object::rsrc2;
  uint32_t exceptions = 0;
  unsigned n = 0;
  for (const auto &field :
       {rsrc2::exceptionInvalid, rsrc2::exceptionDenormal, rsrc2::exceptionDivideByZero, rsrc2::exceptionOverflow,
        rsrc2::exceptionUnderflow, rsrc2::exceptionInexact, rsrc2::exceptionIntDivideByZero})
    exceptions |= field.get(descriptor.rsrc2) << n++;
  const uint32_t mode = target.clampAndIeeeModes ? descriptor.mode() : descriptor.mode() | kClampAndIeee;
  return of(mode | exceptions << kFirstException);
}

bool ModeState::merge(const ModeState &other) {
  const ModeState was = *this;
  known &= other.known & ~(value ^ other.value);
  value &= known;
  return *this != was;
}

void ModeState::step(const Instr &instr, const isa::Target &target) {
  const ModeWrite write = writeOf(instr, target);
  if (!write.mask)
    return;
  known &= ~write.mask;
  value &= ~write.mask;
  if (write.value) {
    known |= write.mask;
    value |= *write.value;
  }
}

uint32_t modeBitsWritten(const Instr &instr, const isa::Target &target) { return writeOf(instr, target).mask; }

bool readsExceptionFlags(const Instr &instr, const isa::Target &target) {
  if (instr.opcode() != Opcode::S_GETREG_B32)
    return false;
  const auto field = fieldOf(instr);
  const HardwareRegister reg = field ? (*target.hardwareRegisters)[field->id] : HardwareRegister::None;
  return reg == HardwareRegister::TrapStatus || reg == HardwareRegister::ExceptionsUser;
}

Modes Modes::compute(const Cfg &cfg, const isa::Target &target, const ModeState &entry, const ModeState &elsewhere,
                     bool behindCalls) {
  Modes result;
  result.cfg_ = &cfg;
  result.target_ = &target;
  result.behindCalls_ = behindCalls;
  result.elsewhere_ = elsewhere;
  result.changes_ =
      std::ranges::any_of(cfg.instrs(), [&](const Instr &instr) { return modeBitsWritten(instr, target) != 0; });
  const auto blocks = cfg.blocks();
  result.start_.assign(blocks.size(), entry);
  if (!result.changes_ && !behindCalls)
    return result;
  BlockFlow<ModeState> flow(cfg, entry);
  for (uint32_t n = 0; n < blocks.size(); ++n)
    if (n == 0 || blocks[n].addressTaken || !blocks[n].reachable)
      flow.enter(n, n ? elsewhere : entry);
  flow.run([&](uint32_t n, const ModeState &start) {
    const ModeState state = result.behind(n, start);
    for (const Edge &edge : cfg.successors(blocks[n]))
      flow.enter(edge.to, state);
  });
  result.start_ = flow.takeStarts();
  return result;
}

ModeState Modes::atEnd(uint32_t block) const { return behind(block, start_[block]); }

ModeState Modes::behind(uint32_t block, ModeState state) const {
  if (changes_)
    for (const Instr &instr : cfg_->instrs(cfg_->blocks()[block]))
      state.step(instr, *target_);
  if (behindCalls_ && cfg_->blocks()[block].call != CallKind::None)
    state = elsewhere_;
  return state;
}

ModeState Modes::before(const Instr &instr) const {
  const uint32_t index = cfg_->indexOf(instr);
  const uint32_t block = cfg_->blockOf(index);
  ModeState state = start_[block];
  for (uint32_t n = cfg_->blocks()[block].first; changes_ && n < index; ++n)
    state.step(cfg_->instrs()[n], *target_);
  return state;
}

} // namespace luthier::analysis
