// The tables of an ELF file that refer to each other by number, made from lists of names: string tables, symbol tables
// in the order that ELF demands, and the two hash tables of the dynamic symbols.
#pragma once

#include "object/bytes.h"

#include <elf.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace luthier::object {

/// A symbol to be written; st_name is given by the string table.
struct WriterSymbol {
  std::string name;
  Elf64_Sym entry{};

  unsigned type() const { return ELF64_ST_TYPE(entry.st_info); }
  unsigned binding() const { return ELF64_ST_BIND(entry.st_info); }
  bool defined() const { return entry.st_shndx != SHN_UNDEF; }
};

class StringTable {
public:
  StringTable() : text_(1, '\0') {}
  /// One that begins with all of another: offsets into that stay right.
  explicit StringTable(ByteSpan old);
  /// Offset of the text, which is stored once.
  uint32_t add(std::string_view text);
  std::vector<std::byte> bytes() const;

private:
  std::string text_;
  std::unordered_map<std::string, uint32_t> offsets_;
};

/// A symbol table as it is in the file. Symbols are known by their place in the list that it was made from; local ones
/// must come first in a file, and what .gnu.hash lists must be ordered by its buckets.
struct EncodedSymbols {
  std::vector<std::byte> bytes;
  std::vector<uint32_t> places;         ///< of each symbol of the list, in the file
  uint32_t firstGlobal = 0;             ///< sh_info
  std::vector<std::byte> hash, gnuHash; ///< of dynamic ones
};

/// `symbols[0]` is the null symbol.
EncodedSymbols encodeSymbols(const std::vector<WriterSymbol> &symbols, StringTable &strings, bool dynamic);

} // namespace luthier::object
