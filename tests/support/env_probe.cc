// Prints what it sees of its environment. env_test.cc runs it with more rights than its caller has.

#include "support/env.h"
#include "support/log.h"

#include <cstdio>

#include <sys/auxv.h>

int main() {
  std::printf("secure %lu text %s log %d\n", getauxval(AT_SECURE),
              luthier::env::text("LUTHIER_ENV_TEST").value_or("unset").c_str(),
              static_cast<int>(luthier::log::level()));
}
