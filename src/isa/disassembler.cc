#include "isa/disassembler.h"

#include "isa/encoded.h"
#include "isa/llvm_mc.h"
#include "isa/llvm_mnemonic.h"
#include "isa/target.h"

#include <set>

namespace luthier::isa {

struct Disassembler::Impl {
  const Target &target;
  std::unique_ptr<LlvmMc> mc;
};

Disassembler::Disassembler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Disassembler::~Disassembler() = default;

Result<std::unique_ptr<Disassembler>> Disassembler::create(const Target &target, unsigned waveSize) {
  std::unique_ptr<LlvmMc> mc = LUTHIER_TRY(LlvmMc::create(target, waveSize ? waveSize : target.waveSize));
  return std::unique_ptr<Disassembler>(new Disassembler(std::unique_ptr<Impl>(new Impl{target, std::move(mc)})));
}

Result<Disassembled> Disassembler::disassemble(std::span<const uint8_t> bytes, uint64_t address) {
  llvm::MCInst inst;
  uint64_t size = 0;
  if (!impl_->mc->decode(bytes, address, inst, size))
    return makeError("not an instruction");
  return Disassembled{mnemonicOf(*impl_->mc->printer, inst), static_cast<uint32_t>(size), inst.getOpcode()};
}

bool Disassembler::encoded(std::span<const uint8_t> bytes, uint64_t address, EncodedInstr &out) {
  return decodeEncoded(*impl_->mc, impl_->target, bytes, address, out);
}

std::string Disassembler::text(std::span<const uint8_t> bytes, uint64_t address) {
  return impl_->mc->text(bytes, address);
}

std::vector<std::string> Disassembler::mnemonicsOfAllTargets() const {
  std::set<std::string> names;
  for (unsigned opcode = 0; opcode < impl_->mc->instructions->getNumOpcodes(); ++opcode) {
    llvm::MCInst inst;
    inst.setOpcode(opcode);
    if (std::string name = mnemonicOf(*impl_->mc->printer, inst); !name.empty())
      names.insert(std::move(name));
  }
  return {names.begin(), names.end()};
}

} // namespace luthier::isa
