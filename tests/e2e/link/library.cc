// A code object with nothing but device functions. `foreignMix` calls back into the object that uses it.
#include "foreign.h"

#define PROVIDED extern "C" __attribute__((noinline))

extern "C" unsigned userHelp(unsigned value);

PROVIDED unsigned foreignMix(unsigned seed, unsigned extra) { return mixed(seed, userHelp(extra)); }
