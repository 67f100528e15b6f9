#include "runtime/kernel_view.h"

#include "isa/occupancy.h"
#include "support/demangle.h"

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

std::optional<SourceLine> Function::source(const Instr &instr) const {
  runtime::ObjectView &object = *impl_->object;
  if (!object.lines)
    object.lines = object::SourceLines::of(*object.code->object());
  if (!*object.lines)
    return {};
  const auto at = (**object.lines).at(instr.address());
  if (!at)
    return {};
  return SourceLine{at->file, at->line};
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
std::span<const Function> Kernel::functions() const { return impl_->functions; }

// Points.

namespace {

rewrite::Argument toArgument(const Arg &arg, uint64_t object) {
  switch (arg.kind) {
  case Arg::Kind::Constant:
    return rewrite::Argument::constant(arg.value);
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
  rewrite::Insertion insertion{.position = static_cast<rewrite::Position>(place_.position),
                               .function = place_.function
                                               ? ToolAccess::impl(*place_.function).function
                                                     ? &ToolAccess::impl(*place_.function).function->symbol()
                                                     : nullptr
                                               : nullptr,
                               .address = place_.address,
                               .edgeTo = place_.edgeTo,
                               .module = *std::move(module),
                               .hook = hook,
                               .arguments = {}};
  for (const Arg &arg : args)
    insertion.arguments.push_back(toArgument(arg, kernel_->object->code->number()));
  kernel_->insertions.push_back(std::move(insertion));
  last_ = kernel_->insertions.size() - 1;
}

Point &Point::into(RegRange registers) {
  if (last_ < kernel_->insertions.size())
    kernel_->insertions[last_].result = registers;
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
