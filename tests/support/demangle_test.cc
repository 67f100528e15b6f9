#include "support/demangle.h"

#include <gtest/gtest.h>

namespace luthier {
namespace {

TEST(Demangle, NamesAsInTheSource) {
  EXPECT_EQ(demangle("_Z9vectorAddPfi"), "vectorAdd(float*, int)");
  EXPECT_EQ(demangle("_ZTV6Square"), "vtable for Square");
}

TEST(Demangle, WhatIsNotMangledStaysAsItIs) {
  for (const char *name : {"", "main", "_Z", "_Znonsense", "_Z9vectorAdd\xff", "kernel.kd"})
    EXPECT_EQ(demangle(name), name);
}

} // namespace
} // namespace luthier
