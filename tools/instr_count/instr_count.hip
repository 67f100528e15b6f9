// What is counted is in luthier/run_counts_hooks.h.
#include <luthier/run_counts_hooks.h>
