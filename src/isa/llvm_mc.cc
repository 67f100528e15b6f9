#include "isa/llvm_mc.h"

#include "isa/form.h"
#include "isa/format.h"
#include "isa/target.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

// Declared here because only the AMD GPU target is linked: the header that declares all targets would want them all.
extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUDisassembler();
}

namespace luthier::isa {

Result<std::unique_ptr<LlvmMc>> LlvmMc::create(const Target &target, unsigned waveSize) {
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
  // LLVM 21 crashes over a literal that it may not read: so it may, see
  // decode().
  std::string features = "+vop3-literal";
  if (target.wave32)
    features = waveSize == 32 ? "+wavefrontsize32" : "-wavefrontsize32,+wavefrontsize64";
  auto mc = std::make_unique<LlvmMc>();
  mc->family = target.encoding;
  mc->registers.reset(llvmTarget->createMCRegInfo(triple.str()));
  mc->asmInfo.reset(llvmTarget->createMCAsmInfo(*mc->registers, triple.str(), mc->options));
  mc->instructions.reset(llvmTarget->createMCInstrInfo());
  mc->subtarget.reset(llvmTarget->createMCSubtargetInfo(
      triple.str(), llvm::StringRef(target.name.data(), target.name.size()), features));
  if (!mc->subtarget->isCPUStringValid(llvm::StringRef(target.name.data(), target.name.size())))
    return makeError("LLVM {} has no {}", LLVM_VERSION_STRING, target.name);
  mc->context = std::make_unique<llvm::MCContext>(triple, mc->asmInfo.get(), mc->registers.get(), mc->subtarget.get());
  mc->disassembler.reset(llvmTarget->createMCDisassembler(*mc->subtarget, *mc->context));
  if (mc->family >= EncodingFamily::Gfx11) {
    mc->halvesSubtarget.reset(llvmTarget->createMCSubtargetInfo(
        triple.str(), llvm::StringRef(target.name.data(), target.name.size()), features + ",+real-true16"));
    mc->halvesDisassembler.reset(llvmTarget->createMCDisassembler(*mc->halvesSubtarget, *mc->context));
  }
  mc->printer.reset(llvmTarget->createMCInstPrinter(triple, 0, *mc->asmInfo, *mc->instructions, *mc->registers));
  if (!mc->disassembler || !mc->printer)
    return makeError("LLVM cannot disassemble for {}", target.name);
  return mc;
}

namespace {

constexpr size_t kMostBytes = 20; ///< of an instruction

/// SDWA (gfx8 to gfx10) with selections that do not exist. LLVM decodes them, but its printer runs off its end.
bool hasReservedSdwa(std::span<const uint8_t> bytes) {
  uint32_t words[2];
  if (bytes.size() < sizeof words)
    return false;
  memcpy(words, bytes.data(), sizeof words);
  const bool sdwa = !(words[0] >> 31) && field(words[0], 0, 9) == src::kSdwa; // VOP1, VOP2 and VOPC have bit 31 clear
  if (!sdwa)
    return false;
  const uint32_t opcode = words[0] >> 25;
  const bool vopc = opcode == 0x3e, vop1 = opcode == 0x3f;
  constexpr uint32_t kReservedSelect = 7, kReservedUnused = 3;
  return field(words[1], 16, 3) == kReservedSelect || (!vop1 && field(words[1], 24, 3) == kReservedSelect) ||
         (!vopc && (field(words[1], 8, 3) == kReservedSelect || field(words[1], 11, 2) == kReservedUnused));
}

/// VOPC in the encoding of VOP3, on gfx8 and gfx9.
bool isLongComparison(std::span<const uint8_t> bytes) {
  uint32_t word;
  if (bytes.size() < sizeof word)
    return false;
  memcpy(&word, bytes.data(), sizeof word);
  return field(word, 26, 6) == 0x34 && field(word, 16, 10) < 0x100;
}

/// The top bit of VDST in VOP1 and VOP2, which from gfx11 on selects a half where the result has 16 bits.
constexpr uint8_t kHighResultBit = 1; // of the fourth byte
bool maySelectHalf(std::span<const uint8_t> bytes) {
  if (bytes.size() < 4 || bytes[3] >> 7)
    return false;
  const bool vopc = bytes[3] >> 1 == 0x3e;
  return !vopc && (bytes[3] & kHighResultBit);
}

bool hasHalfResult(const llvm::MCInst &inst) {
  const auto operands = operandsOf(formOf(inst.getOpcode()));
  return !operands.empty() && operands[0].role == Role::Destination && operands[0].half;
}

/// How many bytes show an instruction that begins with these dwords to LLVM, which tries its longest encodings first:
/// half of the time and more goes there. One that turns out to be longer is not recognised in so few.
size_t fewestBytes(EncodingFamily family, uint64_t bits) {
  const auto word = static_cast<uint32_t>(bits);
  const auto source = [&](unsigned low) { return field(bits, low, 9); };
  const auto isDpp = [](uint32_t code) {
    return code == src::kDpp || code == src::kDpp8 || code == src::kDpp8Inactive;
  };
  switch (formatOf(family, word)) {
  case Format::Sopk:
  case Format::Sopp:
    return 4;
  case Format::Sop1:
  case Format::Sop2:
  case Format::Sopc:
    return field(bits, 0, 8) == src::kLiteral || field(bits, 8, 8) == src::kLiteral ? 8 : 4;
  case Format::Vop1:
  case Format::Vop2:
  case Format::Vopc:
    return source(0) == src::kLiteral || source(0) == src::kSdwa || isDpp(source(0)) ? 8 : 4;
  case Format::Vop3:
  case Format::Vop3p:
    if (isDpp(source(32)) || source(32) == src::kLiteral || source(41) == src::kLiteral || source(50) == src::kLiteral)
      return kMostBytes;
    return 8;
  case Format::Smem:
  case Format::Ds:
    return 8;
  default:
    return kMostBytes;
  }
}

} // namespace

bool LlvmMc::decode(std::span<const uint8_t> bytes, uint64_t address, llvm::MCInst &inst, uint64_t &size,
                    bool *highResult) const {
  // LLVM gets as many bytes as any instruction has: LLVM 21 crashes where a literal is missing.
  std::array<uint8_t, kMostBytes> padded{};
  std::ranges::copy(bytes.first(std::min(bytes.size(), padded.size())), padded.begin());
  const auto attempt = [&](const llvm::MCDisassembler &by) {
    uint64_t first;
    memcpy(&first, padded.data(), sizeof first);
    for (const size_t count : {fewestBytes(family, first), kMostBytes}) {
      inst.clear();
      const auto status =
          by.getInstruction(inst, size, llvm::ArrayRef(padded).take_front(count), address, llvm::nulls());
      if (status != llvm::MCDisassembler::Fail || count == kMostBytes)
        return status;
    }
    return llvm::MCDisassembler::Fail;
  };
  auto status = attempt(*disassembler);
  if (status == llvm::MCDisassembler::Fail && family >= EncodingFamily::Gfx11 && maySelectHalf(bytes)) {
    padded[3] &= static_cast<uint8_t>(~kHighResultBit);
    status = attempt(*disassembler);
    if (status == llvm::MCDisassembler::Success && !hasHalfResult(inst))
      return false;
    if (highResult)
      *highResult = status == llvm::MCDisassembler::Success;
  }
  if (status == llvm::MCDisassembler::Fail && halvesDisassembler) {
    std::ranges::copy(bytes.first(std::min(bytes.size(), padded.size())), padded.begin());
    status = attempt(*halvesDisassembler);
  }
  // LLVM 21 has doubts about v_cmpx with a result besides EXEC, which it must have up to gfx9.
  const bool before10 = family < EncodingFamily::Gfx10;
  const bool fine = status == llvm::MCDisassembler::Success ||
                    (status == llvm::MCDisassembler::SoftFail && before10 && isLongComparison(bytes));
  // Before gfx10, VOP3 has no literals.
  return fine && size <= bytes.size() && (!before10 || size <= 8) && !hasReservedSdwa(bytes);
}

std::string LlvmMc::text(std::span<const uint8_t> bytes, uint64_t address) const {
  llvm::MCInst inst;
  uint64_t size = 0;
  if (!decode(bytes, address, inst, size))
    return "<invalid>";
  std::string text;
  llvm::raw_string_ostream stream(text);
  printer->printInst(&inst, address, "", *subtarget, stream);
  stream.flush();
  return text.substr(text.find_first_not_of(" \t"));
}

} // namespace luthier::isa
