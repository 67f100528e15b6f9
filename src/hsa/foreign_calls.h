// What a kernel reaches by calls, across the code objects that it is linked with.
#pragma once

#include "analysis/callgraph.h"
#include "analysis/resources.h"
#include "hsa/code_capture.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace luthier::hsa {

/// A function or variable of a loaded code object.
struct LinkedFunction {
  SharedCode code;
  const object::Symbol *symbol = nullptr;

  explicit operator bool() const { return symbol != nullptr; }
  uint64_t address() const { return code->loadedAddress(symbol->address); }
};

/// Not thread-safe.
class ForeignCalls {
public:
  /// What the linker has put into a place of a code object's image (an address in the file); nothing if nothing.
  using Provider = std::function<LinkedFunction(const SharedCode &, uint64_t slot)>;
  explicit ForeignCalls(Provider provider) : provider_(std::move(provider)) {}

  /// All functions that a kernel can reach, without itself.
  Result<std::vector<LinkedFunction>> reachableFrom(const SharedCode &code, const object::Symbol &kernel);

  /// What the kernel needs with everything that it reaches; nothing when that is all in its own code object, as the
  /// compiler has then seen it.
  Result<std::optional<analysis::Resources>> foreignNeeds(const SharedCode &code, const object::Symbol &kernel,
                                                          unsigned waveSize);

private:
  struct Object {
    std::unique_ptr<analysis::Program> program;
    analysis::CallGraph graph;
  };
  using Key = std::pair<uint64_t, uint64_t>; ///< number of the code object, address of the function
  struct Walk {
    unsigned waveSize;
    uint64_t home; ///< number of the kernel's code object
    bool foreign = false;
    std::map<Key, std::optional<analysis::Resources>> done; ///< nothing while it is under way
    std::vector<LinkedFunction> reached;
  };
  Result<Object *> objectOf(const SharedCode &code);
  Result<analysis::Resources> visit(const LinkedFunction &function, Walk &walk);

  Provider provider_;
  std::map<uint64_t, std::unique_ptr<Object>> objects_; ///< by number of the code object
};

} // namespace luthier::hsa
