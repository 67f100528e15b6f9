#include "runtime/code_listing.h"

#include <fmt/format.h>

#include <map>

namespace luthier::runtime {

report::KernelCode listCode(const Kernel &kernel) {
  report::KernelCode code;
  std::map<report::SourceLine, uint32_t> lines;
  const auto lineOf = [&](const Function &function, const Instr &instr) -> uint32_t {
    const auto source = function.source(instr);
    if (!source || source->file.empty() || source->line == 0)
      return 0;
    const report::SourceLine line{source->file, source->line};
    const auto [known, isNew] = lines.try_emplace(line, static_cast<uint32_t>(lines.size()) + 1);
    if (isNew)
      code.lines.push_back(line);
    return known->second;
  };
  for (const Function &function : kernel.functions()) {
    report::CodeFunction &listed = code.functions.emplace_back();
    listed.name = function.name();
    listed.symbol = function.symbol();
    listed.address = function.address();
    for (const Block &block : function.blocks()) {
      listed.blocks.push_back({static_cast<uint32_t>(listed.instrs.size()), block.successors()});
      for (const Instr &instr : block.instrs())
        listed.instrs.push_back(
            {instr.address() - function.address(), function.text(instr), block.number(), lineOf(function, instr)});
    }
  }
  return code;
}

std::string placeName(const Kernel &kernel, uint64_t address) {
  for (const Function &function : kernel.functions())
    for (const Instr &instr : function.instrs())
      if (instr.address() == address)
        return fmt::format("{} +{}: {}", function.name(), address - function.address(), function.text(instr));
  return "";
}

} // namespace luthier::runtime
