// Development aid: prints the fragments of all hooks of a file.   hook_dump FILE.bc TARGET WAVESIZE [HOOK]
#include "hook/compiler.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

using namespace luthier;
using namespace luthier::hook;

int main(int argc, char **argv) {
  std::ifstream file(argv[1], std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  auto module = HookModule::load(std::as_bytes(std::span(text)), argv[1]);
  if (!module) {
    fmt::print("{}\n", module.error().message());
    return 1;
  }
  const isa::Target &target = *isa::findTarget(argv[2]);
  const unsigned waveSize = static_cast<unsigned>(atoi(argv[3]));
  auto decoder = isa::Decoder::create(target, waveSize);
  FragmentCompiler compiler({});
  for (const Hook &hook : (*module)->hooks()) {
    if (argc > 4 && hook.name != argv[4])
      continue;
    FragmentRequest request{hook.name, {}};
    for (size_t n = 0; n < hook.parameters.size(); ++n)
      request.sources.push_back({.kind = hook.kind == HookKind::Wave ? SourceKind::Scalar : SourceKind::Vector});
    auto fragment = compiler.compile(*module, request, target, waveSize);
    fmt::print("== {}\n", hook.name);
    if (!fragment) {
      fmt::print("   {}\n", fragment.error().message());
      continue;
    }
    const Fragment &f = **fragment;
    for (const Port &p : f.inputs)
      fmt::print("   in  kind {} index {} part {} guest {} launch {}: {}\n", static_cast<int>(p.kind), p.index,
                 static_cast<int>(p.part), p.guest.empty() ? "-" : toString(p.guest), p.launch, toString(p.regs));
    for (const Port &p : f.outputs)
      fmt::print("   out kind {} index {} guest {}: {}\n", static_cast<int>(p.kind), p.index,
                 p.guest.empty() ? "-" : toString(p.guest), toString(p.regs));
    for (const Instr &instr : f.code.instrs())
      fmt::print("     {}\n", (*decoder)->text(instr));
    for (const auto &r : f.relocations)
      fmt::print("   reloc {} {} {} +{}\n", r.offset, r.high ? "hi" : "lo", (*module)->variables()[r.variable].name,
                 r.addend);
    fmt::print("   vector {} cross {} empty {} loops {} s{} v{} pendV {} pendS {}\n", f.vector, f.crossLane,
               f.safeWhenEmpty, f.loops, f.sgprs, f.vgprs, f.pendingVector, f.pendingScalar);
  }
  const auto s = compiler.statistics();
  fmt::print("{} compiled, {:.1f} ms each\n", s.compiled, 1000 * s.compileSeconds / static_cast<double>(s.compiled));
}
