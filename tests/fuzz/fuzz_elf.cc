// Code objects: whatever parses must answer every question.

#include "object/code_object.h"
#include "object/elf_writer.h"
#include "object/kernel_resources.h"

#include <cstdlib>

using namespace luthier::object;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const auto object = CodeObject::parse(std::as_bytes(std::span(data, size)), "input");
  if (!object)
    return 0;
  const auto metadata = object->metadata();
  (void)object->overlaps();
  size_t sum = 0;
  for (const Symbol &symbol : object->symbols()) {
    const Symbol *found = object->find(symbol.name);
    if (!found || found->name != symbol.name)
      abort();
    if (symbol.function() && symbol.defined) {
      if (const auto code = object->code(symbol))
        for (const uint8_t byte : *code)
          sum += byte;
      if (symbol.size) {
        const Symbol *there = object->functionAt(symbol.address);
        if (!there || there->address > symbol.address || there->end() <= symbol.address)
          abort();
      }
    }
    if (symbol.kind == SymbolKind::Kernel) {
      const auto resources = resourcesOf(*object, symbol, metadata ? metadata->kernel(symbol.name) : nullptr);
      if (!resources)
        abort(); // parsing has looked at the descriptor
      if (object->hasTarget())
        (void)luthier::isa::occupancy(object->target(), resources->use());
    }
  }
  for (const Relocation &relocation : object->relocations()) {
    if (object->relocationAt(relocation.address)->address != relocation.address)
      abort();
    (void)object->bytesAt(relocation.address, 8);
  }
  // Written anew, it is no bigger than the tables that are there twice.
  if (auto writer = ElfWriter::of(object->file()))
    if (const auto written = writer->write(); written && written->size() > 3 * size + (1 << 16))
      abort();
  return sum == SIZE_MAX;
}
