// The loader's extension: a table of functions that applications ask for, and that tools are not given to edit.
#pragma once

#include "hsa/calls.h"
#include "hsa/wrapped_tables.h"

#include <vector>

namespace luthier::hsa {

class LoaderExtension {
public:
  /// Replaces the functions that hand the extension out: applications get it with our wrappers.
  explicit LoaderExtension(const WrappedTables &tables);

  /// Gets ROCr's functions.
  void start();

private:
  std::vector<Subscription> replacements_;
};

} // namespace luthier::hsa
