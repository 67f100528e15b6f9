// Sees to it that results are written however the application ends: by returning from main or calling exit, by _exit
// (through the preloaded libluthier-exit.so, which calls luthierFlush), by abort, or by SIGTERM, SIGINT or SIGHUP.
//
// A signal handler may do next to nothing. Ours wakes a thread that was started for this, waits a moment for it, and
// lets the signal do what it would have done. Signals that the application handles itself, or ignores, are left alone.
#pragma once

namespace luthier::runtime {

/// For ToolHost. Once.
void watchForTheEnd();

} // namespace luthier::runtime
