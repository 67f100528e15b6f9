#include "rewrite/tool_variables.h"

#include <algorithm>

namespace luthier::rewrite {

using object::ElfWriter;
using object::WriterSymbol;

WriterSymbol symbolOf(std::string name, unsigned binding, unsigned type, uint32_t section, uint64_t address,
                      uint64_t size) {
  return {std::move(name),
          {.st_name = 0,
           .st_info = static_cast<unsigned char>(ELF64_ST_INFO(binding, type)),
           .st_other = static_cast<unsigned char>(binding == STB_LOCAL ? STV_DEFAULT : STV_PROTECTED),
           .st_shndx = static_cast<Elf64_Section>(section),
           .st_value = address,
           .st_size = size}};
}

void addGlobal(ElfWriter &writer, const WriterSymbol &symbol) {
  writer.dynamicSymbols.push_back(symbol);
  if (writer.hasSymbols())
    writer.symbols.push_back(symbol);
}

namespace {

std::string arrayName(std::string_view kernel, const hook::Variable &variable) {
  return fmt::format("{}${}", kernel, variable.symbol);
}

} // namespace

Result<void> ToolVariables::claim(const object::CodeObject &original, const hook::HookModule &module,
                                  const hook::Variable &variable, const std::string &name) {
  if (original.find(name))
    return makeError("{}: the variable '{}' of {} has the name of a symbol of this object", original.origin(), name,
                     module.origin());
  if (const auto [it, fresh] = names_.emplace(name, &module); !fresh)
    return makeError("{}: the variable '{}' is in {} and in {}", original.origin(), name, it->second->origin(),
                     module.origin());
  if (variable.alignment > object::ElfWriter::kPage)
    return makeError("{}: the variable '{}' of {} is aligned to {} bytes, loaded code objects to {} only",
                     original.origin(), name, module.origin(), variable.alignment, object::ElfWriter::kPage);
  if (variable.contents.size() > variable.size || variable.alignment == 0 ||
      (variable.alignment & (variable.alignment - 1)))
    return makeError("{}: the variable '{}' of {} ({:#x} bytes, {:#x} of them given, aligned to {}) is malformed",
                     original.origin(), name, module.origin(), variable.size, variable.contents.size(),
                     variable.alignment);
  return {};
}

Result<void> ToolVariables::addDevice(const object::CodeObject &original, const UsedVariable &used) {
  if (!symbols_.emplace(Key(used.module.get(), used.variable, nullptr), 0).second)
    return {};
  const hook::Variable &variable = used.module->variables()[used.variable];
  if (auto ok = claim(original, *used.module, variable, variable.symbol); !ok)
    return ok;
  blocks_.push_back({variable.size, variable.alignment, variable.contents, {{used.module.get(), used.variable, 0}}});
  return {};
}

Result<void> ToolVariables::addSites(const object::CodeObject &original, const Variant &variant,
                                     const UsedVariable &used) {
  const hook::Variable &variable = used.module->variables()[used.variable];
  const std::string name = arrayName(variant.kernel->name, variable);
  if (auto ok = claim(original, *used.module, variable, name); !ok)
    return ok;
  symbols_.emplace(Key(used.module.get(), used.variable, variant.kernel), 0);
  Block block{.size = used.copies.size() * variable.stride(),
              .alignment = variable.alignment,
              .contents = {},
              .members = {{used.module.get(), used.variable, 0, variant.kernel}}};
  if (!variable.contents.empty()) {
    block.contents.resize(block.size);
    for (size_t n = 0; n < used.copies.size(); ++n)
      std::ranges::copy(variable.contents, block.contents.begin() + static_cast<ptrdiff_t>(n * variable.stride()));
  }
  blocks_.push_back(std::move(block));
  return {};
}

Result<void> ToolVariables::addLaunchBlock(const object::CodeObject &original, const hook::HookModule &module) {
  Block block{.size = module.perLaunchBytes(), .alignment = module.perLaunchAlignment(), .contents = {}, .members = {}};
  const auto all = module.variables();
  for (uint32_t n = 0; n < all.size(); ++n) {
    if (all[n].storage != hook::Storage::PerLaunch)
      continue;
    if (!symbols_.emplace(Key(&module, n, nullptr), 0).second)
      return {}; // the block is there already
    if (auto ok = claim(original, module, all[n], all[n].symbol); !ok)
      return ok;
    if (all[n].offset > block.size || block.size - all[n].offset < all[n].size)
      return makeError("{}: the variable '{}' of {} lies outside the block of {:#x} bytes", original.origin(),
                       all[n].symbol, module.origin(), block.size);
    block.members.push_back({&module, n, all[n].offset});
    if (!all[n].contents.empty()) {
      block.contents.resize(block.size);
      std::ranges::copy(all[n].contents, block.contents.begin() + static_cast<ptrdiff_t>(all[n].offset));
    }
  }
  blocks_.push_back(std::move(block));
  return {};
}

Result<void> ToolVariables::collect(const object::CodeObject &original, std::span<const Variant> variants) {
  for (const Variant &variant : variants)
    for (const UsedVariable &used : variant.variables) {
      Result<void> ok;
      if (used.variable == UsedVariable::kLaunchBlock) {
        if (ok = addLaunchBlock(original, *used.module); !ok)
          return ok;
        continue;
      }
      switch (used.module->variables()[used.variable].storage) {
      case hook::Storage::Device:
        ok = addDevice(original, used);
        break;
      case hook::Storage::PerLaunch:
        ok = addLaunchBlock(original, *used.module);
        break;
      case hook::Storage::PerSite:
        ok = addSites(original, variant, used);
        break;
      case hook::Storage::PerWave:
      case hook::Storage::PerLane:
      case hook::Storage::Lds:
      case hook::Storage::PerWorkgroup:
        break;
      }
      if (!ok)
        return ok;
    }
  return {};
}

uint32_t ToolVariables::symbolOf(const Variant &variant, uint32_t variable) const {
  const UsedVariable &used = variant.variables[variable];
  uint32_t number = used.variable;
  if (number == UsedVariable::kLaunchBlock)
    for (uint32_t n = 0; n < used.module->variables().size(); ++n)
      if (used.module->variables()[n].storage == hook::Storage::PerLaunch && used.module->variables()[n].offset == 0)
        number = n; // the block starts with it
  return symbols_.at({used.module.get(), number, used.isPerSite() ? variant.kernel : nullptr});
}

Result<void> ToolVariables::emit(ElfWriter &writer) {
  // What has contents first: zeros at the end of a segment need no room in the file.
  for (const bool zeros : {false, true}) {
    ElfWriter::NewSection section{.name = zeros ? ".luthier.bss" : ".luthier.data",
                                  .type = static_cast<uint32_t>(zeros ? SHT_NOBITS : SHT_PROGBITS),
                                  .flags = SHF_ALLOC | SHF_WRITE,
                                  .alignment = 1,
                                  .contents = {},
                                  .size = 0};
    std::vector<std::pair<const Block *, uint64_t>> placed;
    for (const Block &block : blocks_) {
      if (block.contents.empty() != zeros)
        continue;
      const uint64_t offset = alignUp(section.size, block.alignment);
      if (offset < section.size || block.size > UINT32_MAX)
        return makeError("{:#x} bytes of variables do not fit into a code object", block.size);
      placed.emplace_back(&block, offset);
      section.size = offset + block.size;
      section.alignment = std::max(section.alignment, block.alignment);
      if (!zeros) {
        section.contents.resize(section.size);
        std::ranges::copy(block.contents, section.contents.begin() + static_cast<ptrdiff_t>(offset));
      }
    }
    if (placed.empty())
      continue;
    const uint32_t number = LUTHIER_TRY(writer.add(std::move(section)));
    for (const auto &[block, offset] : placed)
      for (const Block::Member &member : block->members) {
        const hook::Variable &variable = member.module->variables()[member.variable];
        symbols_[{member.module, member.variable, member.kernel}] = static_cast<uint32_t>(writer.dynamicSymbols.size());
        addGlobal(writer,
                  rewrite::symbolOf(member.kernel ? arrayName(member.kernel->name, variable) : variable.symbol,
                                    STB_GLOBAL, STT_OBJECT, number, writer.address(number) + offset + member.offset,
                                    member.kernel ? block->size : variable.size));
      }
  }
  return {};
}

} // namespace luthier::rewrite
