// A line on the terminal that says what is going on, and is gone before anything else is said.
//
// Others write to the terminal too. So the line is put below the one that the cursor is in, and the cursor stays where
// it is: what the application has begun to print stays whole. It is one line of the screen, never more.
#pragma once

#include <string_view>

namespace luthier::status_line {

/// Whether there is somebody to read it: stderr is a terminal, and this process is in its foreground.
bool possible();

/// In place of the line that is shown.
void show(std::string_view text);

/// What makes room for other text where a line may be shown that is not ours: the runtime's, for the virtual GPU. Empty
/// unless stderr is a terminal.
std::string_view clearing();

/// Does nothing when none is shown. May be called from a signal handler.
void erase();

} // namespace luthier::status_line
