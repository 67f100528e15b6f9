#include "object/source_lines.h"

#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>

namespace luthier::object {

namespace {

SourceLocation locationFrom(const llvm::DILineInfo &info) {
  // LLVM says "<invalid>" for what it does not know.
  auto known = [](const std::string &text) { return text == llvm::DILineInfo::BadString ? std::string() : text; };
  return {known(info.FileName), info.Line, info.Column, known(info.FunctionName)};
}

const llvm::DILineInfoSpecifier kWanted{llvm::DILineInfoSpecifier::FileLineInfoKind::AbsoluteFilePath,
                                        llvm::DINameKind::LinkageName};

} // namespace

struct SourceLines::State {
  std::unique_ptr<llvm::object::ObjectFile> file;
  std::unique_ptr<llvm::DWARFContext> dwarf;
};

SourceLines::SourceLines(std::unique_ptr<State> state) : state_(std::move(state)) {}
SourceLines::SourceLines(SourceLines &&) noexcept = default;
SourceLines &SourceLines::operator=(SourceLines &&) noexcept = default;
SourceLines::~SourceLines() = default;

Result<SourceLines> SourceLines::of(const CodeObject &object) {
  if (!object.section(".debug_line"))
    return makeError("{}: no line tables (compile with -g)", object.origin());
  const auto *data = reinterpret_cast<const char *>(object.elf().data());
  auto state = std::make_unique<State>();
  auto file = llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(data, object.elf().size()), "code object"));
  if (!file)
    return makeError("{}: {}", object.origin(), llvm::toString(file.takeError()));
  state->file = std::move(*file);
  // Code objects are linked: nothing to relocate. What is broken in the tables is missing from the answers; the code
  // itself is not in doubt, so nobody has to hear of it.
  auto ignore = [](llvm::Error error) { llvm::consumeError(std::move(error)); };
  state->dwarf = llvm::DWARFContext::create(*state->file, llvm::DWARFContext::ProcessDebugRelocations::Ignore, nullptr,
                                            "", ignore, ignore);
  return SourceLines(std::move(state));
}

std::optional<SourceLocation> SourceLines::at(uint64_t address) const {
  const std::vector<SourceLocation> frames = framesAt(address);
  return frames.empty() ? std::nullopt : std::optional(frames.front());
}

std::vector<SourceLocation> SourceLines::framesAt(uint64_t address) const {
  const llvm::DIInliningInfo info =
      state_->dwarf->getInliningInfoForAddress({address, llvm::object::SectionedAddress::UndefSection}, kWanted);
  std::vector<SourceLocation> frames;
  for (uint32_t n = 0; n < info.getNumberOfFrames(); ++n)
    frames.push_back(locationFrom(info.getFrame(n)));
  if (!frames.empty() && frames.front().file.empty() && frames.front().line == 0)
    frames.clear();
  return frames;
}

} // namespace luthier::object
