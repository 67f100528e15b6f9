#include "vgpu/translate/guest_code.h"

#include "vgpu/exec/level.h"

#include <algorithm>

namespace luthier::vgpu {

namespace {

constexpr uint32_t kNowhere = GuestInstruction::kNowhere;

RegSet everything() {
  RegSet all;
  all.insert({Reg::S0, static_cast<uint16_t>(number(Reg::End))});
  return all;
}

RegSet vectorRegisters() {
  RegSet set;
  set.insert({Reg::V0, static_cast<uint16_t>(number(Reg::End) - number(Reg::V0))});
  return set;
}

/// Pairs of scalar registers that hold all ones, EXEC among them.
///
/// This is an expectation, from what compilers write to save and restore EXEC: whatever is not listed below is taken
/// to leave other values. Where it says that EXEC is full, translated code looks whether it is.
struct Ones {
  RegSet scalars;

  bool has(unsigned reg) const { return scalars.containsAll({sgpr(reg), 2}); }
  bool full() const { return has(kExec); }

  bool source(const Inst &inst, unsigned n) const {
    if (inst.srcKind[n] == SrcKind::Scalar)
      return has(inst.src[n].reg);
    return inst.srcKind[n] == SrcKind::Constant && inst.src[n].lanes[0] == ~0u && inst.src[n].lanes[kMaxLanes] == ~0u;
  }

  void step(const GuestInstruction &instruction) {
    const Inst &inst = instruction.record;
    const std::string_view name = inst.row->mnemonic;
    bool result = false, exec = false;
    if (name == "s_mov_b64")
      result = source(inst, 0);
    else if (name == "s_or_b64")
      result = source(inst, 0) || source(inst, 1);
    else if (name == "s_and_b64")
      result = source(inst, 0) && source(inst, 1);
    else if (name.starts_with("s_") && name.ends_with("_saveexec_b64")) {
      result = full();
      exec = (name == "s_or_saveexec_b64" && (full() || source(inst, 0))) ||
             (name == "s_and_saveexec_b64" && full() && source(inst, 0));
    }
    scalars -= instruction.writes;
    if (exec)
      scalars.insert({sgpr(kExec), 2});
    if (result)
      scalars.insert({sgpr(inst.dst), 2});
  }
};

void findExpectedExec(GuestCode &code) {
  std::vector<Ones> before(code.instructions.size());
  for (Ones &ones : before)
    ones.scalars = everything();
  before[code.entry].scalars = {};
  before[code.entry].scalars.insert({sgpr(kExec), 2});
  const auto meet = [&](uint32_t at, const Ones &ones) {
    if (at == kNowhere)
      return false;
    const RegSet met = before[at].scalars & ones.scalars;
    const bool changed = !(met == before[at].scalars);
    before[at].scalars = met;
    return changed;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t n = 0; n < code.instructions.size(); ++n) {
      GuestInstruction &instruction = code.instructions[n];
      Ones ones = before[n];
      instruction.full = ones.full();
      ones.step(instruction);
      instruction.fullAfter = ones.full();
      changed |= meet(instruction.next, ones);
      changed |= meet(instruction.target, ones);
    }
  }
}

void findLive(GuestCode &code) {
  static const RegSet all = everything(), vectors = vectorRegisters();
  for (bool changed = true; changed;) {
    changed = false;
    for (auto it = code.instructions.rbegin(); it != code.instructions.rend(); ++it) {
      GuestInstruction &i = *it;
      RegSet live;
      if (i.leaves || code.keepsAll) {
        live = all;
      } else if (!i.endsProgram) {
        for (const uint32_t successor : {i.next, i.target})
          if (successor != kNowhere)
            live |= code.instructions[successor].live;
        RegSet overwritten = i.writes;
        if (!i.full) // other lanes keep what they had
          overwritten -= vectors;
        live -= overwritten;
        live |= i.reads;
      }
      changed |= !(live == i.live);
      i.live = live;
    }
  }
}

void findWritten(GuestCode &code) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const GuestInstruction &i : code.instructions)
      for (const uint32_t successor : {i.next, i.target})
        if (successor != kNowhere) {
          GuestInstruction &to = code.instructions[successor];
          const RegSet written = to.written | i.written | i.writes;
          changed |= !(written == to.written);
          to.written = written;
        }
  }
}

} // namespace

namespace {

/// Registers and constants, and of modifiers those of single and double precision: abs, neg and clamp.
bool isUsual(const Inst &inst) {
  const Row &row = *inst.row;
  for (unsigned n = 0; n < 3; ++n)
    if (inst.srcKind[n] == SrcKind::Special || (row.src[n] == Type::Mask && inst.srcKind[n] != SrcKind::Scalar))
      return false;
  if (single(inst) == row.handler)
    return true;
  const auto takesModifiers = [](Type type) { return type == Type::F32 || type == Type::F64; };
  if (single(inst) != execLevel().general || (inst.flags & (kOpSelDst | kSdwa | kDpp | kKeepsOther)) || inst.omod)
    return false;
  for (unsigned n = 0; n < 3; ++n)
    if (inst.srcMods[n] && ((inst.srcMods[n] & ~(kAbs | kNeg)) || !takesModifiers(row.src[n])))
      return false;
  return !(inst.flags & kClamp) || takesModifiers(row.dst) || row.dst == Type::Mask;
}

} // namespace

GuestInstruction &GuestCode::add(const Inst &inst) {
  GuestInstruction &added = instructions.emplace_back();
  added.record = inst;
  added.original = &inst;
  added.usual = isUsual(inst);
  for (unsigned n = 0; n < 3; ++n)
    if (inst.srcKind[n] == SrcKind::Constant) {
      auto &lanes = constants_.emplace_back();
      std::copy_n(inst.src[n].lanes, lanes.size(), lanes.begin());
      added.record.src[n].lanes = lanes.data();
    }
  return added;
}

std::vector<uint16_t> vectorsOf(const RegSet &registers) {
  std::vector<uint16_t> vectors;
  for (Reg reg = registers.firstFrom(Reg::V0); reg != Reg::End; reg = registers.firstFrom(reg + 1))
    vectors.push_back(static_cast<uint16_t>(number(reg) - number(Reg::V0)));
  return vectors;
}

void analyse(GuestCode &code) {
  auto &all = code.instructions;
  all[code.entry].startsBlock = all[code.entry].entry = true;
  for (uint32_t n = 0; n < all.size(); ++n) {
    if (all[n].next != kNowhere && all[n].next != n + 1)
      all[all[n].next].startsBlock = true;
    if (all[n].target != kNowhere) {
      all[all[n].target].startsBlock = true;
      if (all[n].next != kNowhere)
        all[all[n].next].startsBlock = true;
      all[all[n].target].entry |= all[n].target <= n; // of a loop
    }
    const bool stops = all[n].record.row->traits & kStops;
    code.needsGroup |= stops;
    if (stops && all[n].next != kNowhere)
      all[all[n].next].startsBlock = all[all[n].next].entry = true;
  }
  findExpectedExec(code);
  findLive(code);
  findWritten(code);
}

} // namespace luthier::vgpu
