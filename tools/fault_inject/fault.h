// What was done. Included by both sides.
#pragma once

namespace fault_inject {
enum Word { Done, Address, Group, Thread = Group + 3, Before = Thread + 3, After, kWords };
}
