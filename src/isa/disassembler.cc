#include "isa/disassembler.h"

#include "isa/llvm_mc.h"
#include "isa/target.h"

#include <algorithm>
#include <optional>
#include <set>

namespace luthier::isa {

struct Disassembler::Impl {
  std::unique_ptr<LlvmMc> mc;

  /// Empty for pseudo instructions that have none.
  std::string mnemonic(const llvm::MCInst &inst) const {
    llvm::StringRef name(mc->printer->getMnemonic(&inst).first);
    name = name.take_until([](char c) { return c == ' ' || c == '\t'; });
    return std::string(withoutEncodingSuffix({name.data(), name.size()}));
  }
};

Disassembler::Disassembler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Disassembler::~Disassembler() = default;

Result<std::unique_ptr<Disassembler>> Disassembler::create(const Target &target) {
  std::unique_ptr<LlvmMc> mc = LUTHIER_TRY(LlvmMc::create(target, target.waveSize));
  return std::unique_ptr<Disassembler>(new Disassembler(std::unique_ptr<Impl>(new Impl{std::move(mc)})));
}

Result<Disassembled> Disassembler::disassemble(std::span<const uint8_t> bytes, uint64_t address) {
  llvm::MCInst inst;
  uint64_t size = 0;
  if (!impl_->mc->decode(bytes, address, inst, size))
    return makeError("not an instruction");
  return Disassembled{impl_->mnemonic(inst), static_cast<uint32_t>(size), inst.getOpcode()};
}

std::string Disassembler::text(std::span<const uint8_t> bytes, uint64_t address) {
  return impl_->mc->text(bytes, address);
}

std::vector<std::string> Disassembler::mnemonicsOfAllTargets() const {
  std::set<std::string> names;
  for (unsigned opcode = 0; opcode < impl_->mc->instructions->getNumOpcodes(); ++opcode) {
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
  if (!impl_->mc->decode(bytes, address, inst, size))
    return uses;
  const llvm::MCInstrDesc &desc = impl_->mc->instructions->get(inst.getOpcode());
  auto add = [&](unsigned reg, bool read, bool write, bool implicit) {
    std::optional<RegisterUse> use;
    if (reg)
      use = rangeOf(impl_->mc->registers->getName(reg));
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
