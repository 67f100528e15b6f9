// Threads that Luthier starts inside other people's processes, and the time of threads.
#pragma once

namespace luthier {

/// Makes the calling thread ours: named (at most 15 characters), and with all signals blocked, so that the
/// application's handlers run on the application's threads. All but SIGABRT: a tool may call abort here, and since
/// glibc 2.42 that runs no handler, ours included, on a thread that blocks the signal.
void becomeInternalThread(const char *name);

/// Time that the calling thread has spent on a core, in seconds: what others do on the machine does not count.
double threadSeconds();

} // namespace luthier
