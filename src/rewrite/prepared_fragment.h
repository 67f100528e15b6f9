// A fragment made ready for being placed many times.
//
// Registers that appear in one tuple must stay together when they are renamed; such groups are clusters. Everything
// else about a fragment can move freely.
#pragma once

#include "hook/fragment.h"
#include "rewrite/code_template.h"

#include <memory>
#include <vector>

namespace luthier::rewrite {

/// Consecutive registers of a fragment that are renamed as one.
struct Cluster {
  RegRange regs;
  unsigned alignment = 1; ///< the new first register must be equal to the old one modulo this
  unsigned limit = 256;   ///< and the last one's number be below
  bool written = false;   ///< any of them, anywhere in the fragment
};

/// Whether it must run in the mode that hooks are compiled for. Assembly runs in the kernel's.
inline bool dependsOnMode(const hook::Fragment &fragment) {
  return fragment.reads.contains(Reg::Mode) && !fragment.asWritten;
}

struct PreparedFragment {
  std::shared_ptr<const hook::Fragment> fragment;
  std::vector<InstrTemplate> instrs;
  std::vector<Cluster> clusters; ///< the widest first

  static Result<std::unique_ptr<PreparedFragment>> make(std::shared_ptr<const hook::Fragment> fragment,
                                                        isa::FieldFinder &finder);
};

} // namespace luthier::rewrite
