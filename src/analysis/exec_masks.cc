#include "analysis/exec_masks.h"

#include "analysis/block_flow.h"

#include <algorithm>
#include <string_view>

namespace luthier::analysis {

namespace {

constexpr auto kExec = static_cast<uint16_t>(Reg::ExecLo);

/// The operation of a scalar instruction on masks.
enum class Operation : uint8_t { None, Move, And, AndNotSecond, AndNotFirst, Xor, Or };

struct Form {
  Operation operation = Operation::None;
  bool saves = false; ///< EXEC is the second source and the result, and what it held goes to the destination
};

Form formOf(std::string_view name) {
  if (!name.ends_with("_b64") && !name.ends_with("_b32"))
    return {};
  name.remove_suffix(4);
  Form form;
  if (name.ends_with("_saveexec")) {
    form.saves = true;
    name.remove_suffix(9);
  }
  if (name == "s_mov")
    form.operation = form.saves ? Operation::None : Operation::Move;
  else if (name == "s_and")
    form.operation = Operation::And;
  else if (name == "s_andn2" || name == "s_and_not1")
    form.operation = Operation::AndNotSecond;
  else if (name == "s_andn1" || name == "s_and_not0")
    form.operation = Operation::AndNotFirst;
  else if (name == "s_xor")
    form.operation = Operation::Xor;
  else if (name == "s_or")
    form.operation = Operation::Or;
  return form.operation == Operation::None ? Form{} : form;
}

} // namespace

/// What both are within.
uint64_t ExecMasks::commonOuter(const Mask &a, const Mask &b) {
  return a.none() ? b.outer() : b.none() || a.outer() == b.outer() ? a.outer() : 0;
}

ExecMasks::Mask ExecMasks::andOf(const Mask &a, const Mask &b, bool negated, uint64_t name) {
  if (a.constant && b.constant)
    return {.constant = true, .value = a.value & (negated ? ~b.value : b.value)};
  const auto plain = [](const Mask &m) { return !m.constant && m.condition == 0; };
  if (plain(a) && plain(b))
    return {.negated = negated, .base = a.base, .condition = b.base, .within = a.within};
  // A and not (A and C)
  if (negated && plain(a) && !b.constant && b.base == a.base)
    return {.negated = !b.negated, .base = a.base, .condition = b.condition, .within = a.within};
  return {.base = name, .within = a.constant && !negated ? b.outer() : a.outer()};
}

ExecMasks::Mask ExecMasks::xorOf(const Mask &a, const Mask &b, uint64_t name) {
  if (a.constant && b.constant)
    return {.constant = true, .value = a.value ^ b.value};
  if (!a.constant && !b.constant && a.base == b.base && (a.condition == 0) != (b.condition == 0)) {
    const Mask &part = a.condition ? a : b;
    return {.negated = !part.negated, .base = part.base, .condition = part.condition, .within = part.within};
  }
  return {.base = name, .within = commonOuter(a, b)};
}

ExecMasks::Mask ExecMasks::orOf(const Mask &a, const Mask &b, uint64_t name) {
  if (a.constant && b.constant)
    return {.constant = true, .value = a.value | b.value};
  if (!a.constant && !b.constant && a.base == b.base) {
    if (a == b)
      return a;
    if (!a.condition || !b.condition || (a.condition == b.condition && a.negated != b.negated))
      return {.base = a.base, .within = a.within};
  }
  for (const auto &[part, all] : {std::pair(&a, &b), std::pair(&b, &a)})
    if (part->none() || (!all->constant && !all->condition && part->outer() == all->base))
      return *all;
  return {.base = name, .within = commonOuter(a, b)};
}

namespace {

/// What an instruction writes to a register, or what meets there at the start of a block; registers have the numbers
/// below.
uint64_t nameOf(uint32_t index, uint16_t reg) { return (index + 1ull) << 16 | reg; }
uint64_t meetingName(uint32_t block, uint16_t reg) { return 1ull << 63 | uint64_t{block} << 16 | reg; }

} // namespace

ExecMasks::Mask ExecMasks::read(const Masks &masks, uint16_t reg) {
  const auto found = masks.find(reg);
  return found != masks.end() ? found->second : initial(reg);
}

void ExecMasks::step(Masks &masks, const Instr &instr) const {
  const Form form = instr.is(Property::Scalar) ? formOf(instr.mnemonic()) : Form{};
  const RegRange *destination = nullptr;
  Mask sources[2];
  unsigned count = 0;
  bool known = form.operation != Operation::None;
  for (const Operand &operand : instr.operands()) {
    const bool isRegister = operand.kind == OperandKind::Register;
    const bool isConstant = operand.kind == OperandKind::Immediate || operand.kind == OperandKind::Literal;
    known &= isRegister ? operand.regs.count == words_ : isConstant;
    if (isRegister && operand.written && !operand.read && !destination) {
      destination = &operand.regs;
      continue;
    }
    known &= count < 2;
    if (!known)
      break;
    sources[count++] = isRegister ? read(masks, static_cast<uint16_t>(operand.regs.first))
                                  : Mask{.constant = true, .value = static_cast<uint64_t>(operand.value)};
  }
  const Mask saved = read(masks, kExec);
  if (known && form.saves && count == 1)
    sources[count++] = saved;
  known &= destination && count == (form.operation == Operation::Move ? 1u : 2u);

  const uint32_t index = cfg_->indexOf(instr);
  for (const RegRange range : instr.writes()) {
    if (!isScalar(range.first) || range.first == Reg::Scc)
      continue;
    // A pair may begin one register before.
    for (unsigned reg = number(range.first) - (words_ == 2 && range.first > Reg::S0);
         reg < number(range.first) + range.count; ++reg)
      masks[static_cast<uint16_t>(reg)] = {.base = nameOf(index, static_cast<uint16_t>(reg))};
    if (instr.mnemonic().starts_with("v_cmp_")) // lanes that are off give 0
      masks[static_cast<uint16_t>(range.first)].within = saved.outer();
  }
  if (!known)
    return;
  const uint16_t written = form.saves ? kExec : static_cast<uint16_t>(destination->first);
  const uint64_t name = nameOf(index, written);
  Mask result{.base = name};
  switch (form.operation) {
  case Operation::None:
    break;
  case Operation::Move:
    result = sources[0];
    break;
  case Operation::And: // the rules look for a base first; with s_and_saveexec it is EXEC
    result = form.saves ? andOf(sources[1], sources[0], false, name) : andOf(sources[0], sources[1], false, name);
    break;
  case Operation::AndNotSecond:
    result = andOf(sources[0], sources[1], true, name);
    break;
  case Operation::AndNotFirst:
    result = andOf(sources[1], sources[0], true, name);
    break;
  case Operation::Xor:
    result = xorOf(sources[0], sources[1], name);
    break;
  case Operation::Or:
    result = orOf(sources[0], sources[1], name);
    break;
  }
  masks[written] = result;
  if (form.saves)
    masks[static_cast<uint16_t>(destination->first)] = saved;
}

ExecMasks ExecMasks::compute(const Cfg &cfg) {
  ExecMasks result;
  result.cfg_ = &cfg;
  const auto blocks = cfg.blocks();
  if (blocks.empty())
    return result;
  for (const Instr &instr : cfg.instrs())
    if (instr.is(Property::Vector)) {
      // Waves of 32 lanes name half of EXEC.
      for (const RegRange range : instr.reads())
        if (range.first == Reg::ExecLo)
          result.words_ = range.count;
      break;
    }
  BlockFlow<Masks> flow(cfg);
  const auto enter = [&flow](uint32_t block, const Masks &masks) {
    flow.enter(block, masks, [block](Masks &start, const Masks &other) { return merge(start, other, block); });
  };
  enter(0, {});
  flow.run([&](uint32_t n, Masks masks) {
    for (uint32_t k = blocks[n].first; k <= blocks[n].last(); ++k)
      result.step(masks, cfg.instrs()[k]);
    if (blocks[n].call != CallKind::None)
      for (uint16_t reg = 0; reg < kExec; ++reg) // a callee keeps EXEC
        masks[reg] = {.base = nameOf(blocks[n].last(), reg)};
    for (const Edge &edge : cfg.successors(blocks[n]))
      enter(edge.to, masks);
  });
  result.start_ = flow.takeStarts();
  return result;
}

/// What differs is given a name by the block and the register; what is missing on one side differs too.
bool ExecMasks::merge(Masks &start, const Masks &other, uint32_t block) {
  bool changed = false;
  const auto meet = [&](uint16_t reg, Mask &mask, const Mask &there) {
    Mask joined{.base = meetingName(block, reg)};
    if (mask == there || mask == joined) {
      // What it is within can only become unknown.
      if (mask.within && !there.none() && mask.within != (mask == there ? there.within : there.outer())) {
        mask.within = 0;
        changed = true;
      }
      return;
    }
    joined.within = commonOuter(mask, there);
    mask = joined;
    changed = true;
  };
  for (auto &[reg, mask] : start)
    meet(reg, mask, read(other, reg));
  for (const auto &[reg, mask] : other)
    if (!start.contains(reg) && mask != initial(reg))
      meet(reg, start.emplace(reg, initial(reg)).first->second, mask);
  return changed;
}

ExecMasks::Mask ExecMasks::before(const Instr &instr) const {
  const uint32_t index = cfg_->indexOf(instr);
  const uint32_t block = cfg_->blockOf(index);
  Masks masks = start_[block];
  for (uint32_t k = cfg_->blocks()[block].first; k < index; ++k)
    step(masks, cfg_->instrs()[k]);
  return read(masks, kExec);
}

ExecMasks::Numbers ExecMasks::numbered() const {
  Numbers result;
  std::map<Mask, uint32_t> numbers{{initial(kExec), 0}};
  const auto numberOf = [&](const Masks &masks) {
    return numbers.try_emplace(read(masks, kExec), static_cast<uint32_t>(numbers.size())).first->second;
  };
  for (uint32_t block = 0; block < start_.size(); ++block) {
    Masks masks = start_[block];
    for (const Instr &instr : cfg_->instrs(cfg_->blocks()[block])) {
      result.before.push_back(numberOf(masks));
      step(masks, instr);
    }
    result.atEnd.push_back(numberOf(masks));
  }
  return result;
}

bool ExecMasks::disjoint(const Instr &a, const Instr &b) const {
  const Mask x = before(a), y = before(b);
  if (x.constant && y.constant)
    return (x.value & y.value) == 0;
  return !x.constant && !y.constant && x.base == y.base && x.condition && x.condition == y.condition &&
         x.negated != y.negated;
}

} // namespace luthier::analysis
