// Variables of each kind of storage, for the tests of emitting.
#include <luthier/hook.h>

LUTHIER_DEVICE uint64_t counter;
LUTHIER_DEVICE uint64_t start = 11;
LUTHIER_DEVICE alignas(8192) uint32_t tooStrict;
LUTHIER_PER_LAUNCH uint32_t launchA;
LUTHIER_PER_LAUNCH uint64_t launchB;
LUTHIER_PER_WAVE uint32_t wave;

LUTHIER_HOOK(wave) void use() {
  wave += 1;
  luthier::atomicAdd(counter, start + wave);
  luthier::atomicAdd(tooStrict, 1);
  luthier::atomicAdd(launchA, 1);
  luthier::atomicAdd(launchB, 1);
}
