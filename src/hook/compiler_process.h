// Asks the hook compiler, a program that is installed beside this library, to read bitcode or to compile a hook.
//
// LLVM ends its process when it meets what it cannot compile, and damaged bitcode makes it crash or loop. So it never
// works on hooks inside of the application: each question starts one short-lived process with an empty environment, no
// open files of the application's, and limits on time and memory. The application notices nothing of it: no SIGCHLD is
// sent to it, and its own wait() never returns this child.
#pragma once

#include "hook/encoding.h"

namespace luthier::hook {

/// The reply; its outcome is Done. Otherwise an error: the compiler's own, which names what is wrong with the hooks,
/// or, behind `context`, that LLVM gave up or that there was no compiler to ask. Thread-safe.
Result<CompilerReply> askCompiler(CompilerRequest request, std::string_view context);

/// How many processes were started so far.
uint64_t compilersStarted();

} // namespace luthier::hook
