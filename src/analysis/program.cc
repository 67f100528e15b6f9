#include "analysis/program.h"

#include "analysis/scalar_values.h"

#include <algorithm>
#include <cstring>

namespace luthier::analysis {

namespace {

/// What the loader puts into eight bytes of the image, if that is an address within it.
std::optional<uint64_t> loadedAddress(const object::CodeObject &object, uint64_t slot) {
  const object::Relocation *relocation = object.relocationAt(slot);
  if (!relocation || !relocation->defined)
    return {};
  switch (static_cast<object::RelocationType>(relocation->type)) {
  case object::RelocationType::Relative64:
    return static_cast<uint64_t>(relocation->addend);
  case object::RelocationType::Abs64:
    return relocation->symbolAddress + static_cast<uint64_t>(relocation->addend);
  default:
    return {};
  }
}

/// What the space between functions is filled with. Waves run through s_nop; the other two stop them.
enum class Filler : uint8_t { None, Nop, Stop };

Filler fillerAt(const object::CodeObject &object, uint64_t address) {
  constexpr uint32_t kNop = 0xbf80, kCodeEnd = 0xbf9f0000; // s_nop with any count; s_code_end
  const auto bytes = object.bytesAt(address, sizeof(uint32_t));
  if (!bytes)
    return Filler::Stop; // nothing is there
  uint32_t word = 0;
  std::memcpy(&word, bytes->data(), sizeof word);
  if (word == 0 || word == kCodeEnd)
    return Filler::Stop;
  return word >> 16 == kNop ? Filler::Nop : Filler::None;
}

/// Where control goes from the last instruction of a function, if that goes on; nothing: nowhere.
///
/// Behind a call or a trap there is only code if a function starts right there, and not behind LLVM's trap, which never
/// comes back (AMDGPUUsage, "Trap Handler ABI"). Other instructions go on through s_nop, as the hardware does.
std::optional<uint64_t> behindEnd(const object::CodeObject &object, const Instr &last) {
  constexpr int64_t kDebugTrap = 3; // a debugger may go on behind it, and without one it does nothing
  const bool trap = last.opcode() == Opcode::S_TRAP;
  const bool debugTrap = std::ranges::any_of(last.operands(), [](const Operand &operand) {
    return operand.kind != OperandKind::Register && (operand.value & 0xff) == kDebugTrap;
  });
  const auto starts = [&](uint64_t address) {
    const object::Symbol *symbol = object.functionAt(address);
    return symbol && symbol->address == address;
  };
  uint64_t address = last.end();
  if (trap && !debugTrap)
    return {};
  if (trap || last.is(Property::Call))
    return starts(address) ? std::optional(address) : std::nullopt;
  constexpr uint64_t kMostFiller = 4096; // no function is aligned to more, and files must not make this take long
  for (; address < last.end() + kMostFiller; address += sizeof(uint32_t)) {
    if (object.functionAt(address))
      return address;
    const Filler filler = fillerAt(object, address);
    if (filler == Filler::Stop)
      return {};
    if (filler == Filler::None)
      break;
  }
  return last.end(); // code that no symbol names
}

/// Where a function finds its return address. Hooks that are called know no convention: they return by their last
/// instruction, through a pair that nothing else in them names.
unsigned returnPairOf(const object::Symbol &symbol, std::span<const Instr> instrs) {
  constexpr unsigned kConvention = 30;
  if (symbol.name.find(kSharedHookInfix) == std::string_view::npos || instrs.empty() ||
      instrs.back().opcode() != Opcode::S_SETPC_B64)
    return kConvention;
  for (const Operand &operand : instrs.back().operands())
    if (operand.kind == OperandKind::Register && operand.regs.count == 2 && operand.regs.first < Reg::VccLo)
      return number(operand.regs.first);
  return kConvention;
}

} // namespace

Result<std::unique_ptr<Function>> Function::decode(isa::Decoder &decoder, const object::CodeObject &object,
                                                   const object::Symbol &symbol, const Callees &callees) {
  std::unique_ptr<Function> function(new Function);
  function->symbol_ = &symbol;
  auto bytes = LUTHIER_TRY(object.code(symbol));
  uint64_t address = symbol.address;
  // What comes first in a kernel with preloaded arguments is for firmware that cannot preload them, and ends there.
  constexpr uint64_t kSkip = object::KernelDescriptor::kPreloadSkip;
  if (symbol.kind == object::SymbolKind::Kernel && LUTHIER_TRY(object.descriptor(symbol)).preloadLength() &&
      bytes.size() > kSkip) {
    bytes = bytes.subspan(kSkip);
    address += kSkip;
  }
  auto code = decoder.decode(bytes, address);
  if (!code)
    return code.error().withContext(fmt::format("{}: {}", object.origin(), symbol.name));
  function->code_ = *std::move(code);

  const bool kernel = function->isKernel();
  const auto instrs = function->code_.instrs();
  Cfg::Context flow{.kernel = kernel,
                    .values = nullptr,
                    .mayReturn = callees.mayReturn,
                    .behind = [&object](const Instr &last) { return behindEnd(object, last); }};
  function->cfg_ = Cfg::build(instrs, flow);
  if (!ScalarValues::needed(instrs))
    return function;

  // Jumps that are resolved add edges, and edges may take knowledge away again; rounds end when they agree.
  const ScalarValues::Context context{.kernel = kernel,
                                      .returnPair = returnPairOf(symbol, instrs),
                                      .loaded = [&object](uint64_t slot) { return loadedAddress(object, slot); },
                                      .clobbers = callees.clobbers};
  ScalarValues values;
  flow.values = &values;
  for (int round = 0;; ++round) {
    ScalarValues next = ScalarValues::compute(function->cfg_, context);
    next.addSeen(values);
    const bool same = round != 0 && std::ranges::equal(values.targets(), next.targets()) &&
                      std::ranges::equal(values.taken(), next.taken());
    values = std::move(next);
    if (same)
      break;
    if (round == 8) { // they never will: nothing is known then
      flow.values = nullptr;
      function->cfg_ = Cfg::build(instrs, flow);
      break;
    }
    function->cfg_ = Cfg::build(instrs, flow);
  }
  function->addresses_.assign(values.taken().begin(), values.taken().end());
  function->slots_.assign(values.slots().begin(), values.slots().end());
  return function;
}

Result<std::unique_ptr<Program>> Program::create(const object::CodeObject &object) {
  if (!object.hasTarget())
    return makeError("{}: instructions of {} cannot be decoded", object.origin(), object.targetId());
  std::unique_ptr<Program> program(new Program);
  program->object_ = &object;
  for (const object::Symbol &symbol : object.symbols())
    if (symbol.kind != object::SymbolKind::Variable && symbol.defined)
      program->functions_.push_back(&symbol);
  std::ranges::sort(program->functions_, {},
                    [](const object::Symbol *symbol) { return std::pair(symbol->address, symbol->name); });
  return program;
}

Result<isa::Decoder *> Program::decoder(const object::Symbol &function) {
  // Code does not say for which wave size it was compiled, descriptors do, and a compilation has but one.
  const isa::Target &target = object_->target();
  unsigned waveSize = target.waveSize;
  const object::Symbol *kernel = function.kind == object::SymbolKind::Kernel ? &function : nullptr;
  if (!kernel && !object_->kernels().empty())
    kernel = &object_->kernels().front();
  if (kernel && target.wave32)
    waveSize = LUTHIER_TRY(object_->descriptor(*kernel)).waveSize(target);
  std::unique_ptr<isa::Decoder> &slot = waveSize == 32 ? wave32_ : wave64_;
  if (!slot)
    slot = LUTHIER_TRY(isa::Decoder::create(target, waveSize));
  return slot.get();
}

Result<const Function *> Program::function(const object::Symbol &symbol) {
  if (const auto found = decoded_.find(&symbol); found != decoded_.end())
    return found->second.get();
  isa::Decoder &decoder = *LUTHIER_TRY(this->decoder(symbol));
  // Decoding may ask for callees, which are put into the map meanwhile; if they call this one, it is there already.
  auto function = LUTHIER_TRY(Function::decode(decoder, *object_, symbol, callees()));
  return decoded_.try_emplace(&symbol, std::move(function)).first->second.get();
}

const RegSet *Program::clobbers(uint64_t address) {
  if (const auto found = written_.find(address); found != written_.end())
    return found->second.done ? &found->second.regs : nullptr;
  const object::Symbol *symbol = startingAt(address);
  if (!symbol || depth_ == kMaxCallDepth)
    return nullptr;
  Written &written = written_[address];
  ++depth_;
  const RegSet *regs = findClobbers(*symbol, written);
  --depth_;
  return regs;
}

const RegSet *Program::findClobbers(const object::Symbol &symbol, Written &written) {
  const auto function = this->function(symbol);
  if (!function)
    return nullptr;
  bool known = true;
  for (const Instr &instr : (*function)->instrs())
    for (RegRange range : instr.writes())
      written.regs.insert(range);
  const auto addCallee = [&](uint64_t callee) {
    const RegSet *regs = clobbers(callee);
    known &= regs != nullptr;
    if (regs)
      written.regs |= *regs;
  };
  for (const Block &block : (*function)->cfg().blocks()) {
    known &= block.call != CallKind::Indirect && block.exit != Exit::Unknown;
    if (block.call == CallKind::Direct)
      addCallee(block.callTarget);
    if (block.exit == Exit::Tail || (block.exit == Exit::FallsOut && block.reachable))
      addCallee(block.exitTarget);
  }
  written.done = known;
  return known ? &written.regs : nullptr;
}

bool Program::mayReturn(uint64_t address) {
  const object::Symbol *symbol = startingAt(address);
  if (!symbol || depth_ == kMaxCallDepth)
    return true;
  const auto [entry, added] = mayReturn_.try_emplace(address, true);
  if (!added)
    return entry->second;
  ++depth_;
  const auto function = this->function(*symbol);
  if (function)
    entry->second = std::ranges::any_of((*function)->cfg().blocks(), [this](const Block &block) {
      const bool leaves = block.exit == Exit::Tail || block.exit == Exit::FallsOut;
      return block.reachable &&
             (block.exit == Exit::Return || block.exit == Exit::Unknown || (leaves && mayReturn(block.exitTarget)));
    });
  --depth_;
  return entry->second;
}

const object::Symbol *Program::startingAt(uint64_t address) const {
  const object::Symbol *best = nullptr;
  const auto byAddress = [](const object::Symbol *symbol) { return symbol->address; };
  for (const object::Symbol *symbol : std::ranges::equal_range(functions_, address, {}, byAddress))
    if (!best || symbol->size > best->size)
      best = symbol;
  return best;
}

} // namespace luthier::analysis
