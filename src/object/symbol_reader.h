// Fills in a code object's symbols and relocations; only code_object.cc needs it.
#pragma once

#include "object/code_object.h"

#include <elf.h>

namespace luthier::object {

/// An entry of a symbol table with its name looked up.
struct ElfSymbol {
  std::string_view name;
  Elf64_Sym entry;

  unsigned type() const { return ELF64_ST_TYPE(entry.st_info); }
  unsigned binding() const { return ELF64_ST_BIND(entry.st_info); }
  bool defined() const { return entry.st_shndx != SHN_UNDEF; }
};

class SymbolReader {
public:
  explicit SymbolReader(CodeObject &object);

  Result<void> read();

private:
  Result<std::vector<ElfSymbol>> readTable(const Section &table);
  Result<void> addSymbols(std::span<const ElfSymbol> table);
  Result<void> addKernel(const ElfSymbol &descriptor);
  Result<void> addUnlisted(std::span<const ElfSymbol> table);
  void giveSizes();
  void index();
  Result<void> readRelocations(std::span<const ElfSymbol> dynamic);

  CodeObject &o_;
  uint64_t nameBudget_; ///< bytes of names that may still be read
};

} // namespace luthier::object
