#include <luthier/hook.h>

LUTHIER_HOOK(wave) void writeAnywhere() { *reinterpret_cast<volatile uint32_t *>(0x3ffffffff000) = 1; }
