#include "rewrite/function_writer.h"

#include "analysis/hazards.h"
#include "rewrite/testing.h"

#include <algorithm>

namespace luthier::rewrite {

namespace {

using analysis::Block;
using analysis::CallKind;
using analysis::Exit;
using Kind = CodeRange::Kind;

/// The register range that a jump through registers takes its address from.
RegRange addressOperand(const Instr &instr) {
  for (const Operand &operand : instr.operands())
    if (operand.kind == OperandKind::Register && operand.read)
      return operand.regs;
  return {};
}

RegRange returnOperand(const Instr &instr) {
  for (const Operand &operand : instr.operands())
    if (operand.kind == OperandKind::Register && operand.written)
      return operand.regs;
  return {};
}

} // namespace

Result<void> FunctionWriter::write(Layout::Label entry) {
  Layout &layout = context_.layout;
  for (size_t n = 0; n < cfg_.blocks().size(); ++n)
    labels_.push_back(layout.newLabel());
  findIndexing();
  layout.bind(entry);
  neighbours_.startEntry();
  if (!points_.entry.empty() && liveness_ && !cfg_.blocks().empty()) {
    const Instr &first = cfg_.instrs().front();
    insert(points_.entry, first, atStart(0), 0);
  }
  for (uint32_t block = 0; block < cfg_.blocks().size(); ++block)
    LUTHIER_TRY(writeBlock(block));
  flush();
  LUTHIER_TRY(writeStubs());
  context_.originalInstructions += cfg_.instrs().size();
  return {};
}

FunctionWriter::Point FunctionWriter::atStart(uint32_t block) const {
  return {liveness_->atStart(block), waits_->atStart(block), modes_ ? modes_->atStart(block) : analysis::ModeState()};
}

/// Where registers may be chosen by an index, which hooks must not be subject to: compilers keep such regions within a
/// block, but nothing says that they must.
void FunctionWriter::findIndexing() {
  const auto switches = [](const Instr &instr) {
    return instr.opcode() == Opcode::S_SET_GPR_IDX_ON || instr.opcode() == Opcode::S_SET_GPR_IDX_OFF;
  };
  if (points_.empty() || std::ranges::none_of(cfg_.instrs(), switches))
    return;
  indexing_.resize(cfg_.blocks().size());
  std::vector<uint32_t> open = {0};
  indexing_[0] = kOff;
  while (!open.empty()) {
    const Block &block = cfg_.blocks()[open.back()];
    uint8_t state = indexing_[open.back()];
    open.pop_back();
    for (uint32_t n = block.first; n <= block.last(); ++n)
      if (switches(cfg_.instrs()[n]))
        state = cfg_.instrs()[n].opcode() == Opcode::S_SET_GPR_IDX_ON ? kOn : kOff;
    for (const analysis::Edge &edge : cfg_.successors(block))
      if ((indexing_[edge.to] | state) != indexing_[edge.to]) {
        indexing_[edge.to] |= state;
        open.push_back(edge.to);
      }
  }
}

void FunctionWriter::flush() {
  if (!pendingCount_)
    return;
  const Instr &first = cfg_.instrs()[pendingFirst_], &last = cfg_.instrs()[pendingFirst_ + pendingCount_ - 1];
  context_.layout.add({first.bytes().data(), static_cast<size_t>(last.end() - first.address())}, Kind::Original,
                      first.address());
  pendingCount_ = 0;
}

Result<void> FunctionWriter::writeBlock(uint32_t number) {
  const Block &block = cfg_.blocks()[number];
  Layout &layout = context_.layout;
  flush();
  block_ = number;
  neighbours_.startBlock(number);
  layout.bind(labels_[number]);

  // What is live and in flight at the points of this block.
  std::map<uint32_t, Point> before, after;
  const auto begin = points_.instrs.lower_bound(block.first),
             end = points_.instrs.lower_bound(block.first + block.count);
  if (begin != end && liveness_) {
    // Liveness is found from the block's end, what is in flight from its start.
    analysis::LiveSets behind = liveness_->atEnd(number);
    liveness_->walk(number, [&](const Instr &instr, const analysis::LiveSets &live) {
      const uint32_t index = cfg_.indexOf(instr);
      if (const auto at = points_.instrs.find(index); at != points_.instrs.end()) {
        before[index].live = live;
        after[index].live = behind;
      }
      behind = live;
    });
    waits_->walk(number, [&](const Instr &instr, const analysis::WaitState &state) {
      const uint32_t index = cfg_.indexOf(instr);
      if (!before.contains(index))
        return;
      before[index].waits = state;
      analysis::WaitState next = state;
      next.step(instr, context_.glue.target());
      if (instr.is(Property::Call)) // what the callee left
        for (const analysis::Edge &edge : cfg_.successors(block))
          next = waits_->atStart(edge.to);
      after[index].waits = next;
    });
    for (auto &[index, point] : before)
      if (modes_) {
        point.mode = modes_->before(cfg_.instrs()[index]);
        after[index].mode = index == block.last() ? modes_->atEnd(number) : modes_->before(cfg_.instrs()[index + 1]);
      }
  }

  indexed_ = indexing_.empty() ? kOff : indexing_[number];
  clause_.reset();
  vectorsSince_ = instrsSince_ = kLong;
  for (uint32_t index = block.first; index <= block.last(); ++index) {
    const Instr &instr = cfg_.instrs()[index];
    const auto found = points_.instrs.find(index);
    const FunctionPoints::AtInstr *at = found == points_.instrs.end() ? nullptr : &found->second;
    if (at && liveness_) {
      const Point &point = before[index];
      insert(at->blockEntry, instr, point, index);
      insert(at->before, instr, point, index);
      for (const auto &[asked, insertions] : at->early)
        insert(insertions, cfg_.instrs()[asked], point, index);
      insert(at->exit, instr, point, index);
      insert(at->instead, instr, point, index);
    }
    if (clause_ && index == *clause_ + 1) {
      flush();
      context_.layout.add(cfg_.instrs()[*clause_].bytes(), Kind::Original, cfg_.instrs()[*clause_].address());
      context_.layout.glue();
      neighbours_.add(cfg_.instrs()[*clause_]);
      clause_.reset();
    }
    const bool removed = at && at->removed;
    bool stays = !removed;
    if (stays && instr.opcode() == Opcode::S_CLAUSE)
      stays = writeClause(index, block);
    else if (stays && instr.opcode() == Opcode::S_DELAY_ALU)
      stays = keepsDelay(index, block);
    if (stays) {
      LUTHIER_TRY(writeInstr(index));
      neighbours_.add(instr);
      vectorsSince_ += instr.is(Property::Vector);
      ++instrsSince_;
      if (instr.opcode() == Opcode::S_SET_GPR_IDX_ON)
        indexed_ = kOn;
      else if (instr.opcode() == Opcode::S_SET_GPR_IDX_OFF)
        indexed_ = kOff;
    } else if (removed)
      writeGap(instr);
    else
      flush();
    if (at && liveness_)
      insert(at->after, instr, after[index], index + 1);
  }

  // What lies on the way to the block that follows.
  for (const analysis::Edge &edge : cfg_.successors(block))
    if (static_cast<unsigned>(edge.kind) & static_cast<unsigned>(analysis::EdgeKind::Fallthrough))
      if (const auto on = points_.edges.find({number, edge.to}); on != points_.edges.end() && liveness_)
        insert(on->second, cfg_.terminator(block), atStart(edge.to), cfg_.blocks()[edge.to].first);
  neighbours_.endBlock();
  return number + 1 == cfg_.blocks().size() ? writeEnd(block) : Result<void>();
}

/// Whether anything comes between an instruction and the one before it, or it goes.
bool FunctionWriter::insertsBefore(uint32_t index) const {
  if (const auto at = points_.instrs.find(index);
      at != points_.instrs.end() && (at->second.insertsBefore() || at->second.removed))
    return true;
  const auto last = index ? points_.instrs.find(index - 1) : points_.instrs.end();
  return last != points_.instrs.end() && !last->second.after.empty();
}

/// s_clause says that the next instructions are of one kind and belong together. Nothing may come between them: where
/// something does, it goes, as it is a matter of speed alone. What comes before the first of them comes before
/// s_clause. Returns whether it is to be written here.
bool FunctionWriter::writeClause(uint32_t index, const Block &block) {
  const Instr &clause = cfg_.instrs()[index];
  const auto count = static_cast<uint32_t>(clause.operands().empty() ? 0 : clause.operands()[0].value & 0x3f) + 1;
  const auto removed = [&](uint32_t n) {
    const auto at = points_.instrs.find(n);
    return at != points_.instrs.end() && at->second.removed;
  };
  bool torn = removed(index + 1) || (index + count > block.last() && !points_.empty());
  for (uint32_t n = 2; n <= count; ++n)
    torn |= insertsBefore(index + n);
  if (torn)
    writeGap(clause);
  else if (insertsBefore(index + 1))
    clause_ = index;
  else
    return true;
  return false;
}

/// s_delay_alu counts instructions, in both directions: it is right as long as nothing was inserted among those.
bool FunctionWriter::keepsDelay(uint32_t index, const Block &block) const {
  const Instr &delay = cfg_.instrs()[index];
  const auto value = static_cast<uint32_t>(delay.operands().empty() ? 0 : delay.operands()[0].value);
  const uint32_t first = value & 0xf, skip = value >> 4 & 7, second = value >> 7 & 0xf;
  const uint32_t last = std::min(index + 1 + (second ? skip : 0), block.last());
  for (uint32_t n = index + 1; n <= last; ++n)
    if (insertsBefore(n))
      return false;
  // VALU_DEP_1 to 4, TRANS32_DEP_1 to 3, FMA_ACCUM_CYCLE_1, SALU_CYCLE_1 to 3.
  const auto reaches = [&](uint32_t id) {
    constexpr uint32_t kLastVector = 4, kLastTrans = 7;
    if (id <= kLastVector)
      return vectorsSince_ >= id;
    return id <= kLastTrans ? instrsSince_ >= kLong : instrsSince_ >= 4;
  };
  return reaches(first) && reaches(second);
}

/// Behind the last block: other code follows here than in the original.
Result<void> FunctionWriter::writeEnd(const Block &block) {
  const Instr &last = cfg_.terminator(block);
  CodeSequence code;
  if (block.exit == Exit::FallsOut && block.reachable) {
    const auto next = context_.entryOf(block.exitTarget);
    if (!next)
      return makeError("{} continues past its end, at {:#x}, where no function starts", function_.symbol().name,
                       block.exitTarget);
    flush();
    context_.glue.add(code, GlueOp::Branch);
    context_.layout.addBranch(code.bytes(), *next, Kind::Replacement, last.address());
  } else if (block.exit == Exit::Unknown && last.target()) {
    return makeError("{} ends in a {} that leaves it both ways, which is not supported", function_.symbol().name,
                     last.mnemonic());
  } else if (block.exit == Exit::FallsOut || block.exit == Exit::RunsOut ||
             (block.exit == Exit::Tail && last.is(Property::Conditional))) {
    // No wave gets here. One that does all the same ends, and does not run into code that is not its own.
    flush();
    context_.glue.add(code, GlueOp::EndProgram);
    context_.layout.add(code.bytes(), Kind::Replacement, last.address());
  }
  return {};
}

/// In the place of an instruction that is taken out: as many wait states, where neighbours may need them.
void FunctionWriter::writeGap(const Instr &instr) {
  flush();
  const isa::Target &target = context_.glue.target();
  if (!analysis::hazardWindow(target))
    return;
  CodeSequence code;
  context_.glue.nops(code, analysis::waitStatesOf(target, instr));
  context_.layout.add(code.bytes(), Kind::Replacement, instr.address());
  neighbours_.add(code);
}

Result<void> FunctionWriter::writeInstr(uint32_t index) {
  const Instr &instr = cfg_.instrs()[index];
  const Block &block = cfg_.blocks()[block_];
  const bool last = index == block.last();
  if (context_.writeBack && instr.is(Property::EndProgram)) {
    flush();
    CodeSequence code;
    context_.glue.add(code, GlueOp::ScalarWriteBack);
    context_.glue.wait(code, analysis::setOf(analysis::Counter::Lgkm));
    context_.layout.add(code.bytes(), Kind::Replacement, instr.address());
  }
  switch (instr.opcode()) {
  case Opcode::S_GETPC_B64:
    flush();
    writeGetPc(instr);
    return {};
  case Opcode::S_SWAPPC_B64:
    flush();
    if (last && block.call == CallKind::Direct)
      if (const auto callee = context_.entryOf(block.callTarget); callee && context_.glue.has(GlueOp::Call)) {
        CodeSequence code;
        context_.glue.add(code, GlueOp::Call, returnOperand(instr).first);
        context_.layout.addBranch(code.bytes(), *callee, Kind::Replacement, instr.address());
        return {};
      }
    return writeIndirect(instr, block, true);
  case Opcode::S_SETPC_B64:
    flush();
    if (last && block.exit == Exit::Tail) {
      const auto next = context_.entryOf(block.exitTarget);
      if (!next)
        return makeError("{} jumps to {:#x}, where no function starts", function_.symbol().name, block.exitTarget);
      CodeSequence code;
      context_.glue.add(code, GlueOp::Branch);
      context_.layout.addBranch(code.bytes(), *next, Kind::Replacement, instr.address());
      return {};
    }
    if (last && block.exit == Exit::None) // resolved within the function
      for (const analysis::Edge &edge : cfg_.successors(block))
        if (edge.kind == analysis::EdgeKind::Taken) {
          CodeSequence code;
          context_.glue.add(code, GlueOp::Branch);
          context_.layout.addBranch(code.bytes(), labels_[edge.to], Kind::Replacement, instr.address());
          return {};
        }
    if (last && block.exit == Exit::Return)
      break;
    return writeIndirect(instr, block, false);
  case Opcode::S_RFE_B64:
  case Opcode::S_RFE_RESTORE_B64:
  case Opcode::S_CBRANCH_I_FORK:
  case Opcode::S_CBRANCH_G_FORK:
  case Opcode::S_SUBVECTOR_LOOP_BEGIN:
  case Opcode::S_SUBVECTOR_LOOP_END:
    return makeError("{} at {:#x} of {} is not supported", instr.mnemonic(), instr.address(), function_.symbol().name);
  default:
    if (instr.target())
      return writeBranch(index, block);
  }
  if (deallocatesVgprs(instr, context_.glue.target())) {
    flush();
    context_.layout.glue(); // to the s_nop before it
    context_.layout.add(instr.bytes(), Kind::Original, instr.address());
    context_.deallocations.push_back(context_.layout.lastPlace());
    return {};
  }
  if (!pendingCount_)
    pendingFirst_ = index;
  ++pendingCount_;
  return {};
}

/// A direct branch, or s_call_b64.
Result<void> FunctionWriter::writeBranch(uint32_t index, const Block &block) {
  const Instr &instr = cfg_.instrs()[index];
  flush();
  const uint64_t target = *instr.target();
  std::optional<Layout::Label> to;
  if (const uint32_t at = cfg_.find(target); at != analysis::Cfg::kNone && !instr.is(Property::Call)) {
    const uint32_t targetBlock = cfg_.blockOf(at);
    if (cfg_.blocks()[targetBlock].first == at) {
      to = labels_[targetBlock];
      if (points_.edges.contains({cfg_.number(block), targetBlock}) && liveness_) {
        stubs_.push_back({context_.layout.newLabel(), cfg_.number(block), targetBlock});
        to = stubs_.back().label;
      }
    }
  } else
    to = context_.entryOf(target);
  if (!to)
    return makeError("{} at {:#x} of {} goes to {:#x}, where no function starts", instr.mnemonic(), instr.address(),
                     function_.symbol().name, target);
  context_.layout.addBranch(instr.bytes(), *to, Kind::Original, instr.address());
  return {};
}

/// The value that it would have had at its original address. Every address that the guest makes from it stays right.
void FunctionWriter::writeGetPc(const Instr &instr) {
  const RegRange to = returnOperand(instr);
  CodeSequence code;
  for (unsigned half = 0; half < 2; ++half)
    context_.glue.literal(code, to.first + half, 0);
  context_.layout.add(code.bytes(), Kind::Replacement, instr.address());
  for (unsigned half = 0; half < 2; ++half)
    context_.layout.addRelocation({.high = half == 1, .addend = instr.end()},
                                  half ? -4 : -4 - static_cast<int64_t>(code.size() / 2));
}

/// A call or jump through registers: addresses in there are those of the original. Known ones go to their copies,
/// others to where they point: original code, which runs as it always did.
Result<void> FunctionWriter::writeIndirect(const Instr &instr, const Block &block, bool call) {
  const RegRange address = addressOperand(instr);
  if (call && !context_.glue.has(GlueOp::Call))
    return makeError("{}: calls through pointers cannot be followed on {}", function_.symbol().name,
                     context_.glue.target().name);
  std::vector<std::pair<uint64_t, Layout::Label>> known = context_.pointedTo;
  if (!call)
    for (const analysis::Edge &edge : cfg_.successors(block))
      if (edge.kind == analysis::EdgeKind::Indirect) {
        known.emplace_back(cfg_.start(cfg_.blocks()[edge.to]), labels_[edge.to]);
        // Comparing addresses changes SCC, which conventions leave free at calls but not within a function.
        if (liveness_ && liveness_->atStart(edge.to).active.contains(Reg::Scc))
          return makeError("{}: SCC is in use across the jump at {:#x}", function_.symbol().name, instr.address());
      }
  Layout &layout = context_.layout;
  const auto compare = [&](Reg reg, uint64_t to, bool high) {
    CodeSequence code;
    context_.glue.addLiteral(code, GlueOp::CompareEqual, reg, 0);
    layout.add(code.bytes(), Kind::Replacement, instr.address());
    layout.addRelocation({.high = high, .addend = to}, -4);
  };
  const auto jump = [&](GlueOp op, Layout::Label to) {
    CodeSequence code;
    context_.glue.add(code, op, returnOperand(instr).first);
    layout.addBranch(code.bytes(), to, Kind::Replacement, instr.address());
  };
  const Layout::Label done = layout.newLabel();
  for (const auto &[original, copy] : known) {
    const Layout::Label next = layout.newLabel();
    compare(address.first, original, false);
    jump(GlueOp::BranchScc0, next);
    compare(address.first + 1, original, true);
    jump(GlueOp::BranchScc0, next);
    if (call) {
      jump(GlueOp::Call, copy);
      jump(GlueOp::Branch, done);
    } else
      jump(GlueOp::Branch, copy);
    layout.bind(next);
  }
  layout.add(instr.bytes(), Kind::Original, instr.address());
  layout.bind(done);
  ++context_.openCalls;
  return {};
}

Result<void> FunctionWriter::writeStubs() {
  for (const Stub &stub : stubs_) {
    context_.layout.bind(stub.label);
    block_ = stub.to;
    neighbours_.startEdge(stub.to);
    indexed_ = indexing_.empty() ? kOff : indexing_[stub.to];
    const Block &from = cfg_.blocks()[stub.from];
    insert(points_.edges.at({stub.from, stub.to}), cfg_.terminator(from), atStart(stub.to),
           cfg_.blocks()[stub.to].first);
    CodeSequence code;
    context_.glue.add(code, GlueOp::Branch);
    context_.layout.addBranch(code.bytes(), labels_[stub.to], Kind::Glue, cfg_.terminator(from).address());
  }
  return {};
}

void FunctionWriter::insert(const std::vector<uint32_t> &insertions, const Instr &at, const Point &point,
                            uint32_t next) {
  for (uint32_t insertion : insertions) {
    SiteAccount &account = context_.accounts[insertion];
    if (!account.rejected.empty())
      continue;
    if (const auto done = insertOne(insertion, at, point, next); !done)
      account.rejected = done.error().message();
  }
}

Result<void> FunctionWriter::insertOne(uint32_t insertion, const Instr &at, const Point &point, uint32_t next) {
  Site site;
  site.live = point.live;
  site.waits = &point.waits;
  if (indexed_ == (kOff | kOn))
    return makeError("registers may or may not be chosen by an index here (s_set_gpr_idx_on)");
  site.indexed = indexed_ == kOn;
  static const analysis::WaitState kIdle;
  if (plantedFault() == Fault::Liveness)
    site.live = {};
  if (plantedFault() == Fault::Waits)
    site.waits = &kIdle;
  LUTHIER_TRY(context_.bind(insertion, at, site));
  SharedPlace *shared = context_.shared[insertion];
  site.shared = shared ? &shared->hook : nullptr;
  if (modes_ && dependsOnMode(*site.fragment->fragment) && plantedFault() != Fault::Mode) {
    if (point.mode.mayTrap() && !(analysis::settableModeBits(context_.glue.target()) & analysis::kExceptionBits))
      return makeError("exceptions may be enabled here, which {} does not let hooks turn off",
                       context_.glue.target().name);
    if (!point.mode.is(analysis::kHookMode))
      site.mode = &point.mode;
    site.keepFlags = context_.readsFlags || point.mode.mayTrap();
  }
  PlacedSite placed = LUTHIER_TRY(context_.placer.place(site));
  if (plantedFault() != Fault::Spacing)
    neighbours_.space(placed, next);

  flush();
  Layout &layout = context_.layout;
  const auto place = static_cast<uint32_t>(context_.notes.size());
  context_.notes.push_back(context_.describe(insertion, site, placed));
  layout.add(placed.before.bytes(), Kind::Glue, at.address(), insertion, place);
  if (!placed.guards.empty())
    layout.glue();
  if (placed.called) {
    layout.addBranch(placed.fragment.bytes(), shared->label, Kind::Glue, at.address(), insertion, place);
    ++shared->calls;
  } else {
    layout.add(placed.fragment.bytes(), Kind::Fragment, at.address(), insertion, place);
    context_.relocate(insertion, at, 0);
  }
  if (!placed.guards.empty())
    layout.glue();
  layout.add(placed.after.bytes(), Kind::Glue, at.address(), insertion, place);

  SiteAccount &account = context_.accounts[insertion];
  const size_t count = placed.before.instrs().size() + placed.fragment.instrs().size() + placed.after.instrs().size();
  vectorsSince_ = instrsSince_ = 0;
  ++account.places;
  account.calls += placed.called != nullptr;
  account.instructions += static_cast<uint32_t>(count);
  account.saved += placed.saved;
  account.waits += placed.waited;
  context_.insertedInstructions += count;
  return {};
}

} // namespace luthier::rewrite
