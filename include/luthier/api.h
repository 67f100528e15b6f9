// What of Luthier's is visible to tools, in libluthier.so.
#pragma once

#define LUTHIER_API __attribute__((visibility("default")))
