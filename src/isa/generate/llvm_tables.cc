#include "isa/generate/llvm_tables.h"

#include "isa/llvm_mnemonic.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <map>

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
}
namespace llvm::AMDGPU { // NOLINT(readability-identifier-naming): LLVM's
#if LLVM_VERSION_MAJOR >= 21
enum class OpName;
#else
using OpName = uint16_t;
#endif
int16_t getNamedOperandIdx(uint16_t opcode, OpName name);
} // namespace llvm::AMDGPU

namespace luthier::isa::generate {

namespace {

/// LLVM's look-up does not know how many names there are: behind an instruction's row come those of others. So a name
/// is the first index that finds its operand, and this is only where the search for one that is not there gives up.
constexpr unsigned kMostNames = 256;

struct Example {
  const char *instruction;
  unsigned operand;
  Name name;
};

// Several per name, where forms differ: all must agree.
constexpr Example kExamples[] = {
    {"V_ADD_F32_e32_vi", 0, Name::Vdst},
    {"V_ADD_F32_e32_vi", 1, Name::Src0},
    {"V_ADD_F32_e32_vi", 2, Name::Src1},
    {"V_FMAC_F32_e32_vi", 3, Name::Src2},
    {"V_SWAP_B32_vi", 1, Name::Vdst1},
    {"S_ADD_U32_vi", 0, Name::Sdst},
    {"S_ADD_U32_vi", 1, Name::Src0},
    {"S_ADD_U32_vi", 2, Name::Src1},
    {"V_MADMK_F32_vi", 2, Name::Imm},
    {"S_SETREG_IMM32_B32_vi", 0, Name::Imm},
    {"S_CBRANCH_VCCZ_vi", 0, Name::Simm16},
    {"S_MOVK_I32_vi", 1, Name::Simm16},
    {"BUFFER_LOAD_DWORD_OFFEN_vi", 0, Name::Vdata},
    {"BUFFER_LOAD_DWORD_OFFEN_vi", 1, Name::Vaddr},
    {"BUFFER_LOAD_DWORD_OFFEN_vi", 2, Name::Srsrc},
    {"BUFFER_LOAD_DWORD_OFFEN_vi", 3, Name::Soffset},
    {"BUFFER_LOAD_DWORD_OFFEN_vi", 4, Name::Offset},
    {"BUFFER_ATOMIC_ADD_OFFSET_RTN_vi", 1, Name::VdataIn},
    {"GLOBAL_LOAD_DWORD_SADDR_vi", 0, Name::Vdst},
    {"GLOBAL_LOAD_DWORD_SADDR_vi", 1, Name::Saddr},
    {"GLOBAL_LOAD_DWORD_SADDR_vi", 2, Name::Vaddr},
    {"GLOBAL_LOAD_DWORD_SADDR_vi", 3, Name::Offset},
    {"GLOBAL_LOAD_DWORD_SADDR_vi", 4, Name::CachePolicy}, // which instructions on caches have alone
    {"GLOBAL_STORE_DWORD_SADDR_vi", 1, Name::Vdata},
    {"S_LOAD_DWORD_IMM_vi", 0, Name::Sdst},
    {"S_LOAD_DWORD_IMM_vi", 1, Name::Sbase},
    {"S_LOAD_DWORD_IMM_vi", 2, Name::Offset},
    {"S_LOAD_DWORD_SGPR_IMM_gfx9", 2, Name::Soffset},
    {"S_STORE_DWORD_IMM_vi", 0, Name::Sdata},
    {"DS_READ_B32_vi", 0, Name::Vdst},
    {"DS_READ_B32_vi", 1, Name::Addr},
    {"DS_READ_B32_vi", 2, Name::Offset},
    {"DS_READ_B32_vi", 3, Name::Gds},
    {"DS_WRITE2_B32_vi", 1, Name::Data0},
    {"DS_WRITE2_B32_vi", 2, Name::Data1},
    {"DS_WRITE2_B32_vi", 3, Name::Offset0},
    {"DS_WRITE2_B32_vi", 4, Name::Offset1},
    {"DS_READ_U16_D16_HI_vi", 4, Name::VdstIn},
    {"V_MOV_B32_dpp_vi", 1, Name::Old},
    {"V_MOV_B32_dpp_vi", 3, Name::DppCtrl},
    {"V_MOV_B32_dpp_vi", 4, Name::RowMask},
    {"V_MOV_B32_dpp_vi", 5, Name::BankMask},
    {"V_MOV_B32_dpp_vi", 6, Name::BoundCtrl},
    {"V_ADD3_U32_e64_dpp8_gfx11", 5, Name::Dpp8},
    {"V_ADD_F32_dpp_gfx10", 10, Name::Fi},
    {"V_ADD_F32_e64_vi", 1, Name::Src0Modifiers},
    {"V_ADD_F32_e64_vi", 3, Name::Src1Modifiers},
    {"V_ADD_F32_e64_vi", 5, Name::Clamp},
    {"V_ADD_F32_e64_vi", 6, Name::Omod},
    {"V_FMA_MIXLO_F16_vi", 5, Name::Src2Modifiers},
    {"V_MOV_B32_sdwa_gfx9", 4, Name::DstSel},
    {"V_MOV_B32_sdwa_gfx9", 5, Name::DstUnused},
    {"V_MOV_B32_sdwa_gfx9", 6, Name::Src0Sel},
    {"V_ADD_F32_sdwa_gfx9", 10, Name::Src1Sel},
    {"V_FMA_MIXLO_F16_vi", 9, Name::OpSel},
    {"V_FMA_MIXLO_F16_vi", 10, Name::OpSelHi},
    {"IMAGE_LOAD_V4_V2_gfx10", 1, Name::Vaddr},
    {"IMAGE_LOAD_V4_V2_gfx10", 9, Name::Tfe},
    {"TBUFFER_LOAD_FORMAT_X_OFFEN_vi", 5, Name::Format},
    {"V_MFMA_F32_16X16X4F32_vi", 4, Name::Cbsz},
    {"V_MFMA_F32_16X16X4F32_vi", 5, Name::Abid},
    {"V_MFMA_F32_16X16X4F32_vi", 6, Name::Blgp},
    {"V_SMFMAC_F32_16X16X32_BF16_gfx940", 3, Name::Index},
    {"EXP_vi", 0, Name::Target},
    {"V_DUAL_FMAC_F32_e32_X_FMAC_F32_e32_gfx11", 0, Name::VdstX},
    {"V_DUAL_FMAC_F32_e32_X_FMAC_F32_e32_gfx11", 1, Name::VdstY},
    {"V_DUAL_FMAC_F32_e32_X_FMAC_F32_e32_gfx11", 2, Name::Src0X},
    {"V_DUAL_FMAC_F32_e32_X_FMAC_F32_e32_gfx11", 3, Name::Vsrc1X},
    {"V_DUAL_FMAC_F32_e32_X_FMAC_F32_e32_gfx11", 4, Name::Vsrc2X},
    {"V_DUAL_FMAC_F32_e32_X_FMAC_F32_e32_gfx11", 5, Name::Src0Y},
    {"V_DUAL_FMAC_F32_e32_X_FMAC_F32_e32_gfx11", 6, Name::Vsrc1Y},
    {"V_DUAL_FMAC_F32_e32_X_FMAC_F32_e32_gfx11", 7, Name::Vsrc2Y},
    {"V_DUAL_FMAAK_F32_X_FMAAK_F32_gfx11", 4, Name::ImmDeferred},
};

/// The operand of an instruction that has this name, if it has one.
std::optional<unsigned> operandNamed(unsigned opcode, unsigned name) {
  const int operand =
      llvm::AMDGPU::getNamedOperandIdx(static_cast<uint16_t>(opcode), static_cast<llvm::AMDGPU::OpName>(name));
  return operand >= 0 ? std::optional(static_cast<unsigned>(operand)) : std::nullopt;
}

using NameIndices = std::map<unsigned, Name>;

Result<NameIndices> learnNames(const llvm::MCInstrInfo &info) {
  std::map<std::string, unsigned> byName;
  for (unsigned opcode = 0; opcode < info.getNumOpcodes(); ++opcode)
    byName[info.getName(opcode).str()] = opcode;
  NameIndices names;
  for (const Example &example : kExamples) {
    const auto found = byName.find(example.instruction);
    if (found == byName.end())
      return makeError("LLVM has no {}", example.instruction);
    unsigned name = 0;
    while (name < kMostNames && operandNamed(found->second, name) != example.operand)
      ++name;
    if (name == kMostNames)
      return makeError("operand {} of LLVM's {} has no name", example.operand, example.instruction);
    const auto [known, isNew] = names.try_emplace(name, example.name);
    if (known->second != example.name)
      return makeError("operand {} of LLVM's {} is not what it was", example.operand, example.instruction);
  }
  return names;
}

/// The names of an instruction's operands. LLVM has names for all of them or for none.
std::vector<Name> namesOf(unsigned opcode, size_t operands, const NameIndices &names) {
  std::vector<std::optional<Name>> known(operands);
  for (const auto &[index, name] : names)
    if (const auto operand = operandNamed(opcode, index); operand && *operand < operands)
      known[*operand] = name;
  const bool named = std::ranges::any_of(known, [](const auto &name) { return name.has_value(); });
  std::vector<Name> result;
  for (const auto &name : known)
    result.push_back(name.value_or(named ? Name::Other : Name::None));
  return result;
}

bool isVendorName(std::string_view name) {
  return !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == name.npos;
}

} // namespace

Result<LlvmTables> readLlvmTables() {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTargetMC();
  const llvm::Triple triple("amdgcn-amd-amdhsa");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple.str(), error);
  if (!target)
    return makeError("LLVM has no AMD GPU target: {}", error);
  const llvm::MCTargetOptions options;
  const std::unique_ptr<llvm::MCRegisterInfo> registers(target->createMCRegInfo(triple.str()));
  const std::unique_ptr<llvm::MCAsmInfo> asmInfo(target->createMCAsmInfo(*registers, triple.str(), options));
  const std::unique_ptr<llvm::MCInstrInfo> info(target->createMCInstrInfo());
  const std::unique_ptr<llvm::MCInstPrinter> printer(
      target->createMCInstPrinter(triple, 0, *asmInfo, *info, *registers));

  const NameIndices names = LUTHIER_TRY(learnNames(*info));
  LlvmTables tables;
  for (unsigned opcode = 0; opcode < info->getNumOpcodes(); ++opcode) {
    const llvm::MCInstrDesc &desc = info->get(opcode);
    LlvmInstruction &instruction = tables.instructions.emplace_back();
    instruction.name = info->getName(opcode).str();
    llvm::MCInst inst;
    inst.setOpcode(opcode);
    if (std::string mnemonic = mnemonicOf(*printer, inst); !desc.isPseudo() && desc.getSize() && isVendorName(mnemonic))
      instruction.mnemonic = std::move(mnemonic);
    instruction.size = desc.getSize();
    instruction.defs = desc.getNumDefs();
    const std::vector<Name> operandNames = namesOf(opcode, desc.getNumOperands(), names);
    for (unsigned n = 0; n < desc.getNumOperands(); ++n) {
      const llvm::MCOperandInfo &operand = desc.operands()[n];
      LlvmOperand &out = instruction.operands.emplace_back();
      out.name = operandNames[n];
      out.isRegister = operand.OperandType == llvm::MCOI::OPERAND_REGISTER;
      out.isPcRelative = operand.OperandType == llvm::MCOI::OPERAND_PCREL;
      out.isImmediate = operand.OperandType == llvm::MCOI::OPERAND_IMMEDIATE || out.isPcRelative;
      out.isShortHalf =
          operand.RegClass >= 0 &&
          llvm::StringRef(registers->getRegClassName(&registers->getRegClass(static_cast<unsigned>(operand.RegClass))))
              .ends_with("32_Lo128");
      if (const int tied = desc.getOperandConstraint(n, llvm::MCOI::TIED_TO); tied >= 0)
        out.tiedTo = static_cast<unsigned>(tied);
    }
    instruction.reads.assign(desc.implicit_uses().begin(), desc.implicit_uses().end());
    instruction.writes.assign(desc.implicit_defs().begin(), desc.implicit_defs().end());
  }
  for (unsigned reg = 0; reg < registers->getNumRegs(); ++reg)
    tables.registers.push_back({registers->getName(reg), registers->getEncodingValue(reg)});
  return tables;
}

} // namespace luthier::isa::generate
