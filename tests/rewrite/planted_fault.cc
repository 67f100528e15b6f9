// Which fault is planted in the rewriter (src/rewrite/testing.h), in tests alone.
#include "rewrite/testing.h"

#include "support/env.h"

namespace luthier::rewrite {

Fault plantedFault() {
  static const Fault fault = [] {
    const auto chosen = env::choice("LUTHIER_REWRITE_BREAK",
                                    {"none", "liveness", "placement", "waits", "scc", "branches", "descriptor", "vccz",
                                     "sgprs", "xnack", "spacing", "mode", "exports"},
                                    0);
    return chosen ? static_cast<Fault>(*chosen) : Fault::None;
  }();
  return fault;
}

} // namespace luthier::rewrite
