#include "runtime/kernel_view.h"

#include "isa/access_units.h"
#include "isa/occupancy.h"
#include "support/demangle.h"

#include <fmt/format.h>

namespace luthier {

/// Makes objects whose constructors are not for tools.
struct ToolAccess {
  static Function function(const analysis::Function &function, runtime::ObjectView &object) {
    Function result;
    result.impl_ = std::make_unique<Function::Impl>();
    result.impl_->function = &function;
    result.impl_->object = &object;
    return result;
  }
  static void addBlocks(Function &function) {
    for (uint32_t n = 0; n < function.impl_->function->cfg().blocks().size(); ++n) {
      Block block;
      block.function_ = &function;
      block.number_ = n;
      function.impl_->blocks.push_back(block);
    }
  }
  static KernelId kernelId(uint64_t number) { return KernelId(number); }
  static const Function::Impl &impl(const Function &function) { return *function.impl_; }
  static const Kernel::Impl &impl(const Kernel &kernel) { return *kernel.impl_; }
};

namespace runtime {

Result<std::shared_ptr<const hook::HookModule>> HookModules::of(const HookFile &file) {
  std::lock_guard lock(mutex_);
  auto &module = modules_[&file];
  if (!module)
    module = LUTHIER_TRY(hook::HookModule::load(std::as_bytes(std::span(file.bitcode, file.size)), file.name));
  return module;
}

Result<std::shared_ptr<ObjectView>> ObjectView::create(hsa::SharedCode code, hook::FragmentCompiler &compiler) {
  auto view = std::make_shared<ObjectView>();
  const Result<object::CodeObject> &object = code->object();
  if (!object)
    return object.error();
  view->code = std::move(code);
  view->rewriter = LUTHIER_TRY(rewrite::Rewriter::create(*object, compiler, rewrite::LaunchBlocks::Segment));
  return view;
}

std::unique_ptr<Function> viewOf(const analysis::Function &function, ObjectView &object) {
  auto view = std::make_unique<Function>(ToolAccess::function(function, object));
  ToolAccess::addBlocks(*view);
  return view;
}

KernelId idOf(const KernelIdentity &identity) { return ToolAccess::kernelId(identity.number); }

const analysis::Function &analyzed(const Function &function) { return *ToolAccess::impl(function).function; }

std::shared_ptr<ObjectView> objectOf(const Kernel &kernel) { return ToolAccess::impl(kernel).object; }

} // namespace runtime

// Blocks and functions.

std::span<const Instr> Block::instrs() const {
  const analysis::Cfg &cfg = ToolAccess::impl(*function_).function->cfg();
  return cfg.instrs(cfg.blocks()[number_]);
}

std::vector<uint32_t> Block::successors() const {
  const analysis::Cfg &cfg = ToolAccess::impl(*function_).function->cfg();
  std::vector<uint32_t> result;
  for (const analysis::Edge &edge : cfg.successors(cfg.blocks()[number_]))
    result.push_back(edge.to);
  return result;
}

Function::Function() = default;
Function::~Function() = default;
Function::Function(Function &&) noexcept = default;

std::string Function::name() const { return demangle(impl_->function->symbol().name); }
std::string Function::symbol() const { return std::string(impl_->function->symbol().name); }
std::span<const Instr> Function::instrs() const { return impl_->function->instrs(); }
std::span<const Block> Function::blocks() const { return impl_->blocks; }
uint64_t Function::address() const { return impl_->function->symbol().address; }

std::string Function::text(const Instr &instr) const {
  const auto decoder = impl_->object->rewriter->program().decoder(impl_->function->symbol());
  return decoder ? (*decoder)->text(instr) : std::string();
}

std::optional<uint64_t> Function::callee(const Instr &call) const {
  const Block *in = block(call);
  if (!in || &in->back() != &call)
    return {};
  const analysis::Block &found = impl_->function->cfg().blocks()[in->number()];
  if (found.call == analysis::CallKind::Direct)
    return found.callTarget;
  return found.exit == analysis::Exit::Tail ? std::optional(found.exitTarget) : std::nullopt;
}

void Function::Impl::findLoops() {
  if (found)
    return;
  const analysis::Cfg &cfg = function->cfg();
  found = analysis::Loops::compute(cfg);
  const auto edgesOf = [&](const std::vector<uint32_t> &numbers) {
    std::vector<BlockEdge> edges;
    for (const uint32_t n : numbers)
      edges.push_back({&blocks[cfg.edges()[n].from], &blocks[cfg.edges()[n].to]});
    return edges;
  };
  loops.resize(found->all().size());
  for (size_t n = 0; n < loops.size(); ++n) {
    const analysis::Loop &loop = found->all()[n];
    loops[n] = {.header = &blocks[loop.header],
                .blocks = {},
                .entries = edgesOf(loop.entries),
                .backEdges = edgesOf(loop.backEdges),
                .exits = edgesOf(loop.exits),
                .parent = loop.parent == analysis::Loops::kNone ? nullptr : &loops[loop.parent],
                .depth = loop.depth};
    for (const uint32_t block : loop.blocks)
      loops[n].blocks.push_back(&blocks[block]);
  }
}

std::span<const Loop> Function::loops() const {
  impl_->findLoops();
  return impl_->loops;
}

const Loop *Function::loop(const Block &block) const {
  impl_->findLoops();
  const uint32_t n = block.number() < impl_->blocks.size() ? impl_->found->innermost(block.number()) : UINT32_MAX;
  return n < impl_->loops.size() ? &impl_->loops[n] : nullptr;
}

bool Function::hasOtherCycles() const {
  impl_->findLoops();
  return impl_->found->irreducible();
}

const Block *Function::block(const Instr &instr) const {
  const auto all = instrs();
  if (&instr < all.data() || &instr >= all.data() + all.size())
    return nullptr;
  return &blocks()[impl_->function->cfg().blockOf(instr)];
}

const Instr *Function::previous(const Instr &instr) const {
  const auto all = instrs();
  return &instr > all.data() && &instr < all.data() + all.size() ? &instr - 1 : nullptr;
}

const Instr *Function::next(const Instr &instr) const {
  const auto all = instrs();
  return &instr >= all.data() && &instr + 1 < all.data() + all.size() ? &instr + 1 : nullptr;
}

std::optional<SourceLine> Function::source(const Instr &instr) const {
  runtime::ObjectView &object = *impl_->object;
  if (!object.lines)
    object.lines = object::SourceLines::of(*object.code->object());
  if (!*object.lines)
    return {};
  const auto at = (**object.lines).at(instr.address());
  if (!at)
    return {};
  return SourceLine{at->file, at->line, demangle(at->function)};
}

std::vector<SourceLine> Function::sources(const Instr &instr) const {
  std::vector<SourceLine> lines;
  if (source(instr)) // reads the tables
    for (const object::SourceLocation &frame : (**impl_->object->lines).framesAt(instr.address()))
      lines.push_back({frame.file, frame.line, demangle(frame.function)});
  return lines;
}

std::string SiteOfValue::addressText() const { return fmt::format("{:#x}", address()); }

std::string SiteOfValue::sourceText() const {
  std::string text;
  if (const auto line = source(); line && line->line) // 0: of no line
    text = fmt::format("{}:{}", line->file.substr(line->file.rfind('/') + 1), line->line);
  if (const std::string name = function->name(); name != kernel.name())
    text += fmt::format("{}in {}", text.empty() ? "" : " ", name);
  return text;
}

// Kernels.

Result<std::unique_ptr<Kernel::Impl>> Kernel::Impl::create(std::shared_ptr<runtime::ObjectView> object,
                                                           const object::Symbol &symbol,
                                                           runtime::HookModules &modules) {
  auto impl = std::make_unique<Impl>();
  impl->symbol = &symbol;
  impl->modules = &modules;
  for (const object::Symbol *each : LUTHIER_TRY(object->rewriter->functionsOf(symbol))) {
    const analysis::Function *function = LUTHIER_TRY(object->rewriter->program().function(*each));
    impl->functions.push_back(ToolAccess::function(*function, *object));
  }
  for (Function &function : impl->functions)
    ToolAccess::addBlocks(function);
  const object::CodeObject &file = *object->code->object();
  const object::KernelDescriptor descriptor = LUTHIER_TRY(file.descriptor(symbol));
  impl->resources = {.sgprs = descriptor.sgprs(file.target()),
                     .vgprs = descriptor.vgprs(file.target()),
                     .accVgprs = file.target().unifiedVgprs
                                     ? descriptor.vgprs(file.target()) > descriptor.accumOffset()
                                           ? descriptor.vgprs(file.target()) - descriptor.accumOffset()
                                           : 0
                                     : 0,
                     .scratch = descriptor.privateSegmentSize,
                     .wavesPerSimd = 0};
  const isa::ResourceUse use{.waveSize = descriptor.waveSize(file.target()),
                             .vgprs = impl->resources.vgprs - impl->resources.accVgprs,
                             .accVgprs = impl->resources.accVgprs,
                             .sgprs = impl->resources.sgprs,
                             .ldsBytes = descriptor.groupSegmentSize,
                             .workgroupSize = 0};
  impl->resources.wavesPerSimd = isa::occupancy(file.target(), use).wavesPerSimd;
  impl->object = std::move(object);
  return impl;
}

const Function *Kernel::Impl::functionWith(const Instr &instr) const {
  for (const Function &function : functions)
    if (const auto all = function.instrs(); !all.empty() && &instr >= &all.front() && &instr <= &all.back())
      return &function;
  return nullptr;
}

std::string Kernel::name() const { return demangle(impl_->symbol->name); }
KernelId Kernel::id() const { return KernelId(impl_->identity->number); }
unsigned Kernel::gpu() const { return impl_->identity->gpu; }
std::string Kernel::symbol() const { return std::string(impl_->symbol->name); }
std::string Kernel::target() const { return impl_->object->code->object()->targetId(); }
unsigned Kernel::waveSize() const {
  const object::CodeObject &object = *impl_->object->code->object();
  const auto descriptor = object.descriptor(*impl_->symbol);
  return descriptor ? descriptor->waveSize(object.target()) : object.target().waveSize;
}
unsigned Kernel::variant() const { return impl_->variant; }
uint64_t Kernel::objectNumber() const { return impl_->object->code->number(); }
std::string Kernel::objectUri() const { return impl_->object->code->uri(); }
KernelResources Kernel::resources() const { return impl_->resources; }
TargetFacts Kernel::targetFacts() const {
  const isa::AccessUnits units = isa::accessUnits(impl_->object->code->object()->target());
  return {.cacheLine = units.cacheLine,
          .ldsBanks = units.ldsBanks,
          .ldsBankBytes = units.ldsBankBytes,
          .ldsWideReadsInterleave = units.ldsWideReadsInterleave};
}
std::vector<KernelArgument> Kernel::arguments() const {
  std::vector<KernelArgument> result;
  if (const auto metadata = impl_->object->code->object()->metadata())
    if (const object::KernelMetadata *kernel = metadata->kernel(impl_->symbol->name))
      for (const object::KernelArgument &each : kernel->arguments)
        result.push_back({each.name, each.typeName, each.offset, each.size, each.hidden()});
  return result;
}
std::span<const Function> Kernel::functions() const { return impl_->functions; }

std::string Kernel::functionAt(uint64_t loaded) const { return functions().front().functionAt(loaded); }

std::string Function::functionAt(uint64_t loaded) const {
  const hsa::CapturedCode &code = *impl_->object->code;
  const uint64_t address = loaded - code.loadedAddress(0);
  for (const object::Symbol &symbol : code.object()->symbols())
    if (symbol.address == address &&
        (symbol.kind == object::SymbolKind::DeviceFunction || symbol.kind == object::SymbolKind::Kernel))
      return demangle(symbol.name);
  return {};
}

// Points.

namespace {

rewrite::Argument toArgument(const Arg &arg, uint64_t object) {
  switch (arg.kind) {
  case Arg::Kind::Constant:
    return arg.words.empty() ? rewrite::Argument::constant(arg.value) : rewrite::Argument::constant(arg.words);
  case Arg::Kind::Register:
    return rewrite::Argument::reg(arg.regs);
  case Arg::Kind::Operand:
    return rewrite::Argument::operand(static_cast<unsigned>(arg.value));
  case Arg::Kind::Address:
    return rewrite::Argument::address(static_cast<unsigned>(arg.value));
  case Arg::Kind::Width:
    return rewrite::Argument::width();
  case Arg::Kind::Pc:
    return rewrite::Argument::pc(object);
  case Arg::Kind::Launch:
    return rewrite::Argument::launchValue(arg.launch);
  case Arg::Kind::Source:
    return rewrite::Argument::source(static_cast<unsigned>(arg.value));
  case Arg::Kind::Result:
    return rewrite::Argument::instrResult();
  case Arg::Kind::Callee:
    return rewrite::Argument::callee();
  case Arg::Kind::Kernarg:
    return arg.name.empty() ? rewrite::Argument::kernarg(arg.value) : rewrite::Argument::kernarg(arg.name);
  }
  return {};
}

} // namespace

void Point::add(const HookFile &file, const char *hook, std::span<const Arg> args) {
  auto module = kernel_->modules->of(file);
  if (!module) {
    if (kernel_->error.empty())
      kernel_->error = module.error().message();
    return;
  }
  rewrite::Insertion insertion;
  insertion.module = *std::move(module);
  insertion.hook = hook;
  for (const Arg &arg : args)
    insertion.arguments.push_back(toArgument(arg, kernel_->object->code->number()));
  add(std::move(insertion));
}

/// At this point.
void Point::add(rewrite::Insertion insertion) {
  insertion.position = static_cast<rewrite::Position>(place_.position);
  if (const analysis::Function *function = place_.function ? ToolAccess::impl(*place_.function).function : nullptr)
    insertion.function = &function->symbol();
  insertion.address = place_.address;
  insertion.edgeTo = place_.edgeTo;
  kernel_->insertions.push_back(std::move(insertion));
  last_ = kernel_->insertions.size() - 1;
}

Point &Point::assembly(std::string text) {
  rewrite::Insertion insertion;
  insertion.assembly = rewrite::Assembly{.text = std::move(text)};
  add(std::move(insertion));
  return *this;
}

Point &Point::changes(RegRange registers) {
  if (last_ < kernel_->insertions.size()) {
    rewrite::Insertion &insertion = kernel_->insertions[last_];
    if (insertion.assembly)
      insertion.assembly->changes.insert(registers);
    else if (kernel_->error.empty())
      kernel_->error =
          fmt::format("hook {} cannot be said to change {}: that is for assembly", insertion.hook, toString(registers));
  }
  return *this;
}

Point &Point::into(RegRange registers) {
  if (last_ < kernel_->insertions.size())
    kernel_->insertions[last_].result = registers;
  return *this;
}

Point &Point::inlined() { return as(static_cast<uint8_t>(rewrite::HookForm::Inline)); }
Point &Point::shared() { return as(static_cast<uint8_t>(rewrite::HookForm::Shared)); }

Point &Point::as(uint8_t form) {
  if (last_ < kernel_->insertions.size())
    kernel_->insertions[last_].form = static_cast<rewrite::HookForm>(form);
  return *this;
}

Point &Point::every(uint32_t n) {
  if (last_ < kernel_->insertions.size())
    kernel_->insertions[last_].sampling.every = n;
  return *this;
}

Point &Point::every(uint32_t n, uint32_t counter) {
  if (last_ < kernel_->insertions.size())
    kernel_->insertions[last_].sampling.counter = counter;
  return every(n);
}

Point &Point::when(const HookFile &file, const char *variable) {
  if (last_ >= kernel_->insertions.size())
    return *this;
  rewrite::Insertion &insertion = kernel_->insertions[last_];
  const auto module = kernel_->modules->of(file);
  if (module && *module == insertion.module)
    insertion.sampling.when = variable;
  else if (kernel_->error.empty())
    kernel_->error =
        fmt::format("hook {} cannot depend on {} of another file, {}", insertion.hook, variable, file.name);
  return *this;
}

Point &Point::when(const HookFile &file, const char *predicate, std::span<const Arg> args) {
  if (last_ >= kernel_->insertions.size())
    return *this;
  rewrite::Insertion &insertion = kernel_->insertions[last_];
  const auto module = kernel_->modules->of(file);
  if (module && *module == insertion.module) {
    insertion.predicate = predicate;
    insertion.predicateArguments.clear();
    for (const Arg &arg : args)
      insertion.predicateArguments.push_back(toArgument(arg, kernel_->object->code->number()));
  } else if (kernel_->error.empty())
    kernel_->error =
        fmt::format("hook {} cannot depend on {} of another file, {}", insertion.hook, predicate, file.name);
  return *this;
}

Point Site::at(uint8_t position, const Instr &instr) const {
  // An instruction of another kernel is refused by its address, which the rewriter will not find.
  return Point(*kernel_, {position, kernel_->functionWith(instr), instr.address(), 0});
}

Point Site::before(const Instr &instr) const { return at(static_cast<uint8_t>(rewrite::Position::Before), instr); }
Point Site::after(const Instr &instr) const { return at(static_cast<uint8_t>(rewrite::Position::After), instr); }
Point Site::replace(const Instr &instr) const { return at(static_cast<uint8_t>(rewrite::Position::Replace), instr); }

void Site::remove(const Instr &instr) const {
  const Function *function = kernel_->functionWith(instr);
  kernel_->insertions.push_back({.position = rewrite::Position::Remove,
                                 .function = function ? &ToolAccess::impl(*function).function->symbol() : nullptr,
                                 .address = instr.address(),
                                 .module = nullptr,
                                 .hook = {},
                                 .arguments = {}});
}

void Site::observe() const { kernel_->observed = true; }

Point Site::entry(const Block &block) const {
  return Point(*kernel_,
               {static_cast<uint8_t>(rewrite::Position::BlockEntry), &block.function(), block.front().address(), 0});
}
Point Site::edge(const Block &from, const Block &to) const {
  return Point(*kernel_, {static_cast<uint8_t>(rewrite::Position::Edge), &from.function(), from.back().address(),
                          to.front().address()});
}
Point Site::entry(const Function &function) const {
  return Point(*kernel_, {static_cast<uint8_t>(rewrite::Position::FunctionEntry), &function, 0, 0});
}
Point Site::exit(const Function &function) const {
  return Point(*kernel_, {static_cast<uint8_t>(rewrite::Position::FunctionExit), &function, 0, 0});
}
Point Site::entry(const Kernel &) const {
  return Point(*kernel_, {static_cast<uint8_t>(rewrite::Position::KernelEntry), nullptr, 0, 0});
}
Point Site::exit(const Kernel &) const {
  return Point(*kernel_, {static_cast<uint8_t>(rewrite::Position::KernelExit), nullptr, 0, 0});
}

} // namespace luthier
