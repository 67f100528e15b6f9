// A kernel as tools see it (luthier/tool.h), and what they ask to be inserted.
#pragma once

#include "analysis/loops.h"
#include "hsa/code_capture.h"
#include "luthier/tool.h"
#include "object/source_lines.h"
#include "rewrite/rewriter.h"
#include "runtime/kernel_identity.h"

#include <deque>
#include <memory>
#include <mutex>

namespace luthier::runtime {

/// Modules of hooks by the file that a tool has embedded.
class HookModules {
public:
  Result<std::shared_ptr<const hook::HookModule>> of(const HookFile &file);

private:
  std::mutex mutex_;
  std::map<const HookFile *, std::shared_ptr<const hook::HookModule>> modules_;
};

/// What all kernels of a code object share.
struct ObjectView {
  hsa::SharedCode code;
  std::unique_ptr<rewrite::Rewriter> rewriter;
  std::optional<Result<object::SourceLines>> lines; ///< read when first asked for

  static Result<std::shared_ptr<ObjectView>> create(hsa::SharedCode code, hook::FragmentCompiler &compiler);
};

/// A function as tools see it, as long as the object lives.
std::unique_ptr<Function> viewOf(const analysis::Function &function, ObjectView &object);
KernelId idOf(const KernelIdentity &identity);
/// What is behind the views that tools have.
const analysis::Function &analyzed(const Function &function);
std::shared_ptr<ObjectView> objectOf(const Kernel &kernel);

} // namespace luthier::runtime

namespace luthier {

struct CodeObject::Impl {
  hsa::SharedCode code;
};

struct Function::Impl {
  const analysis::Function *function = nullptr;
  runtime::ObjectView *object = nullptr;
  std::vector<Block> blocks;
  std::optional<analysis::Loops> found; ///< when first asked for
  std::vector<Loop> loops;
  void findLoops();
};

struct Kernel::Impl {
  std::shared_ptr<runtime::ObjectView> object;
  const object::Symbol *symbol = nullptr;
  std::shared_ptr<const runtime::KernelIdentity> identity;
  runtime::HookModules *modules = nullptr;
  std::vector<Function> functions;
  std::vector<rewrite::Insertion> insertions; ///< what has been asked for
  bool observed = false;                      ///< a tool wants to know of its launches, with or without hooks
  std::string error;                          ///< the first thing that could not even be asked for
  KernelResources resources;
  unsigned variant = 0; ///< that the tool whose turn it is has chosen

  static Result<std::unique_ptr<Impl>> create(std::shared_ptr<runtime::ObjectView> object, const object::Symbol &symbol,
                                              runtime::HookModules &modules);
  const Function *functionWith(const Instr &instr) const;
};

} // namespace luthier
