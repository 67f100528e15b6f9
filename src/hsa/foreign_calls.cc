#include "hsa/foreign_calls.h"

namespace luthier::hsa {

Result<ForeignCalls::Object *> ForeignCalls::objectOf(const SharedCode &code) {
  auto known = objects_.find(code->number());
  if (known != objects_.end())
    return known->second.get();
  if (!code->object())
    return code->object().error();
  if (!code->object()->hasTarget())
    return makeError("{}: code for {} is not understood", code->uri(), code->object()->targetId());
  auto object = std::make_unique<Object>();
  object->program = LUTHIER_TRY(analysis::Program::create(*code->object()));
  object->graph = LUTHIER_TRY(analysis::CallGraph::build(*object->program));
  return objects_.emplace(code->number(), std::move(object)).first->second.get();
}

/// Registers are the highest of all; the stack is the deepest of all ways down.
Result<analysis::Resources> ForeignCalls::visit(const LinkedFunction &function, Walk &walk) {
  const SharedCode &code = function.code;
  Object *object = LUTHIER_TRY(objectOf(code));
  const uint32_t number = object->graph.find(*function.symbol);
  if (number == analysis::CallGraph::kNone)
    return makeError("{}: {} is not a function", code->uri(), function.symbol->name);
  const Key key(code->number(), function.symbol->address);
  if (auto known = walk.done.find(key); known != walk.done.end()) {
    if (known->second)
      return *known->second;
    analysis::Resources recursive; // its own registers are counted further up
    recursive.stackBounded = false;
    return recursive;
  }
  walk.done[key] = std::nullopt;
  walk.reached.push_back(function);
  walk.foreign |= code->number() != walk.home;

  const analysis::CallNode &node = object->graph.nodes()[number];
  analysis::Resources all = analysis::resourcesOf(*node.function, code->object()->target(), walk.waveSize);
  analysis::Resources below;
  // Includes what an indirect call may go to.
  for (const uint32_t callee : object->graph.successors(number))
    below.include(LUTHIER_TRY(visit({code, object->graph.nodes()[callee].symbol}, walk)));
  bool linked = false;
  for (const uint64_t slot : node.function->slots())
    if (const LinkedFunction other = provider_(code, slot); other && other.symbol->function()) {
      linked = true;
      below.include(LUTHIER_TRY(visit(other, walk)));
    }
  // A call through a linked place looks indirect, but goes where the linker says.
  if (node.hasUnknown && !linked)
    below.stackBounded = false;
  const uint32_t deepest = below.stackBytes;
  below.stackBytes = 0;
  all.include(below);
  all.stackBytes += deepest;
  walk.done[key] = all;
  return all;
}

Result<std::vector<LinkedFunction>> ForeignCalls::reachableFrom(const SharedCode &code, const object::Symbol &kernel) {
  Walk walk{.waveSize = 64, .home = code->number(), .done = {}, .reached = {}};
  LUTHIER_TRY(visit({code, &kernel}, walk));
  walk.reached.erase(walk.reached.begin());
  return std::move(walk.reached);
}

Result<std::optional<analysis::Resources>> ForeignCalls::foreignNeeds(const SharedCode &code,
                                                                      const object::Symbol &kernel, unsigned waveSize) {
  Walk walk{.waveSize = waveSize, .home = code->number(), .done = {}, .reached = {}};
  analysis::Resources needs = LUTHIER_TRY(visit({code, &kernel}, walk));
  return walk.foreign ? std::optional(needs) : std::nullopt;
}

} // namespace luthier::hsa
