// A tool library whose only purpose is to hand ROCr's table to the test program that has it loaded (fixture.h).
#include <dlfcn.h>

#include <cstdint>

extern "C" {

[[gnu::visibility("default")]] bool OnLoad(void *table, uint64_t, uint64_t, const char *const *) {
  const auto receive = reinterpret_cast<void (*)(void *)>(dlsym(RTLD_DEFAULT, "luthierTestOnLoad"));
  if (receive)
    receive(table);
  return receive != nullptr;
}

[[gnu::visibility("default")]] void OnUnload() {
  if (const auto end = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "luthierTestOnUnload")))
    end();
}

} // extern "C"
