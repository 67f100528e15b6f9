// Threads that Luthier starts inside other people's processes.
#pragma once

namespace luthier {

/// Makes the calling thread ours: named (at most 15 characters), and with all signals blocked, so that the
/// application's handlers run on the application's threads.
void becomeInternalThread(const char *name);

} // namespace luthier
