#include "cli/code_file.h"

#include "support/demangle.h"

#include <fmt/ranges.h>

#include <algorithm>
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
std::string listed(const std::set<std::string> &names) {
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

Result<void>
forEachObject(const std::string &file, const std::string &target,
              const std::function<Result<void>(const object::Image &, const object::CodeObject &)> &visit) {
  const object::Container container = LUTHIER_TRY(object::Container::open(file));
  std::optional<isa::TargetId> wanted;
  if (!target.empty())
    wanted = LUTHIER_TRY(isa::TargetId::parse(target));
  std::set<std::string> there;
  bool any = false;
  for (const object::ImageGroup &group : container.groups()) {
    const auto images = LUTHIER_TRY(container.images(group));
    for (const object::Image &image : images) {
      there.insert(image.target.text());
      if (wanted && !isa::compatible(image.target, *wanted))
        continue;
      any = true;
      const object::CodeObject object = LUTHIER_TRY(image.codeObject());
      LUTHIER_TRY(visit(image, object));
    }
    container.forget(group);
  }
  if (there.empty())
    return makeError("{}: no code for AMD GPUs in it", file);
  if (!any)
    return makeError("{}: no code for {} in it; there is code for {}", file, target, fmt::join(there, ", "));
  return {};
}

Result<SelectedFunction> selectFunction(const std::string &file, const std::string &target, const std::string &name,
                                        FunctionKind kind) {
  // First which symbol in which object it is, by position, then that object again: views of others are gone by then.
  struct Found {
    std::string symbol, target, origin;
  };
  std::vector<Found> whole, part;
  std::set<std::string> all;
  LUTHIER_TRY(forEachObject(file, target, [&](const object::Image &, const object::CodeObject &object) -> Result<void> {
    for (const object::Symbol &symbol : object.symbols()) {
      if (!isWanted(symbol, kind))
        continue;
      if (all.size() <= kMaxListed)
        all.insert(demangle(symbol.name));
      const NameMatch match = matchName(symbol.name, name);
      if (match != NameMatch::None)
        (match == NameMatch::Whole ? whole : part)
            .push_back({std::string(symbol.name), object.targetId(), object.origin()});
    }
    return {};
  }));
  const std::vector<Found> &found = whole.empty() ? part : whole;
  if (found.empty())
    return makeError("{}: no {} matches '{}'; there are:{}", file, nounOf(kind), name, listed(all));
  std::set<std::string> names, targets;
  for (const Found &f : found) {
    names.insert(f.symbol);
    targets.insert(f.target);
  }
  if (names.size() > 1) {
    std::set<std::string> readable;
    for (const std::string &symbol : names)
      readable.insert(demangle(symbol));
    return makeError("{}: {} {}s match '{}':{}", file, names.size(), nounOf(kind), name, listed(readable));
  }
  if (targets.size() > 1)
    return makeError("{}: {} is there for several targets; choose one with --target: {}", file,
                     demangle(found.front().symbol), fmt::join(targets, ", "));

  SelectedFunction selected = LUTHIER_TRY(selectObject(file, found.front().origin));
  for (const object::Symbol &symbol : selected.object->symbols())
    if (isWanted(symbol, kind) && symbol.name == found.front().symbol)
      selected.symbol = &symbol;
  return selected;
}

Result<SelectedFunction> selectObject(const std::string &file, const std::string &origin) {
  SelectedFunction selected;
  selected.container = std::make_unique<object::Container>(LUTHIER_TRY(object::Container::open(file)));
  for (const object::ImageGroup &group : selected.container->groups()) {
    auto images = LUTHIER_TRY(selected.container->images(group));
    for (object::Image &image : images) {
      if (image.origin != origin)
        continue;
      selected.image = std::make_unique<object::Image>(std::move(image));
      selected.object = std::make_unique<object::CodeObject>(LUTHIER_TRY(selected.image->codeObject()));
      return selected;
    }
  }
  return makeError("{}: changed while it was read", file);
}

} // namespace luthier::cli
