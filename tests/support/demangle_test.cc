#include "support/demangle.h"

#include <gtest/gtest.h>

namespace luthier {
namespace {

TEST(Demangle, NamesAsInTheSource) {
  EXPECT_EQ(demangle("_Z9vectorAddPfi"), "vectorAdd(float*, int)");
  EXPECT_EQ(demangle("_ZTV6Square"), "vtable for Square");
  EXPECT_EQ(demangle("_Z1nv"), "n()");
}

TEST(Demangle, TypesOfGpuCode) {
  EXPECT_EQ(demangle("_Z4haxpPDF16_DF16_"), "haxp(_Float16*, _Float16)");
  EXPECT_EQ(demangle("_Z5scaleIDF16_EvPT_i"), "void scale<_Float16>(_Float16*, int)");
}

TEST(Demangle, SuffixesAreKept) { EXPECT_EQ(demangle("_Z9vectorAddPfi.kd"), "vectorAdd(float*, int) (.kd)"); }

TEST(Demangle, WhatIsNotMangledStaysAsItIs) {
  for (const char *name : {"", "main", "_Z", "_Znonsense", "_Z9vectorAdd\xff", "kernel.kd", "n", "x", "i", "Pf",
                           "vector_add", "__ockl_hostcall_internal"})
    EXPECT_EQ(demangle(name), name);
}

} // namespace
} // namespace luthier
