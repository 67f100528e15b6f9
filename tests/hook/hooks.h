// What the tests of this folder share.
#pragma once

#include "hook/compiler.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace luthier::hook::test {

inline std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline Result<std::shared_ptr<const HookModule>> loadFile(const std::string &path) {
  const std::string text = readFile(path);
  return HookModule::load(std::as_bytes(std::span(text)), std::filesystem::path(path).filename(), /*cache=*/{});
}

/// The module of hooks.hip, or of another file; null, and a failed test, when it does not load.
inline std::shared_ptr<const HookModule> load(const std::string &path = HOOKS) {
  auto module = loadFile(path);
  EXPECT_TRUE(module) << module.error().message();
  return module ? *module : nullptr;
}

inline const isa::Target &target(std::string_view name = "gfx90a") { return *isa::findTarget(name); }

/// All parameters from scalar registers in wave hooks, from vector registers in lane hooks.
inline FragmentRequest plainRequest(const HookModule &module, const std::string &name) {
  FragmentRequest request{name, {}};
  if (const Hook *hook = module.findHook(name))
    request.sources.assign(hook->parameters.size(),
                           {.kind = hook->kind == HookKind::Wave ? SourceKind::Scalar : SourceKind::Vector});
  return request;
}

/// As assembly text, without branch distances.
inline std::vector<std::string> textOf(const Fragment &fragment, const isa::Target &target, unsigned waveSize = 64) {
  std::vector<std::string> lines;
  auto decoder = isa::Decoder::create(target, waveSize);
  for (const Instr &instr : fragment.code.instrs())
    lines.push_back((*decoder)->text(instr));
  return lines;
}

inline const Port *findPort(const std::vector<Port> &ports, Port::Kind kind, unsigned index = 0,
                            Part part = Part::Value) {
  for (const Port &port : ports)
    if (port.kind == kind && port.index == index && port.part == part)
      return &port;
  return nullptr;
}

} // namespace luthier::hook::test
