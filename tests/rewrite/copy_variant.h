// Variants made without the rewriter: a kernel's own code, unchanged but for what depends on where it is. They show
// whether emitting and loading are right, whatever the rewriter does.
#pragma once

#include "rewrite/variant.h"

namespace luthier::rewrite::test {

/// A variant with all around the code as it was.
Result<Variant> variantWithCode(const object::CodeObject &object, const object::Symbol &kernel,
                                std::vector<uint8_t> code);

/// The kernel's code. `s_getpc_b64` and the two additions that follow it become two moves of the same size with
/// relocations; a kernel that uses it in any other way, or that branches out of its code, is an error.
Result<Variant> copyOf(const object::CodeObject &object, const object::Symbol &kernel,
                       const object::Metadata &metadata);

} // namespace luthier::rewrite::test
