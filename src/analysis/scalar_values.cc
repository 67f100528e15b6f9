#include "analysis/scalar_values.h"

#include "analysis/effects.h"

#include <algorithm>
#include <array>
#include <map>

namespace luthier::analysis {

namespace {

constexpr unsigned kRegs = 108;      // s0 to s105 and VCC
constexpr unsigned kPreserved = 34;  // by calls, from here on up to VCC
constexpr unsigned kReturnPair = 30; // s[30:31] at a function's entry

enum class What : uint8_t { Unknown, Constant, ReturnLo, ReturnHi };

struct Value {
  What what = What::Unknown;
  uint32_t bits = 0;
  bool operator==(const Value &) const = default;
};
constexpr Value kUnknown = {};
constexpr Value constant(uint32_t bits) { return {What::Constant, bits}; }

struct State {
  std::array<Value, kRegs> regs = {};
  Value scc;
  bool reached = false;
};

} // namespace

/// Runs the instructions of one function over States.
class ScalarInterpreter {
public:
  ScalarInterpreter(const Cfg &cfg, const ScalarValues::Context &context) : cfg_(cfg), context_(context) {}

  ScalarValues run() {
    const auto blocks = cfg_.blocks();
    std::vector<State> in(blocks.size());
    State entry;
    entry.reached = true;
    if (!context_.kernel) {
      entry.regs[context_.returnPair] = {What::ReturnLo, 0};
      entry.regs[context_.returnPair + 1] = {What::ReturnHi, 0};
    }
    collectLanes();
    in[0] = entry;
    // Blocks that an unresolved jump may go to, or that nothing visible does, start without knowledge.
    for (size_t n = 0; n < blocks.size(); ++n)
      if (n != 0 && (blocks[n].addressTaken || !blocks[n].reachable))
        in[n].reached = true;

    std::vector<uint8_t> dirty(blocks.size(), 1);
    const auto order = cfg_.postorder();
    for (bool again = true; again;) {
      again = false;
      for (size_t i = order.size(); i-- > 0;) {
        const uint32_t n = order[i];
        if (!dirty[n] || !in[n].reached)
          continue;
        dirty[n] = 0;
        State state = in[n];
        for (uint32_t k = blocks[n].first; k <= blocks[n].last(); ++k)
          step(k, state);
        for (const Edge &edge : cfg_.successors(blocks[n]))
          if (cfg_.mayBeTaken(edge) && meet(in[edge.to], state)) {
            dirty[edge.to] = 1;
            again = true;
          }
      }
    }
    recording_ = true;
    for (size_t n = 0; n < blocks.size(); ++n) {
      State state = in[n];
      for (uint32_t k = blocks[n].first; k <= blocks[n].last(); ++k)
        step(k, state);
    }
    result_.addSeen({});
    return std::move(result_);
  }

private:
  static Value &reg(State &state, Reg r) {
    static thread_local Value nowhere;
    nowhere = kUnknown;
    return number(r) < kRegs ? state.regs[number(r)] : nowhere;
  }

  static std::optional<uint64_t> pair(const State &state, unsigned low) {
    if (low + 1 >= kRegs || state.regs[low].what != What::Constant || state.regs[low + 1].what != What::Constant)
      return {};
    return state.regs[low].bits | static_cast<uint64_t>(state.regs[low + 1].bits) << 32;
  }

  /// An address in the pair of `r` leaves the analysis' sight.
  void take(const State &state, unsigned r) {
    if (const auto address = pair(state, r & ~1u))
      result_.taken_.push_back(*address);
  }

  bool meet(State &into, const State &from) {
    if (!into.reached) {
      into = from;
      into.reached = true;
      return true;
    }
    bool changed = false;
    for (unsigned n = 0; n < kRegs; ++n)
      if (into.regs[n].what != What::Unknown && !(into.regs[n] == from.regs[n])) {
        take(into, n);
        take(from, n);
        into.regs[n] = kUnknown;
        changed = true;
      }
    if (into.scc.what != What::Unknown && !(into.scc == from.scc)) {
      into.scc = kUnknown;
      changed = true;
    }
    return changed;
  }

  Value value(const State &state, const Operand &operand) const {
    switch (operand.kind) {
    case OperandKind::Immediate:
    case OperandKind::Literal:
      return constant(static_cast<uint32_t>(operand.value));
    case OperandKind::Register:
      return number(operand.regs.first) < kRegs && operand.regs.count == 1 ? state.regs[number(operand.regs.first)]
                                                                           : kUnknown;
    default:
      return kUnknown;
    }
  }

  /// 64 bits of a source. Whether literals are extended with a sign is not told: none that would have one.
  std::optional<uint64_t> wideValue(const State &state, const Operand &operand) const {
    if (operand.kind == OperandKind::Register)
      return operand.regs.count == 2 ? pair(state, number(operand.regs.first)) : std::nullopt;
    if (operand.kind == OperandKind::Literal)
      return operand.value >> 31 & 1 ? std::nullopt : std::optional(static_cast<uint64_t>(operand.value));
    return operand.kind == OperandKind::Immediate ? std::optional(static_cast<uint64_t>(operand.value)) : std::nullopt;
  }

  /// Return addresses that are saved in lanes of VGPRs: (VGPR, lane) to what v_writelane_b32 puts there,
  /// flow-insensitively.
  void collectLanes() {
    if (context_.kernel)
      return;
    // s30 and s31 are saved before anything else happens to them: by whoever writes them first in address order.
    bool fresh[2] = {true, true};
    for (const Instr &instr : cfg_.instrs()) {
      const uint8_t t = traits(instr.opcode());
      const auto operands = instr.operands();
      if ((t & kWritesLane) && operands.size() >= 3 && operands[1].kind == OperandKind::Register) {
        const unsigned source = number(operands[1].regs.first);
        const unsigned half = source - kReturnPair;
        const Value stored = source >= kReturnPair && half < 2 && fresh[half]
                                 ? Value{half ? What::ReturnHi : What::ReturnLo, 0}
                                 : kUnknown;
        const auto slot = std::pair(number(operands[0].regs.first), laneOf(operands[2]));
        const auto [at, inserted] = lanes_.try_emplace(slot, stored);
        if (!inserted && !(at->second == stored))
          at->second = kUnknown;
      }
      for (RegRange range : instr.writes())
        for (unsigned half = 0; half < 2; ++half)
          if (range.contains(sgpr(kReturnPair + half)))
            fresh[half] = false;
    }
  }

  static int64_t laneOf(const Operand &operand) { return operand.kind == OperandKind::Register ? -1 : operand.value; }

  void step(uint32_t index, State &state) {
    const Instr &instr = cfg_.instrs()[index];
    if (!instr.is(Property::Scalar)) {
      stepVector(instr, state);
      return;
    }
    const auto operands = instr.operands();
    Value results[2] = {kUnknown, kUnknown};
    Value scc = kUnknown;
    unsigned known = 0; // results that are meant, from the first destination register on
    bool consumes = true;
    switch (instr.opcode()) {
    case Opcode::S_GETPC_B64:
      results[0] = constant(static_cast<uint32_t>(instr.end()));
      results[1] = constant(static_cast<uint32_t>(instr.end() >> 32));
      known = 2;
      break;
    case Opcode::S_MOV_B32:
      if (operands.size() >= 2) {
        results[0] = value(state, operands[1]);
        known = 1;
        consumes = results[0].what == What::Unknown;
      }
      break;
    case Opcode::S_MOVK_I32:
      if (operands.size() >= 2) {
        results[0] = constant(static_cast<uint32_t>(static_cast<int16_t>(operands[1].value)));
        known = 1;
      }
      break;
    case Opcode::S_MOV_B64:
      if (operands.size() >= 2) {
        if (operands[1].kind == OperandKind::Register) {
          const unsigned from = number(operands[1].regs.first);
          for (unsigned n = 0; n < 2; ++n)
            if (from + n < kRegs)
              results[n] = state.regs[from + n];
        } else {
          results[0] = constant(static_cast<uint32_t>(operands[1].value));
          results[1] = constant(static_cast<uint32_t>(operands[1].value >> 32));
        }
        known = 2;
        consumes = false;
      }
      break;
    case Opcode::S_SEXT_I32_I16: // gfx12 puts the sign into what s_getpc_b64 has left
      if (operands.size() >= 2) {
        const Value from = value(state, operands[1]);
        if (from.what == What::Constant) {
          results[0] = constant(static_cast<uint32_t>(static_cast<int16_t>(from.bits)));
          known = 1;
          consumes = false;
        }
      }
      break;
    case Opcode::S_ADD_NC_U64:
      if (operands.size() >= 3)
        if (const auto a = wideValue(state, operands[1]), b = wideValue(state, operands[2]); a && b) {
          results[0] = constant(static_cast<uint32_t>(*a + *b));
          results[1] = constant(static_cast<uint32_t>((*a + *b) >> 32));
          known = 2;
          consumes = false;
        }
      break;
    case Opcode::S_ADD_U32:
    case Opcode::S_ADDC_U32:
    case Opcode::S_SUB_U32:
    case Opcode::S_SUBB_U32:
    case Opcode::S_ADD_CO_U32: // as gfx12 spells them
    case Opcode::S_ADD_CO_CI_U32:
    case Opcode::S_SUB_CO_U32:
    case Opcode::S_SUB_CO_CI_U32:
      if (operands.size() >= 3) {
        const Value a = value(state, operands[1]), b = value(state, operands[2]);
        const Opcode opcode = instr.opcode();
        const bool carries = opcode == Opcode::S_ADDC_U32 || opcode == Opcode::S_SUBB_U32 ||
                             opcode == Opcode::S_ADD_CO_CI_U32 || opcode == Opcode::S_SUB_CO_CI_U32;
        const bool adds = opcode == Opcode::S_ADD_U32 || opcode == Opcode::S_ADDC_U32 ||
                          opcode == Opcode::S_ADD_CO_U32 || opcode == Opcode::S_ADD_CO_CI_U32;
        if (a.what == What::Constant && b.what == What::Constant && (!carries || state.scc.what == What::Constant)) {
          const uint64_t second = uint64_t{b.bits} + (carries ? state.scc.bits : 0);
          const uint64_t result = adds ? a.bits + second : a.bits - second;
          results[0] = constant(static_cast<uint32_t>(result));
          scc = constant(static_cast<uint32_t>(result >> 32) & 1);
          known = 1;
          consumes = false;
        }
      }
      break;
    case Opcode::S_ADD_I32:
    case Opcode::S_SUB_I32:
    case Opcode::S_ADD_CO_I32:
    case Opcode::S_SUB_CO_I32:
      if (operands.size() >= 3) {
        const Value a = value(state, operands[1]), b = value(state, operands[2]);
        if (a.what == What::Constant && b.what == What::Constant) {
          const int64_t x = static_cast<int32_t>(a.bits), y = static_cast<int32_t>(b.bits);
          const bool adds = instr.opcode() == Opcode::S_ADD_I32 || instr.opcode() == Opcode::S_ADD_CO_I32;
          const int64_t result = adds ? x + y : x - y;
          results[0] = constant(static_cast<uint32_t>(result));
          scc = constant(result != static_cast<int32_t>(result) ? 1 : 0);
          known = 1;
          consumes = false;
        }
      }
      break;
    case Opcode::S_SETPC_B64:
    case Opcode::S_SWAPPC_B64:
      jump(index, instr, state);
      return;
    case Opcode::S_CALL_B64:
      call(state, instr.target());
      return;
    default:
      if (instr.memorySpace() == MemorySpace::Scalar && instr.is(Property::Load)) {
        load(instr, state);
        return;
      }
      break;
    }

    if (recording_ && consumes)
      for (RegRange range : instr.reads())
        for (unsigned n = number(range.first); n < number(range.first) + range.count && n < kRegs; ++n)
          take(state, n);
    for (RegRange range : instr.writes())
      forget(state, range);
    for (RegRange range : instr.writes())
      if (range.contains(Reg::Scc))
        state.scc = scc;
    if (known && !operands.empty() && operands[0].kind == OperandKind::Register)
      for (unsigned n = 0; n < known; ++n)
        reg(state, operands[0].regs.first + n) = results[n];
  }

  static void forget(State &state, RegRange range) {
    for (unsigned n = number(range.first); n < number(range.first) + range.count && n < kRegs; ++n)
      state.regs[n] = kUnknown;
    if (range.contains(Reg::Scc))
      state.scc = kUnknown;
  }

  void stepVector(const Instr &instr, State &state) {
    const uint8_t t = traits(instr.opcode());
    const auto operands = instr.operands();
    if (recording_)
      for (RegRange range : instr.reads())
        if (isScalar(range.first))
          for (unsigned n = number(range.first); n < number(range.first) + range.count && n < kRegs; ++n)
            take(state, n);
    for (RegRange range : instr.writes())
      if (isScalar(range.first))
        forget(state, range);
    if ((t & kReadsLane) && operands.size() >= 3 && operands[1].kind == OperandKind::Register) {
      const auto found = lanes_.find({number(operands[1].regs.first), laneOf(operands[2])});
      if (found != lanes_.end())
        reg(state, operands[0].regs.first) = found->second;
    }
  }

  void load(const Instr &instr, State &state) {
    const auto access = instr.memory();
    std::optional<uint64_t> slot;
    if (access && access->saddr.count == 2 && (access->soffset.empty() || access->soffset.first == Reg::Null))
      if (const auto base = pair(state, number(access->saddr.first)))
        slot = *base + static_cast<int64_t>(access->offset);
    if (recording_) {
      if (slot)
        result_.slots_.push_back(*slot);
      else
        for (RegRange range : instr.reads())
          for (unsigned n = number(range.first); n < number(range.first) + range.count && n < kRegs; ++n)
            take(state, n);
    }
    for (RegRange range : instr.writes())
      forget(state, range);
    if (!slot || !context_.loaded)
      return;
    for (unsigned n = 0; n + 1 < access->result.count; n += 2)
      if (const auto loaded = context_.loaded(*slot + n * 4)) {
        reg(state, access->result.first + n) = constant(static_cast<uint32_t>(*loaded));
        reg(state, access->result.first + n + 1) = constant(static_cast<uint32_t>(*loaded >> 32));
      }
  }

  void jump(uint32_t index, const Instr &instr, State &state) {
    ScalarValues::Target target{index, ScalarValues::Kind::Unknown, 0};
    RegRange source = {};
    for (const Operand &operand : instr.operands())
      if (operand.kind == OperandKind::Register && operand.read)
        source = operand.regs;
    const unsigned low = number(source.first);
    if (source.count == 2 && low + 1 < kRegs) {
      if (const auto address = pair(state, low))
        target = {index, ScalarValues::Kind::Address, *address};
      else if (state.regs[low].what == What::ReturnLo && state.regs[low + 1].what == What::ReturnHi)
        target.kind = ScalarValues::Kind::ReturnAddress;
    }
    if (recording_) {
      result_.targets_.push_back(target);
      // Whatever else is in registers that are free to pass arguments may be used there.
      for (unsigned n = 0; n < kReturnPair; n += 2)
        if (n != low)
          take(state, n);
    }
    if (instr.is(Property::Call))
      call(state, target.kind == ScalarValues::Kind::Address ? std::optional(target.address) : std::nullopt);
  }

  void call(State &state, std::optional<uint64_t> callee) {
    const RegSet *clobbers = callee && context_.clobbers ? context_.clobbers(*callee) : nullptr;
    for (unsigned n = 0; n < kRegs; ++n)
      if ((n < kPreserved || n >= number(Reg::VccLo)) && (!clobbers || clobbers->contains(sgpr(n))))
        state.regs[n] = kUnknown;
    state.regs[kReturnPair] = state.regs[kReturnPair + 1] = kUnknown;
    state.scc = kUnknown;
  }

  const Cfg &cfg_;
  const ScalarValues::Context &context_;
  std::map<std::pair<unsigned, int64_t>, Value> lanes_;
  ScalarValues result_;
  bool recording_ = false;
};

bool ScalarValues::needed(std::span<const Instr> instrs) {
  return std::ranges::any_of(instrs, [](const Instr &instr) {
    return instr.is(Property::IndirectBranch) || instr.is(Property::Call) || instr.opcode() == Opcode::S_GETPC_B64;
  });
}

ScalarValues ScalarValues::compute(const Cfg &cfg, const Context &context) {
  return cfg.blocks().empty() ? ScalarValues() : ScalarInterpreter(cfg, context).run();
}

void ScalarValues::addSeen(const ScalarValues &earlier) {
  taken_.insert(taken_.end(), earlier.taken_.begin(), earlier.taken_.end());
  slots_.insert(slots_.end(), earlier.slots_.begin(), earlier.slots_.end());
  for (auto *list : {&taken_, &slots_}) {
    std::ranges::sort(*list);
    list->erase(std::ranges::unique(*list).begin(), list->end());
  }
}

ScalarValues::Target ScalarValues::target(uint32_t instr) const {
  const auto found = std::ranges::lower_bound(targets_, instr, {}, &Target::instr);
  return found != targets_.end() && found->instr == instr ? *found : Target{instr, Kind::Unknown, 0};
}

} // namespace luthier::analysis
