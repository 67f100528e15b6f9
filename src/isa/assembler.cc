#include "isa/assembler.h"

#include <llvm/MC/MCAsmBackend.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCObjectWriter.h>
#include <llvm/MC/MCParser/MCAsmParser.h>
#include <llvm/MC/MCParser/MCTargetAsmParser.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <elf.h>
#include <fmt/format.h>

#include <cstring>
#include <mutex>

// Declared here because only the AMD GPU target is linked.
extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmParser();
}

namespace luthier::isa {

namespace {

/// One of many lines of text: line, column and what is there are named.
void collect(const llvm::SMDiagnostic &diagnostic, void *text) {
  auto &all = *static_cast<std::string *>(text);
  all += all.empty() ? "" : "; ";
  if (diagnostic.getLineNo() > 0)
    all += fmt::format("line {}, column {}: ", diagnostic.getLineNo(), diagnostic.getColumnNo() + 1);
  all += diagnostic.getMessage();
  if (const llvm::StringRef line = diagnostic.getLineContents().trim(); !line.empty())
    all += fmt::format(": {}", std::string_view(line));
}

template <class T> T readAt(const std::vector<uint8_t> &bytes, uint64_t offset) {
  T value{};
  if (offset + sizeof value <= bytes.size())
    memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

} // namespace

Result<std::vector<uint8_t>> assembleObject(const Target &target, std::string_view source, unsigned waveSize) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmParser();
  });
  const llvm::Triple triple("amdgcn-amd-amdhsa");
  std::string error;
  const llvm::Target *llvmTarget = llvm::TargetRegistry::lookupTarget(triple.str(), error);
  if (!llvmTarget)
    return makeError("LLVM has no AMD GPU target: {}", error);

  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(source.data(), source.size()), "snippet"), llvm::SMLoc());
  std::string diagnostics;
  sources.setDiagHandler(collect, &diagnostics);

  const llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers(llvmTarget->createMCRegInfo(triple.str()));
  std::unique_ptr<llvm::MCAsmInfo> asmInfo(llvmTarget->createMCAsmInfo(*registers, triple.str(), options));
  std::unique_ptr<llvm::MCInstrInfo> instructions(llvmTarget->createMCInstrInfo());
  std::string features;
  if (target.wave32 && waveSize)
    features = waveSize == 32 ? "+wavefrontsize32" : "-wavefrontsize32,+wavefrontsize64";
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(llvmTarget->createMCSubtargetInfo(
      triple.str(), llvm::StringRef(target.name.data(), target.name.size()), features));
  llvm::MCContext context(triple, asmInfo.get(), registers.get(), subtarget.get(), &sources, &options);
  context.setDiagnosticHandler([&](const llvm::SMDiagnostic &diagnostic, bool, const llvm::SourceMgr &,
                                   std::vector<const llvm::MDNode *> &) { collect(diagnostic, &diagnostics); });
  std::unique_ptr<llvm::MCObjectFileInfo> fileInfo(llvmTarget->createMCObjectFileInfo(context, true));
  context.setObjectFileInfo(fileInfo.get());

  llvm::SmallVector<char, 0> image;
  llvm::raw_svector_ostream stream(image);
  std::unique_ptr<llvm::MCAsmBackend> backend(llvmTarget->createMCAsmBackend(*subtarget, *registers, options));
  std::unique_ptr<llvm::MCCodeEmitter> emitter(llvmTarget->createMCCodeEmitter(*instructions, context));
  std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(stream);
  std::unique_ptr<llvm::MCStreamer> streamer(llvmTarget->createMCObjectStreamer(
      triple, context, std::move(backend), std::move(writer), std::move(emitter), *subtarget));
  std::unique_ptr<llvm::MCAsmParser> parser(llvm::createMCAsmParser(sources, context, *streamer, *asmInfo));
  std::unique_ptr<llvm::MCTargetAsmParser> targetParser(
      llvmTarget->createMCAsmParser(*subtarget, *parser, *instructions, options));
  if (!targetParser)
    return makeError("LLVM cannot assemble for {}", target.name);
  parser->setTargetParser(*targetParser);
  if (parser->Run(false) || context.hadError())
    return makeError("cannot assemble: {}", diagnostics);
  return std::vector<uint8_t>(image.begin(), image.end());
}

Result<std::vector<uint8_t>> assemble(const Target &target, std::string_view source, unsigned waveSize) {
  const std::vector<uint8_t> object = LUTHIER_TRY(assembleObject(target, source, waveSize));
  const auto header = readAt<Elf64_Ehdr>(object, 0);
  auto section = [&](unsigned n) { return readAt<Elf64_Shdr>(object, header.e_shoff + n * sizeof(Elf64_Shdr)); };
  const Elf64_Shdr names = section(header.e_shstrndx);
  std::vector<uint8_t> code;
  for (unsigned n = 0; n < header.e_shnum; ++n) {
    const Elf64_Shdr s = section(n);
    const std::string_view name(reinterpret_cast<const char *>(object.data()) + names.sh_offset + s.sh_name);
    if (name == ".text")
      code.assign(object.begin() + static_cast<long>(s.sh_offset),
                  object.begin() + static_cast<long>(s.sh_offset + s.sh_size));
    else if (name == ".rela.text" || name == ".rel.text")
      return makeError("the code refers to something outside itself");
  }
  return code;
}

} // namespace luthier::isa
