// What all rewritings of one code object share: the program as analysis sees it, and hooks that have been compiled.
#pragma once

#include "rewrite/argument.h"
#include "rewrite/assembly.h"
#include "rewrite/glue.h"
#include "rewrite/prepared_fragment.h"
#include "rewrite/rewriter.h"

#include <map>

namespace luthier::rewrite {

struct Rewriter::Impl {
  const object::CodeObject &object;
  hook::FragmentCompiler &compiler;
  LaunchBlocks blocks;
  std::unique_ptr<analysis::Program> program;
  std::unique_ptr<analysis::CallGraph> graph;                         ///< built when a kernel that calls asks for it
  std::map<const void *, std::unique_ptr<PreparedFragment>> prepared; ///< by fragment
  std::map<std::pair<std::string, unsigned>, std::unique_ptr<AssemblyCode>> assembled; ///< by text and wave size
  std::vector<std::pair<const object::Symbol *, const object::Symbol *>> overlaps;
  std::optional<object::Metadata> metadata; ///< read when first needed

  struct PerWaveSize {
    std::unique_ptr<isa::Decoder> decoder;
    std::unique_ptr<isa::FieldFinder> finder;
    std::unique_ptr<Glue> glue;
  };
  std::map<unsigned, PerWaveSize> waveSizes;
  HookForm form = HookForm::Auto; ///< of insertions that leave it open

  Result<const analysis::CallGraph *> callGraph();
  Result<PerWaveSize *> forWaveSize(unsigned waveSize);
  Result<std::vector<const analysis::Function *>> functionsOf(const object::Symbol &kernel);
  Result<const PreparedFragment *> prepare(const Insertion &insertion, const std::vector<ResolvedArgument> &arguments,
                                           unsigned waveSize);
  Result<const AssemblyCode *> assemble(const std::string &text, unsigned waveSize);
};

} // namespace luthier::rewrite
