// Typed handles of the hooks and variables in a file of hooks, as C++ that the host side of a tool includes.
//
// A tool names a hook where it asks for it (`at.before(instr).call(hooks::count, 3)`), and nothing but the compiler
// looks at that line before the application runs. So the handles carry the parameters' types: a hook that is not there,
// a missing argument or one of another type does not compile.
#pragma once

#include "hook/module.h"

#include <span>
#include <string>
#include <string_view>

namespace luthier::hook {

/// What NAME_hooks.h contains: namespace hooks with a luthier::Hook or luthier::Variable for each that `module` has,
/// in its own namespaces. What cannot have a handle (overloads, templates) is an error that names it.
Result<std::string> handlesHeader(const HookModule &module);

/// The source that goes with it: the bitcode. `header` is how it includes the other.
std::string handlesSource(const HookModule &module, std::span<const std::byte> bitcode, std::string_view header);

} // namespace luthier::hook
