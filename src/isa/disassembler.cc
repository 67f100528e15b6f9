#include "isa/disassembler.h"

#include "isa/target.h"

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>

// Declared here because only the AMD GPU target is linked: the header that declares all targets would want them all.
extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUDisassembler();
}

namespace luthier::isa {

struct Disassembler::Impl {
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> asmInfo;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;

  bool decode(std::span<const uint8_t> bytes, uint64_t address, llvm::MCInst &inst, uint64_t &size) {
    return disassembler->getInstruction(inst, size, llvm::ArrayRef(bytes.data(), bytes.size()), address,
                                        llvm::nulls()) == llvm::MCDisassembler::Success;
  }

  /// Empty for pseudo instructions that have none.
  std::string mnemonic(const llvm::MCInst &inst) const {
    llvm::StringRef name(printer->getMnemonic(&inst).first);
    name = name.take_until([](char c) { return c == ' ' || c == '\t'; });
    return std::string(withoutEncodingSuffix({name.data(), name.size()}));
  }
};

Disassembler::Disassembler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Disassembler::~Disassembler() = default;

Result<std::unique_ptr<Disassembler>> Disassembler::create(const Target &target) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
  });
  const llvm::Triple triple("amdgcn-amd-amdhsa");
  std::string error;
  const llvm::Target *llvmTarget = llvm::TargetRegistry::lookupTarget(triple.str(), error);
  if (!llvmTarget)
    return makeError("LLVM has no AMD GPU target: {}", error);
  auto impl = std::make_unique<Impl>();
  impl->registers.reset(llvmTarget->createMCRegInfo(triple.str()));
  impl->asmInfo.reset(llvmTarget->createMCAsmInfo(*impl->registers, triple.str(), impl->options));
  impl->instructions.reset(llvmTarget->createMCInstrInfo());
  impl->subtarget.reset(
      llvmTarget->createMCSubtargetInfo(triple.str(), llvm::StringRef(target.name.data(), target.name.size()), ""));
  impl->context =
      std::make_unique<llvm::MCContext>(triple, impl->asmInfo.get(), impl->registers.get(), impl->subtarget.get());
  impl->disassembler.reset(llvmTarget->createMCDisassembler(*impl->subtarget, *impl->context));
  impl->printer.reset(
      llvmTarget->createMCInstPrinter(triple, 0, *impl->asmInfo, *impl->instructions, *impl->registers));
  if (!impl->disassembler || !impl->printer)
    return makeError("LLVM cannot disassemble for {}", target.name);
  return std::unique_ptr<Disassembler>(new Disassembler(std::move(impl)));
}

Result<Disassembled> Disassembler::disassemble(std::span<const uint8_t> bytes, uint64_t address) {
  llvm::MCInst inst;
  uint64_t size = 0;
  if (!impl_->decode(bytes, address, inst, size))
    return makeError("not an instruction");
  return Disassembled{impl_->mnemonic(inst), static_cast<uint32_t>(size), inst.getOpcode()};
}

std::string Disassembler::text(std::span<const uint8_t> bytes, uint64_t address) {
  llvm::MCInst inst;
  uint64_t size = 0;
  if (!impl_->decode(bytes, address, inst, size))
    return "<invalid>";
  std::string text;
  llvm::raw_string_ostream stream(text);
  impl_->printer->printInst(&inst, address, "", *impl_->subtarget, stream);
  stream.flush();
  return text.substr(text.find_first_not_of(" \t"));
}

std::vector<std::string> Disassembler::mnemonicsOfAllTargets() const {
  std::set<std::string> names;
  for (unsigned opcode = 0; opcode < impl_->instructions->getNumOpcodes(); ++opcode) {
    llvm::MCInst inst;
    inst.setOpcode(opcode);
    if (std::string name = impl_->mnemonic(inst); !name.empty())
      names.insert(std::move(name));
  }
  return {names.begin(), names.end()};
}

namespace {

/// The range behind LLVM's name of a register: "VGPR4_VGPR5", "SGPR3", "VCC_LO", "FLAT_SCR_vi". Null for those that are
/// no place to keep a value (MODE, apertures).
std::optional<RegisterUse> rangeOf(llvm::StringRef name) {
  struct Family {
    llvm::StringRef prefix;
    RegisterFile file;
    uint16_t base;
  };
  static constexpr Family kNumbered[] = {{"VGPR", RegisterFile::Vector, 0},
                                         {"AGPR", RegisterFile::Accumulator, 0},
                                         {"SGPR", RegisterFile::Scalar, 0},
                                         {"TTMP", RegisterFile::Scalar, 108}};
  struct Named {
    llvm::StringRef prefix;
    uint16_t first, count;
  };
  static constexpr Named kNamed[] = {{"VCC_LO", 106, 1},    {"VCC_HI", 107, 1},        {"VCC", 106, 2},
                                     {"EXEC_LO", 126, 1},   {"EXEC_HI", 127, 1},       {"EXEC", 126, 2},
                                     {"M0", 124, 1},        {"FLAT_SCR_LO", 102, 1},   {"FLAT_SCR_HI", 103, 1},
                                     {"FLAT_SCR", 102, 2},  {"XNACK_MASK_LO", 104, 1}, {"XNACK_MASK_HI", 105, 1},
                                     {"XNACK_MASK", 104, 2}};
  for (const Family &family : kNumbered) {
    llvm::StringRef rest = name;
    unsigned number = 0;
    if (!rest.consume_front(family.prefix) || rest.consumeInteger(10, number))
      continue;
    const auto parts = name.count(family.prefix);
    return RegisterUse{.file = family.file,
                       .first = static_cast<uint16_t>(family.base + number),
                       .count = static_cast<uint16_t>(parts)};
  }
  for (const Named &named : kNamed)
    if (name.starts_with(named.prefix))
      return RegisterUse{.file = RegisterFile::Scalar, .first = named.first, .count = named.count};
  if (name == "SCC" || name == "SRC_SCC")
    return RegisterUse{.file = RegisterFile::Scc};
  return std::nullopt;
}

} // namespace

std::vector<RegisterUse> Disassembler::registers(std::span<const uint8_t> bytes, uint64_t address) {
  llvm::MCInst inst;
  uint64_t size = 0;
  std::vector<RegisterUse> uses;
  if (!impl_->decode(bytes, address, inst, size))
    return uses;
  const llvm::MCInstrDesc &desc = impl_->instructions->get(inst.getOpcode());
  auto add = [&](unsigned reg, bool read, bool write, bool implicit) {
    std::optional<RegisterUse> use;
    if (reg)
      use = rangeOf(impl_->registers->getName(reg));
    if (!use)
      return;
    auto same = std::ranges::find_if(uses, [&](const RegisterUse &known) {
      return known.file == use->file && known.first == use->first && known.count == use->count;
    });
    if (same == uses.end())
      same = uses.insert(uses.end(), {use->file, use->first, use->count, false, false, implicit});
    same->read |= read;
    same->write |= write;
    same->implicit &= implicit;
  };
  for (unsigned n = 0; n < inst.getNumOperands(); ++n) {
    const llvm::MCOperand &operand = inst.getOperand(n);
    if (!operand.isReg())
      continue;
    const bool write = n < desc.getNumDefs();
    const int tied = n < desc.getNumOperands() ? desc.getOperandConstraint(n, llvm::MCOI::TIED_TO) : -1;
    if (!write && tied >= 0)
      add(inst.getOperand(static_cast<unsigned>(tied)).getReg(), true, true, false);
    else
      add(operand.getReg(), !write, write, false);
  }
  for (const llvm::MCPhysReg reg : desc.implicit_uses())
    add(reg, true, false, true);
  for (const llvm::MCPhysReg reg : desc.implicit_defs())
    add(reg, false, true, true);
  return uses;
}

std::string_view withoutEncodingSuffix(std::string_view mnemonic) {
  // More than one at a time: gfx11 has "_e64_dpp".
  for (std::string_view suffix : {"_dpp", "_sdwa", "_e64", "_e32"})
    if (mnemonic.ends_with(suffix))
      mnemonic.remove_suffix(suffix.size());
  return mnemonic;
}

} // namespace luthier::isa
