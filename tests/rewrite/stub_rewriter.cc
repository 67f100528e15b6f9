// Stands for the rewriter until that is there.
#include "rewrite/rewriter.h"

namespace luthier {
struct rewrite::Rewriter::Impl {};
rewrite::Rewriter::~Rewriter() = default;
Result<std::unique_ptr<rewrite::Rewriter>> rewrite::Rewriter::create(const object::CodeObject &,
                                                                     hook::FragmentCompiler &) {
  return makeError("there is no rewriter yet");
}
Result<rewrite::Rewrite> rewrite::Rewriter::rewrite(const object::Symbol &, std::span<const Insertion>) {
  return makeError("there is no rewriter yet");
}
analysis::Program &rewrite::Rewriter::program() { std::abort(); }
std::vector<const object::Symbol *> rewrite::Rewriter::functionsOf(const object::Symbol &) { return {}; }
} // namespace luthier
