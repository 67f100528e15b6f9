// ROCr's tables of functions, with wrappers in place of the entries: put in, and taken out again.
//
// Knows nothing of what wrappers do, and calls no HSA function. Other tools edit the same tables: what came before is
// kept in `original` and called by wrappers, what came after stays where it is. ROCr's tables differ from release to
// release (table_layout.h); functions that this build does not know stay as they are.
#pragma once

#include "hsa/api.h"

#include <vector>

namespace luthier::hsa {

class WrappedTables {
public:
  /// `original` gets the entries from before. The loader's extension has no table that could be edited: its entries are
  /// up to the caller.
  explicit WrappedTables(ApiFunctions &original) : original_(original) {}

  /// To be filled once, before the first installation; entries without a wrapper are left alone.
  ApiFunctions &wrappers() { return wrappers_; }
  const ApiFunctions &wrappers() const { return wrappers_; }

  /// Replaces the entries. Being given a table again, or another one after a shut-down, is no error.
  Result<void> install(HsaApiTable *table);
  /// Puts back what was there, where it is still ours.
  void uninstall();
  bool installed() const { return live_ != nullptr; }

  /// The loader's extension as an application gets it, `bytes` of it: a table of its own, which is edited too.
  void wrapLoader(void *table, size_t bytes) const;

private:
  struct Live {
    void **entry; ///< in ROCr's table
    ApiId id;
  };

  HsaApiTable *live_ = nullptr;
  std::vector<Live> entries_;
  ApiFunctions &original_;
  ApiFunctions wrappers_;
};

} // namespace luthier::hsa
