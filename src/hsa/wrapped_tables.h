// ROCr's tables of functions, with wrappers in place of the entries: put in, and taken out again.
//
// Knows nothing of what wrappers do, and calls no HSA function. Other tools edit the same tables: what came before is
// kept in `original` and called by wrappers, what came after stays where it is.
#pragma once

#include "hsa/api.h"

namespace luthier::hsa {

class WrappedTables {
public:
  /// To be filled once, before the first installation; entries without a wrapper are left alone.
  ApiTables &wrappers() { return wrappers_; }
  const ApiTables &wrappers() const { return wrappers_; }

  /// The entries from before; all null until then. The loader's extension has no table that could be edited: its
  /// entries are up to the caller.
  ApiTables &original() { return original_; }
  const ApiTables &original() const { return original_; }

  /// Replaces the entries. Being given a table again, or another one after a shut-down, is no error.
  Result<void> install(HsaApiTable *table);
  /// Puts back what was there, where it is still ours.
  void uninstall();
  bool installed() const { return live_ != nullptr; }

  /// The loader's extension as an application gets it, `bytes` of it: a table of its own, which is edited too.
  void wrapLoader(void *table, size_t bytes) const;

private:
  HsaApiTable *live_ = nullptr;
  ApiTables original_, wrappers_;
};

} // namespace luthier::hsa
