#include "cli/code_file.h"

#include "support/demangle.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace luthier::cli {

namespace {

constexpr size_t kMaxListed = 20;

bool isWanted(const object::Symbol &symbol, FunctionKind kind) {
  if (!symbol.defined || !symbol.function())
    return false;
  return kind == FunctionKind::Any || (kind == FunctionKind::Kernel) == (symbol.kind == object::SymbolKind::Kernel);
}

std::string_view nounOf(FunctionKind kind) {
  return kind == FunctionKind::Kernel           ? "kernel"
         : kind == FunctionKind::DeviceFunction ? "device function"
                                                : "function";
}

/// At most so many names, one per line, and how many more there are.
template <class Names> std::string listed(const Names &names) {
  std::string text;
  size_t count = 0;
  for (const std::string &name : names) {
    if (count++ == kMaxListed) {
      text += fmt::format("\n  and {} more", names.size() - kMaxListed);
      break;
    }
    text += "\n  " + name;
  }
  return text;
}

/// The name without its arguments and return type: what people type.
std::string_view bareName(std::string_view demangled) {
  if (const size_t paren = demangled.find('('); paren != demangled.npos && paren != 0)
    demangled = demangled.substr(0, paren);
  return demangled;
}

} // namespace

NameMatch matchName(std::string_view symbol, std::string_view wanted) {
  if (symbol == wanted)
    return NameMatch::Whole;
  const std::string demangled = demangle(symbol);
  const std::string_view bare = bareName(demangled);
  if (demangled == wanted || bare == wanted || (bare.starts_with("void ") && bare.substr(5) == wanted))
    return NameMatch::Whole;
  return symbol.find(wanted) != symbol.npos || demangled.find(wanted) != demangled.npos ? NameMatch::Part
                                                                                        : NameMatch::None;
}

Result<void> forEachObject(const CodeFile &file,
                           const std::function<Result<void>(const object::CodeObject &, uint64_t number)> &visit) {
  const object::Container container = LUTHIER_TRY(object::Container::open(file.path));
  std::optional<isa::TargetId> wanted;
  if (!file.target.empty())
    wanted = LUTHIER_TRY(isa::TargetId::parse(file.target));
  std::set<std::string> there;
  uint64_t number = 0;
  bool any = false;
  for (const object::ImageGroup &group : container.groups()) {
    const auto images = LUTHIER_TRY(container.images(group));
    for (const object::Image &image : images) {
      ++number;
      there.insert(image.target.text());
      if ((wanted && !isa::compatible(image.target, *wanted)) || (file.object && *file.object != number))
        continue;
      any = true;
      const object::CodeObject object = LUTHIER_TRY(image.codeObject());
      LUTHIER_TRY(visit(object, number));
    }
    container.forget(group);
  }
  if (there.empty())
    return makeError("{}: no code for AMD GPUs in it", file.path);
  if (!any && file.object && *file.object > number)
    return makeError("{}: there is no code object {}; it has {} (`luthier inspect` lists them)", file.path,
                     *file.object, number);
  if (!any && file.object)
    return makeError("{}: code object {} is not for {}", file.path, *file.object, file.target);
  if (!any)
    return makeError("{}: no code for {} in it; there is code for {}", file.path, file.target, fmt::join(there, ", "));
  return {};
}

std::string objectChoice(const object::CodeObject &object, uint64_t number) {
  return fmt::format("--object {}  {}, {}", number, object.targetId(), object.origin());
}

Result<SelectedFunction> selectFunction(const CodeFile &file, const std::string &name, FunctionKind kind) {
  // First which symbol in which object it is, by number, then that object again: views of others are gone by then.
  struct Found {
    std::string symbol, target, choice;
    uint64_t object;
  };
  std::vector<Found> whole, part;
  std::set<std::string> all;
  LUTHIER_TRY(forEachObject(file, [&](const object::CodeObject &object, uint64_t number) -> Result<void> {
    for (const object::Symbol &symbol : object.symbols()) {
      if (!isWanted(symbol, kind))
        continue;
      if (all.size() <= kMaxListed)
        all.insert(demangle(symbol.name));
      const NameMatch match = matchName(symbol.name, name);
      if (match != NameMatch::None)
        (match == NameMatch::Whole ? whole : part)
            .push_back({std::string(symbol.name), object.targetId(), objectChoice(object, number), number});
    }
    return {};
  }));
  const std::vector<Found> &found = whole.empty() ? part : whole;
  if (found.empty())
    return makeError("{}: no {} matches '{}'; there are:{}", file.path, nounOf(kind), name, listed(all));
  std::set<std::string> names, targets;
  std::map<uint64_t, std::string> objects;
  for (const Found &f : found) {
    names.insert(f.symbol);
    targets.insert(f.target);
    objects[f.object] = f.choice;
  }
  if (names.size() > 1) {
    std::set<std::string> readable;
    for (const std::string &symbol : names)
      readable.insert(demangle(symbol));
    return makeError("{}: {} {}s match '{}':{}", file.path, names.size(), nounOf(kind), name, listed(readable));
  }
  if (objects.size() > 1) {
    std::vector<std::string> choices;
    for (const auto &[number, choice] : objects)
      choices.push_back(choice);
    return makeError("{}: {} code objects have a {} {}; choose one with {}--object:{}", file.path, objects.size(),
                     nounOf(kind), demangle(found.front().symbol),
                     targets.size() == objects.size() ? "--target or " : "", listed(choices));
  }

  SelectedFunction selected = LUTHIER_TRY(selectObject(file.path, found.front().object));
  for (const object::Symbol &symbol : selected.object->symbols())
    if (isWanted(symbol, kind) && symbol.name == found.front().symbol)
      selected.symbol = &symbol;
  return selected;
}

Result<SelectedFunction> selectObject(const std::string &path, uint64_t number) {
  SelectedFunction selected;
  selected.number = number;
  selected.container = std::make_unique<object::Container>(LUTHIER_TRY(object::Container::open(path)));
  uint64_t counted = 0;
  for (const object::ImageGroup &group : selected.container->groups()) {
    auto images = LUTHIER_TRY(selected.container->images(group));
    for (object::Image &image : images) {
      if (++counted != number)
        continue;
      selected.image = std::make_unique<object::Image>(std::move(image));
      selected.object = std::make_unique<object::CodeObject>(LUTHIER_TRY(selected.image->codeObject()));
      return selected;
    }
  }
  return makeError("{}: changed while it was read", path);
}

} // namespace luthier::cli
