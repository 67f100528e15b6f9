#include "analysis/issue_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

namespace luthier::analysis {

namespace {

enum class ClauseKind : uint8_t {
  None, ///< must not be in a clause
  Filler,
  Scalar,
  Lds,
  VectorLoad,
  VectorStore,
  VectorAtomic,
  FlatLoad,
  FlatStore,
  FlatAtomic,
  Valu,
};

std::string_view toString(ClauseKind kind) {
  switch (kind) {
  case ClauseKind::None:
  case ClauseKind::Filler:
    break;
  case ClauseKind::Scalar:
    return "scalar memory";
  case ClauseKind::Lds:
    return "LDS";
  case ClauseKind::VectorLoad:
    return "vector memory loads";
  case ClauseKind::VectorStore:
    return "vector memory stores";
  case ClauseKind::VectorAtomic:
    return "vector memory atomics";
  case ClauseKind::FlatLoad:
    return "FLAT loads";
  case ClauseKind::FlatStore:
    return "FLAT stores";
  case ClauseKind::FlatAtomic:
    return "FLAT atomics";
  case ClauseKind::Valu:
    return "VALU";
  }
  return "nothing";
}

ClauseKind clauseKindOf(const Instr &instr, const isa::Target &target) {
  if (instr.opcode() == Opcode::S_NOP || instr.mnemonic() == "s_sleep" || instr.mnemonic() == "s_delay_alu")
    return ClauseKind::Filler;
  switch (instr.memorySpace()) {
  case MemorySpace::Scalar:
    return ClauseKind::Scalar;
  case MemorySpace::Lds:
  case MemorySpace::Gds:
    return ClauseKind::Lds;
  case MemorySpace::None:
    return instr.is(Property::Vector) ? ClauseKind::Valu : ClauseKind::None;
  default:
    break;
  }
  const bool flat = instr.memorySpace() == MemorySpace::Flat;
  if (!target.delayHints) // before gfx11, they may be mixed
    return flat ? ClauseKind::FlatLoad : ClauseKind::VectorLoad;
  if (instr.is(Property::Atomic))
    return flat ? ClauseKind::FlatAtomic : ClauseKind::VectorAtomic;
  if (instr.is(Property::Store))
    return flat ? ClauseKind::FlatStore : ClauseKind::VectorStore;
  return flat ? ClauseKind::FlatLoad : ClauseKind::VectorLoad;
}

/// Whether an instruction of another kind is no mistake, but the end of a clause. So it is in the manual of RDNA 1, all
/// of which have this mistake of hardware, and no later target.
bool endsClausesByKind(const isa::Target &target) {
  return target.seamHazards & static_cast<uint16_t>(isa::SeamHazard::SmemToVectorWrite);
}

std::optional<IssueFinding> checkClause(const isa::Target &target, const Cfg &cfg, const Block &block, uint32_t at) {
  const Instr &clause = cfg.instrs()[at];
  const auto length = (clause.operands().empty() ? 0 : static_cast<uint32_t>(clause.operands()[0].value) & 0x3f) + 1;
  if (length == 1)
    return IssueFinding{&clause, nullptr, "a clause has at least two instructions"};
  ClauseKind kind = ClauseKind::None;
  for (uint32_t n = 1; n <= length; ++n) {
    if (at + n > block.last())
      return IssueFinding{&clause, nullptr,
                          fmt::format("the clause has {} instructions, and the block ends after {}", length, n - 1)};
    const Instr &instr = cfg.instrs()[at + n];
    const ClauseKind is = clauseKindOf(instr, target);
    if (is == ClauseKind::None)
      return IssueFinding{&instr, &clause,
                          fmt::format("number {} of a clause of {} must not be in a clause", n, length)};
    if (is == ClauseKind::Filler) {
      if (n == 1)
        return IssueFinding{&instr, &clause, "a clause must not begin with it"};
      continue;
    }
    if (kind == ClauseKind::None)
      kind = is;
    if (kind != is)
      return IssueFinding{
          &instr, &clause,
          fmt::format("number {} of a clause of {} is not of its kind ({})", n, length, toString(kind))};
  }
  return {};
}

// VOPD, by the positions of the manuals' "VOPD" format.
struct Half {
  unsigned opcode = 0, src0 = 0, vsrc1 = 0, vdst = 0;
};
enum DualOpcode : uint8_t {
  kFmac = 0,
  kFmaak = 1,
  kFmamk = 2,
  kMov = 8,
  kCndmask = 9,
  kDot2Acc = 12,
  kDot2AccBf16 = 13
};
constexpr unsigned kFirstVector = 256, kLiteral = 255, kVccLo = 106, kEndOfScalars = 128, kScc = 253;

bool isVectorSource(unsigned source) { return source >= kFirstVector; }

/// The third source, if it has one.
std::optional<unsigned> thirdSource(const Half &half) {
  switch (half.opcode) {
  case kFmac:
  case kDot2Acc:
  case kDot2AccBf16:
    return half.vdst;
  case kFmamk:
    return half.vsrc1;
  default:
    return {};
  }
}

std::optional<unsigned> secondSource(const Half &half) {
  if (half.opcode == kMov || half.opcode == kFmamk)
    return {};
  return half.vsrc1;
}

void addScalarSources(const Half &half, std::set<unsigned> &sources) {
  if (half.src0 < kEndOfScalars || half.src0 == kLiteral || half.src0 == kScc)
    sources.insert(half.src0);
  if (half.opcode == kCndmask)
    sources.insert(kVccLo);
  if (half.opcode == kFmaak || half.opcode == kFmamk)
    sources.insert(kLiteral);
}

std::string dualIssueError(const Instr &instr, unsigned waveSize, const isa::Target &target) {
  if (waveSize != 32)
    return "dual issue needs waves of 32 lanes";
  uint64_t word = 0;
  if (instr.size() < sizeof word)
    return "";
  memcpy(&word, instr.bytes().data(), sizeof word);
  const auto field = [&](unsigned shift, unsigned bits) {
    return static_cast<unsigned>(word >> shift & ((1u << bits) - 1));
  };
  Half x{field(22, 4), field(0, 9), field(9, 8), field(56, 8)};
  Half y{field(17, 5), field(32, 9), field(41, 8), 0};
  y.vdst = field(49, 7) << 1 | (~x.vdst & 1);

  // From gfx12 on, two moves may read the same bank; one register is one read.
  const bool moves = target.splitCounters && x.opcode == kMov && y.opcode == kMov;
  if (isVectorSource(x.src0) && isVectorSource(y.src0) && x.src0 != y.src0 && x.src0 % 4 == y.src0 % 4 && !moves)
    return fmt::format("both halves read their first source from bank {}: v{} and v{}", x.src0 % 4,
                       x.src0 - kFirstVector, y.src0 - kFirstVector);
  const auto x1 = secondSource(x), y1 = secondSource(y);
  if (x1 && y1 && *x1 != *y1 && *x1 % 4 == *y1 % 4)
    return fmt::format("both halves read their second source from bank {}: v{} and v{}", *x1 % 4, *x1, *y1);
  const auto x2 = thirdSource(x), y2 = thirdSource(y);
  if (x2 && y2 && *x2 % 2 == *y2 % 2)
    return fmt::format("both halves read their third source from an {} register: v{} and v{}", *x2 % 2 ? "odd" : "even",
                       *x2, *y2);
  std::set<unsigned> scalars;
  addScalarSources(x, scalars);
  addScalarSources(y, scalars);
  if (scalars.size() > 2)
    return fmt::format("both halves read {} scalar sources, and there is room for 2", scalars.size());
  return "";
}

} // namespace

std::vector<IssueFinding> findClauseErrors(const isa::Target &target, const Cfg &cfg) {
  std::vector<IssueFinding> findings;
  if (!target.clauses || endsClausesByKind(target))
    return findings;
  for (const Block &block : cfg.blocks())
    for (uint32_t n = block.first; block.reachable && n <= block.last(); ++n)
      if (cfg.instrs()[n].opcode() == Opcode::S_CLAUSE)
        if (const auto finding = checkClause(target, cfg, block, n))
          findings.push_back(*finding);
  return findings;
}

std::vector<IssueFinding> findDualIssueErrors(const isa::Target &target, unsigned waveSize, const Cfg &cfg) {
  std::vector<IssueFinding> findings;
  if (!target.dualIssue)
    return findings;
  for (const Block &block : cfg.blocks())
    for (const Instr &instr : cfg.instrs(block))
      if (block.reachable && instr.is(Property::Dual))
        if (std::string why = dualIssueError(instr, waveSize, target); !why.empty())
          findings.push_back({&instr, nullptr, std::move(why)});
  return findings;
}

} // namespace luthier::analysis
