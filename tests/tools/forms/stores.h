// Which instructions the tools of this folder look at that would take long at every one.
#pragma once

#include <luthier/tool.h>

/// Calls `visit` for each store of the kernel and of what it calls.
template <class Visit> void forEachStore(const luthier::Kernel &kernel, Visit visit) {
  for (const luthier::Function &function : kernel.functions())
    for (const luthier::Instr &instr : function.instrs())
      if (instr.mnemonic().find("_store_") != std::string_view::npos)
        visit(instr);
}
