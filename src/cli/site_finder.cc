// Finds the places in a kernel that a text of `luthier instrument --at` means (site_spec.h).
#include "analysis/loops.h"
#include "cli/code_file.h"
#include "cli/instr_class.h"
#include "cli/site_spec.h"

#include <fmt/format.h>

#include <algorithm>

namespace luthier::cli {

namespace {

using rewrite::Position;
using What = SiteSpec::What;

/// Whether an instruction is meant by what a text says.
bool isMeant(const What &what, const Instr &instr, Position position) {
  if (what.kind == What::Kind::Address)
    return instr.address() == what.address;
  if (position == Position::After && (instr.is(Property::Terminator) || instr.is(Property::EndProgram)))
    return false;
  if (what.kind == What::Kind::Class)
    return isOfClass(instr, what.name);
  return what.kind == What::Kind::All || matchesPattern(instr.mnemonic(), what.name);
}

/// Finds the places of one text in one function.
class Finder {
public:
  Finder(const SiteSpec &spec, const analysis::Function &function, const object::Symbol &kernel,
         std::vector<FoundSite> &found)
      : spec_(spec), cfg_(function.cfg()), symbol_(function.symbol()), own_(&function.symbol() == &kernel),
        found_(found) {}

  void find(const std::shared_ptr<const hook::HookModule> &hooks) {
    hooks_ = hooks;
    switch (spec_.position) {
    case Position::KernelEntry:
    case Position::KernelExit:
      if (own_)
        add(0, 0);
      return;
    case Position::FunctionEntry:
    case Position::FunctionExit:
      for (const What &what : spec_.what)
        if (what.kind == What::Kind::All ? !own_ : matchName(symbol_.name, what.name) == NameMatch::Whole) {
          add(0, 0);
          return;
        }
      return;
    case Position::BlockEntry:
      for (const analysis::Block &block : cfg_.blocks())
        if (any([&](const What &what) {
              if (what.kind == What::Kind::Loops)
                return ofLoops(what, cfg_.number(block));
              return what.kind == What::Kind::All ||
                     (what.kind == What::Kind::Address ? what.address == cfg_.start(block)
                                                       : what.block == cfg_.number(block) && labelsAreHere());
            }))
          add(block.first, 0);
      return;
    case Position::Edge:
      for (const analysis::Edge &edge : cfg_.edges())
        if (any([&](const What &what) {
              if (what.kind == What::Kind::Loops)
                return ofLoops(what, static_cast<uint32_t>(&edge - cfg_.edges().data()));
              return what.kind == What::Kind::All || (what.block == edge.from && what.to == edge.to && labelsAreHere());
            }))
          add(cfg_.blocks()[edge.from].last(), cfg_.start(cfg_.blocks()[edge.to]));
      return;
    default:
      for (uint32_t n = 0; n < cfg_.instrs().size(); ++n) {
        if (spec_.block && (*spec_.block != cfg_.blockOf(n) || !labelsAreHere()))
          continue;
        if (any([&](const What &what) { return isMeant(what, cfg_.instrs()[n], spec_.position); }))
          add(n, 0);
      }
    }
  }

private:
  template <class F> bool any(F &&f) const { return std::ranges::any_of(spec_.what, f); }
  /// Whether a block is a header, or an edge one of those that are meant.
  bool ofLoops(const What &what, uint32_t number) {
    if (!loops_)
      loops_ = analysis::Loops::compute(cfg_);
    const auto has = [&](const std::vector<uint32_t> &edges) {
      return std::ranges::find(edges, number) != edges.end();
    };
    return std::ranges::any_of(loops_->all(), [&](const analysis::Loop &loop) {
      switch (what.ofLoop) {
      case What::OfLoop::Header:
        return loop.header == number;
      case What::OfLoop::Entry:
        return has(loop.entries);
      case What::OfLoop::Back:
        return has(loop.backEdges);
      case What::OfLoop::Exit:
        return has(loop.exits);
      }
      return false;
    });
  }
  /// A label without a function is one of the kernel's.
  bool labelsAreHere() const { return own_ || !spec_.function.empty(); }

  void add(uint32_t index, uint64_t edgeTo) {
    const Instr &instr = cfg_.instrs()[index];
    rewrite::Insertion insertion{.position = spec_.position,
                                 .function = &symbol_,
                                 .address = instr.address(),
                                 .edgeTo = edgeTo,
                                 .module = spec_.hook.empty() ? nullptr : hooks_,
                                 .hook = spec_.hook,
                                 .arguments = {},
                                 .result = spec_.result,
                                 .form = rewrite::HookForm::Auto,
                                 .sampling = spec_.sampling,
                                 .predicate = spec_.predicate,
                                 .assembly = spec_.assembly};
    const auto give = [&](const std::vector<SiteSpec::Argument> &from, std::vector<rewrite::Argument> &to) {
      for (const SiteSpec::Argument &argument : from)
        to.push_back(argument.blockSize ? rewrite::Argument::constant(cfg_.blocks()[cfg_.blockOf(index)].count)
                                        : argument.argument);
    };
    give(spec_.arguments, insertion.arguments);
    give(spec_.predicateArguments, insertion.predicateArguments);
    std::string rejected;
    if (spec_.resultOperand) {
      if (*spec_.resultOperand < instr.operands().size())
        insertion.result = instr.operands()[*spec_.resultOperand].regs;
      if (insertion.result.empty())
        rejected = fmt::format("{} has no register as operand {} that could get the result", instr.mnemonic(),
                               *spec_.resultOperand);
    }
    found_.push_back({std::move(insertion), std::move(rejected)});
  }

  const SiteSpec &spec_;
  const analysis::Cfg &cfg_;
  const object::Symbol &symbol_;
  bool own_;
  std::shared_ptr<const hook::HookModule> hooks_;
  std::vector<FoundSite> &found_;
  std::optional<analysis::Loops> loops_; ///< when first asked for
};

} // namespace

Result<std::vector<FoundSite>> sitesOf(const SiteSpec &spec, rewrite::Rewriter &rewriter, const object::Symbol &kernel,
                                       const std::shared_ptr<const hook::HookModule> &hooks) {
  std::vector<FoundSite> found;
  for (const object::Symbol *symbol : LUTHIER_TRY(rewriter.functionsOf(kernel))) {
    if (!spec.function.empty() && matchName(symbol->name, spec.function) != NameMatch::Whole)
      continue;
    const analysis::Function *function = LUTHIER_TRY(rewriter.program().function(*symbol));
    Finder(spec, *function, kernel, found).find(hooks);
  }
  return found;
}

} // namespace luthier::cli
