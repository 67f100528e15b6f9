#include <luthier/hook.h>
LUTHIER_HOOK(lane) uint32_t change(uint32_t value, uint32_t factor, uint32_t more) { return value * factor + more; }
