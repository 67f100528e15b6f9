#include "cli/instr_class.h"

#include <algorithm>

namespace luthier::cli {

namespace {

bool isVectorMemory(const Instr &i) {
  switch (i.memorySpace()) {
  case MemorySpace::Flat:
  case MemorySpace::Global:
  case MemorySpace::Scratch:
  case MemorySpace::Buffer:
  case MemorySpace::Image:
    return true;
  default:
    return false;
  }
}

bool accesses(const Instr &i) { return i.is(Property::Load) || i.is(Property::Store); }

struct InstrClass {
  std::string_view name;
  bool (*has)(const Instr &);
};
constexpr InstrClass kClasses[] = {
    {"loads", [](const Instr &i) { return i.is(Property::Load); }},
    {"stores", [](const Instr &i) { return i.is(Property::Store); }},
    {"atomics", [](const Instr &i) { return i.is(Property::Atomic); }},
    {"memory", accesses},
    {"smem", [](const Instr &i) { return i.memorySpace() == MemorySpace::Scalar && accesses(i); }},
    {"vmem", [](const Instr &i) { return isVectorMemory(i) && accesses(i); }},
    {"lds", [](const Instr &i) { return i.memorySpace() == MemorySpace::Lds && accesses(i); }},
    {"valu", [](const Instr &i) { return i.is(Property::Vector) && i.memorySpace() == MemorySpace::None; }},
    {"salu", [](const Instr &i) { return i.is(Property::Scalar) && i.memorySpace() == MemorySpace::None; }},
    {"matrix", [](const Instr &i) { return i.is(Property::Matrix); }},
    {"branches", [](const Instr &i) { return i.is(Property::Branch) || i.is(Property::IndirectBranch); }},
    {"calls", [](const Instr &i) { return i.is(Property::Call); }},
    {"barriers", [](const Instr &i) { return i.is(Property::Barrier); }},
    {"waits", [](const Instr &i) { return i.is(Property::Wait); }},
};

const InstrClass *classNamed(std::string_view name) { return std::ranges::find(kClasses, name, &InstrClass::name); }

} // namespace

std::vector<std::string_view> instrClassNames() {
  std::vector<std::string_view> names;
  for (const InstrClass &c : kClasses)
    names.push_back(c.name);
  return names;
}

bool isInstrClass(std::string_view name) { return classNamed(name) != std::end(kClasses); }
bool isOfClass(const Instr &instr, std::string_view name) { return classNamed(name)->has(instr); }

bool matchesPattern(std::string_view text, std::string_view pattern) {
  size_t t = 0, p = 0, star = pattern.npos, from = 0;
  while (t < text.size())
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != pattern.npos) {
      p = star + 1;
      t = ++from;
    } else
      return false;
  return pattern.find_first_not_of('*', p) == pattern.npos;
}

} // namespace luthier::cli
