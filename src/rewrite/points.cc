#include "rewrite/points.h"

#include "isa/message.h"

#include <algorithm>

namespace luthier::rewrite {

using analysis::Block;
using analysis::Cfg;
using analysis::Exit;

std::string_view toString(Position position) {
  switch (position) {
  case Position::Before:
    return "before";
  case Position::After:
    return "after";
  case Position::Replace:
    return "replace";
  case Position::Remove:
    return "remove";
  case Position::BlockEntry:
    return "block entry";
  case Position::Edge:
    return "edge";
  case Position::FunctionEntry:
    return "function entry";
  case Position::FunctionExit:
    return "function exit";
  case Position::KernelEntry:
    return "kernel entry";
  case Position::KernelExit:
    return "kernel exit";
  }
  return "?";
}

namespace {

Result<size_t> functionOf(const Insertion &insertion, const std::vector<const analysis::Function *> &functions) {
  if (!insertion.function)
    return size_t{0};
  const auto found =
      std::ranges::find(functions, insertion.function, [](const analysis::Function *f) { return &f->symbol(); });
  if (found == functions.end())
    return makeError("{} is not a function that the kernel can reach", insertion.function->name);
  return static_cast<size_t>(found - functions.begin());
}

/// Where the end of the block that an instruction is in begins: the instruction before which its vector registers are
/// still there. Cfg::kNone: they are there to the end.
uint32_t startOfEnd(const Cfg &cfg, const Block &block, const isa::Target &target) {
  if (!target.deallocatesVgprs)
    return Cfg::kNone;
  for (uint32_t n = block.first; n <= block.last(); ++n)
    if (deallocatesVgprs(cfg.instrs()[n], target))
      return n > block.first && cfg.instrs()[n - 1].opcode() == Opcode::S_NOP ? n - 1 : n;
  return Cfg::kNone;
}

} // namespace

bool deallocatesVgprs(const Instr &instr, const isa::Target &target) {
  return target.deallocatesVgprs && instr.opcode() == Opcode::S_SENDMSG && !instr.operands().empty() &&
         isa::messageOf(instr.operands()[0].value) == isa::Message::DeallocVgprs;
}

const Instr *instrOf(const Insertion &insertion, const std::vector<const analysis::Function *> &functions) {
  const auto function = functionOf(insertion, functions);
  if (!function || functions[*function]->instrs().empty())
    return nullptr;
  const Cfg &cfg = functions[*function]->cfg();
  switch (insertion.position) {
  case Position::FunctionEntry:
  case Position::FunctionExit:
  case Position::KernelEntry:
  case Position::KernelExit:
    return &cfg.instrs().front();
  default: {
    const uint32_t index = cfg.find(insertion.address);
    return index == Cfg::kNone ? nullptr : &cfg.instrs()[index];
  }
  }
}

Result<void> addPoints(const Insertion &insertion, uint32_t number,
                       const std::vector<const analysis::Function *> &functions, const isa::Target &target,
                       std::vector<FunctionPoints> &points, uint32_t &places) {
  const size_t n = LUTHIER_TRY(functionOf(insertion, functions));
  const Cfg &cfg = functions[n]->cfg();
  const bool whole = insertion.position >= Position::FunctionEntry;
  const uint32_t index = whole ? 0 : cfg.find(insertion.address);
  if (index == Cfg::kNone)
    return makeError("no instruction of {} starts at {:#x}", functions[n]->symbol().name, insertion.address);
  const Instr &instr = cfg.instrs()[index];
  const Block &block = cfg.blocks()[cfg.blockOf(index)];
  const bool ends = instr.is(Property::Terminator) || instr.is(Property::EndProgram);
  FunctionPoints &here = points[n];
  places = 1;
  const uint32_t end = whole ? Cfg::kNone : startOfEnd(cfg, block, target);
  switch (insertion.position) {
  case Position::Before:
    if (end != Cfg::kNone && index > end)
      here.instrs[end].early[index].push_back(number);
    else
      here.instrs[index].before.push_back(number);
    return {};
  case Position::After:
    if (ends)
      return makeError("{} at {:#x} ends its block: nothing comes behind it", instr.mnemonic(), instr.address());
    if (end != Cfg::kNone && index >= end)
      here.instrs[end].early[index + 1].push_back(number);
    else
      here.instrs[index].after.push_back(number);
    return {};
  case Position::Replace:
  case Position::Remove: {
    if (ends || instr.is(Property::Call) || instr.is(Property::Branch))
      return makeError("{} at {:#x} decides where control goes, and cannot be taken out", instr.mnemonic(),
                       instr.address());
    FunctionPoints::AtInstr &at = here.instrs[index];
    if (at.removed)
      return makeError("the instruction at {:#x} is replaced or removed twice", instr.address());
    at.removed = true;
    if (insertion.position == Position::Replace && insertion.inserts())
      at.instead.push_back(number);
    return {};
  }
  case Position::BlockEntry:
    if (block.first != index)
      return makeError("no block starts at {:#x}", insertion.address);
    here.instrs[index].blockEntry.push_back(number);
    return {};
  case Position::Edge: {
    const uint32_t to = cfg.find(insertion.edgeTo);
    const uint32_t toBlock = to == Cfg::kNone ? Cfg::kNone : cfg.blockOf(to);
    const bool there =
        std::ranges::any_of(cfg.successors(block), [&](const analysis::Edge &e) { return e.to == toBlock; });
    if (block.last() != index || toBlock == Cfg::kNone || cfg.blocks()[toBlock].first != to || !there)
      return makeError("no edge leads from {:#x} to {:#x}", insertion.address, insertion.edgeTo);
    for (const analysis::Edge &edge : cfg.successors(block))
      if (edge.to == toBlock && edge.kind == analysis::EdgeKind::Indirect)
        return makeError("the edge from {:#x} to {:#x} is a jump through a register", insertion.address,
                         insertion.edgeTo);
    here.edges[{cfg.number(block), toBlock}].push_back(number);
    return {};
  }
  case Position::KernelEntry:
    points[0].entry.push_back(number);
    return {};
  case Position::FunctionEntry:
    here.entry.push_back(number);
    return {};
  case Position::FunctionExit:
    places = 0;
    for (const Block &b : cfg.blocks())
      if (b.exit == Exit::Return || b.exit == Exit::Tail || b.exit == Exit::Unknown) {
        here.instrs[b.last()].exit.push_back(number);
        ++places;
      }
    if (!places)
      return makeError("{} never returns", functions[n]->symbol().name);
    return {};
  case Position::KernelExit:
    places = 0;
    for (size_t f = 0; f < functions.size(); ++f)
      for (const Block &b : functions[f]->cfg().blocks())
        if (b.exit == Exit::End) {
          const uint32_t last = startOfEnd(functions[f]->cfg(), b, target);
          points[f].instrs[last == Cfg::kNone ? b.last() : last].exit.push_back(number);
          ++places;
        }
    if (!places)
      return makeError("{} never ends", functions[0]->symbol().name);
    return {};
  }
  return {};
}

void forEachPoint(const Cfg &cfg, const FunctionPoints &points, const analysis::Liveness &liveness,
                  const std::function<bool(uint32_t insertion)> &wanted,
                  const std::function<void(const std::vector<uint32_t> &insertions, const Instr &at,
                                           const analysis::LiveSets &live)> &visit) {
  const auto looks = [&](const std::vector<uint32_t> &insertions) { return std::ranges::any_of(insertions, wanted); };
  if (looks(points.entry))
    visit(points.entry, cfg.instrs().front(), liveness.atStart(0));
  for (const auto &[edge, insertions] : points.edges)
    if (looks(insertions))
      visit(insertions, cfg.terminator(cfg.blocks()[edge.first]), liveness.atStart(edge.second));
  for (auto it = points.instrs.begin(); it != points.instrs.end();) {
    const uint32_t number = cfg.blockOf(it->first);
    const Block &block = cfg.blocks()[number];
    const auto end = points.instrs.upper_bound(block.last());
    const bool any = std::any_of(it, end, [&](const auto &at) {
      const FunctionPoints::AtInstr &here = at.second;
      return looks(here.blockEntry) || looks(here.before) || looks(here.exit) || looks(here.instead) ||
             looks(here.after) ||
             std::ranges::any_of(here.early, [&](const auto &early) { return looks(early.second); });
    });
    it = end;
    if (!any)
      continue;
    analysis::LiveSets behind = liveness.atEnd(number);
    liveness.walk(number, [&](const Instr &instr, const analysis::LiveSets &live) {
      if (const auto at = points.instrs.find(cfg.indexOf(instr)); at != points.instrs.end()) {
        for (const auto *list : {&at->second.blockEntry, &at->second.before, &at->second.exit, &at->second.instead})
          visit(*list, instr, live);
        for (const auto &[index, list] : at->second.early)
          visit(list, cfg.instrs()[index], live);
        visit(at->second.after, instr, behind);
      }
      behind = live;
    });
  }
}

RegSet observedDead(const Cfg &cfg, const FunctionPoints &points, const analysis::Liveness &liveness,
                    const std::vector<RegSet> &reads) {
  RegSet observed;
  forEachPoint(
      cfg, points, liveness, [&](uint32_t n) { return !reads[n].empty(); },
      [&](const std::vector<uint32_t> &insertions, const Instr &, const analysis::LiveSets &live) {
        for (uint32_t n : insertions)
          observed |= reads[n] - live.active;
      });
  return observed;
}

} // namespace luthier::rewrite
