#include "runtime/site_values.h"

#include "hsa/api.h"

#include <algorithm>

namespace luthier::runtime {

bool SiteValues::Array::isFor(const Owner &other, const rewrite::UsedVariable &used,
                              std::span<const Copy> places) const {
  return owner.agent.handle == other.agent.handle && owner.identity == other.identity && owner.choice == other.choice &&
         module == used.module && variable == used.variable &&
         std::ranges::equal(copies, places, [](const Copy &a, const Copy &b) { return a.samePlace(b); });
}

Result<std::vector<SiteValues::Copy>> SiteValues::copiesOf(const Owner &owner, const rewrite::UsedVariable &used,
                                                           std::span<const rewrite::Insertion> insertions) {
  std::vector<Copy> copies;
  for (const rewrite::SiteCopy &copy : used.copies) {
    if (!copy.function)
      return makeError("no function of the kernel has an instruction at {:#x}", copy.address);
    const analysis::Function *function = LUTHIER_TRY(owner.object->rewriter->program().function(*copy.function));
    const auto instrs = function->instrs();
    const auto found = std::ranges::lower_bound(instrs, copy.address, {}, &Instr::address);
    if (found == instrs.end() || found->address() != copy.address)
      return makeError("no instruction starts at {:#x}", copy.address);
    copies.push_back({function, &*found, insertions[copy.insertion].hook});
  }
  return copies;
}

Result<void> SiteValues::allocate(Array &array) {
  const hook::Variable &variable = array.module->variables()[array.variable];
  const uint64_t bytes = array.copies.size() * variable.stride();
  auto memory = memory_.take(array.owner.agent, ToolMemory::Kind::Device, bytes);
  if (!memory)
    return memory.error().withContext(
        fmt::format("{} bytes for {} copies of {}", bytes, array.copies.size(), variable.name));
  LUTHIER_TRY(hsa::call<hsa::ApiId::hsa_amd_memory_fill>(memory->data(), 0u, memory->size() / 4));
  if (!variable.contents.empty())
    for (size_t n = 0; n < array.copies.size(); ++n)
      LUTHIER_TRY(hsa::copyMemory(memory->as<std::byte>() + n * variable.stride(), variable.contents.data(),
                                  variable.contents.size()));
  array.memory = *std::move(memory);
  return {};
}

Result<uint64_t> SiteValues::arrayFor(const Owner &owner, const rewrite::UsedVariable &used,
                                      std::span<const rewrite::Insertion> insertions) {
  std::vector<Copy> copies = LUTHIER_TRY(copiesOf(owner, used, insertions));
  std::lock_guard lock(mutex_);
  for (const auto &array : arrays_)
    if (array->isFor(owner, used, copies))
      return array->memory.address();
  auto array = std::make_unique<Array>();
  array->owner = owner;
  array->module = used.module;
  array->variable = used.variable;
  array->copies = std::move(copies);
  std::map<const analysis::Function *, const Function *> views;
  for (const Copy &copy : array->copies) {
    const Function *&view = views[copy.function];
    if (!view)
      view = array->functions.emplace_back(viewOf(*copy.function, *owner.object)).get();
    array->functionOf.push_back(view);
  }
  LUTHIER_TRY(allocate(*array));
  return arrays_.emplace_back(std::move(array))->memory.address();
}

Result<void> SiteValues::read(const hook::HookModule &module, const hook::Variable &variable, size_t tool,
                              const Visit &visit) {
  std::lock_guard lock(mutex_);
  for (const auto &array : arrays_) {
    if (array->module.get() != &module || &module.variables()[array->variable] != &variable)
      continue;
    std::vector<std::byte> values(array->copies.size() * variable.stride());
    LUTHIER_TRY(hsa::copyMemory(values.data(), array->memory.data(), values.size()));
    SiteOfValue site;
    site.kernel = idOf(*array->owner.identity);
    site.variant = tool < array->owner.choice.size() ? array->owner.choice[tool] : 0;
    for (size_t n = 0; n < array->copies.size(); ++n) {
      site.function = array->functionOf[n];
      site.instr = array->copies[n].instr;
      site.hook = array->copies[n].hook;
      visit(site, std::span(values).subspan(n * variable.stride(), variable.size));
    }
  }
  return {};
}

} // namespace luthier::runtime
