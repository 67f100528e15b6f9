// Hooks of a variant that are called (rewrite/shared_hook.h): which, in which registers, and their code.
#include "isa/pending_scalars.h"
#include "rewrite/variant_builder.h"

#include <algorithm>
#include <map>

namespace luthier::rewrite {

namespace {

/// Whether each place has a variable of its own, by its address in the code.
bool hasSiteVariables(const hook::Fragment &fragment, const hook::HookModule &module) {
  return std::ranges::any_of(fragment.relocations, [&](const hook::FragmentRelocation &relocation) {
    return module.variables()[relocation.variable].storage == hook::Storage::PerSite;
  });
}

} // namespace

void VariantBuilder::shareHooks(VariantContext &context, const std::vector<const analysis::Liveness *> &liveness) {
  context.shared.assign(insertions_.size(), nullptr);
  // Where reads of scalar registers must be waited for, what a called hook leaves behind depends on who calls it.
  if (!tools_->glue->has(GlueOp::Call) || isa::hasPendingScalars(target_))
    return;
  // Variables of two modules may be at different addresses, even if their code is the same.
  struct Group {
    std::vector<uint32_t> insertions;
    bool forced = false;
  };
  std::map<std::pair<const PreparedFragment *, const hook::HookModule *>, Group> groups;
  for (uint32_t n = 0; n < insertions_.size(); ++n) {
    const Insertion &insertion = insertions_[n];
    const HookForm form = insertion.form == HookForm::Auto ? rewriter_.form : insertion.form;
    if (!prepared_[n].fragment || prepared_[n].assembly || !result_.sites[n].rejected.empty() ||
        form == HookForm::Inline || hasSiteVariables(*prepared_[n].fragment->fragment, *insertion.module))
      continue;
    Group &group = groups[{prepared_[n].fragment, insertion.module.get()}];
    group.insertions.push_back(n);
    group.forced |= form == HookForm::Shared;
  }
  std::vector<SharedHookSurvey *> surveyOf(insertions_.size());
  std::deque<std::pair<SharedHookSurvey, const Group *>> surveys;
  for (const auto &[key, group] : groups) {
    if (!group.forced && !growsTooMuch(group.insertions.size(), key.first->fragment->bytes.size()))
      continue;
    surveys.emplace_back(SharedHookSurvey(*key.first), &group);
    for (const uint32_t n : group.insertions)
      surveyOf[n] = &surveys.back().first;
  }
  if (surveys.empty())
    return;
  for (size_t n = 0; n < functions_.size(); ++n)
    if (liveness[n])
      forEachPoint(
          functions_[n]->cfg(), points_[n], *liveness[n], [&](uint32_t i) { return surveyOf[i] != nullptr; },
          [&](const std::vector<uint32_t> &list, const Instr &at, const analysis::LiveSets &live) {
            for (const uint32_t i : list) {
              Site site;
              site.live = live;
              if (surveyOf[i] && bind(i, at, site)) // what cannot be bound is refused when code is written
                surveyOf[i]->add(*pool_, target_, site);
            }
          });
  for (const auto &[survey, group] : surveys) {
    auto hook = survey.choose(*tools_->glue, *pool_, spill_);
    if (!hook)
      continue;
    pool_->fix(hook->taken);
    SharedPlace &place =
        shared_.emplace_back(SharedPlace{*std::move(hook), group->insertions.front(), layout_->newLabel(), 0});
    for (const uint32_t n : group->insertions)
      context.shared[n] = &place;
  }
}

void VariantBuilder::writeSharedHooks(VariantContext &context) {
  Variant &variant = result_.variant;
  std::map<std::string, unsigned> names; // a hook may have been compiled for several kinds of arguments
  for (const SharedPlace &place : shared_) {
    if (!place.calls)
      continue;
    const std::string &hook = insertions_[place.insertion].hook;
    const auto note = static_cast<uint32_t>(variant.notes.size());
    variant.notes.push_back(fmt::format("{}, called from {} place{}, returns to {}", hook, place.calls,
                                        place.calls == 1 ? "" : "s", toString(RegRange{place.hook.returnTo, 2})));
    layout_->bind(place.label);
    layout_->add(place.hook.body.bytes(), CodeRange::Kind::SharedHook, kernel_.address, place.insertion, note);
    relocate(place.insertion, nullptr,
             static_cast<int64_t>(place.hook.body.size() - place.hook.fragment->fragment->bytes.size()));
    const unsigned number = names[hook]++;
    variant.functions.push_back(
        {nullptr, place.label, 0,
         fmt::format("{}{}{}", analysis::kSharedHookInfix.substr(1), hook, number ? fmt::format(".{}", number) : "")});
    context.insertedInstructions += place.hook.body.instrs().size();
    ++result_.sharedHooks;
  }
}

} // namespace luthier::rewrite
