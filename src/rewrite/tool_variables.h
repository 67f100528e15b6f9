// The tool's variables in a merged file, and symbols as emit.cc makes them.
#pragma once

#include "object/elf_writer.h"
#include "rewrite/variant.h"

#include <map>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace luthier::rewrite {

inline uint64_t alignUp(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

object::WriterSymbol symbolOf(std::string name, unsigned binding, unsigned type, uint32_t section, uint64_t address,
                              uint64_t size);
/// In both tables: what ROCr finds by name is in .symtab.
void addGlobal(object::ElfWriter &writer, const object::WriterSymbol &symbol);

/// Variables of Storage::Device are placed one by one; those of Storage::PerLaunch as the block that they are, with all
/// of the module's variables of that kind, used or not. Each becomes a global symbol. Of those of Storage::PerSite,
/// each kernel has an array, "kernel$variable".
class ToolVariables {
public:
  /// Finds out what there is, once for all variants.
  Result<void> collect(const object::CodeObject &original, std::span<const Variant> variants);
  Result<void> emit(object::ElfWriter &writer);
  /// In dynamicSymbols.
  uint32_t symbolOf(const Variant &variant, uint32_t variable) const;

private:
  /// A piece of memory with the variables that are in it.
  struct Block {
    uint64_t size = 0, alignment = 1;
    std::vector<std::byte> contents; ///< empty: zeros
    struct Member {
      const hook::HookModule *module;
      uint32_t variable;
      uint64_t offset;
      const object::Symbol *kernel = nullptr; ///< of an array
    };
    std::vector<Member> members;
  };
  using Key = std::tuple<const hook::HookModule *, uint32_t, const object::Symbol * /* of an array, or null */>;

  Result<void> claim(const object::CodeObject &original, const hook::HookModule &module, const hook::Variable &variable,
                     const std::string &name);
  Result<void> addDevice(const object::CodeObject &original, const UsedVariable &used);
  Result<void> addSites(const object::CodeObject &original, const Variant &variant, const UsedVariable &used);
  Result<void> addLaunchBlock(const object::CodeObject &original, const hook::HookModule &module);

  std::vector<Block> blocks_;
  std::unordered_map<std::string, const hook::HookModule *> names_;
  std::map<Key, uint32_t> symbols_; ///< 0 until emitted
};

} // namespace luthier::rewrite
