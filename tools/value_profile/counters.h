// What is counted of each instruction. Included by both sides.
#pragma once

namespace value_profile {
enum Counter { Executed, Lanes, Constant, Uniform, Strided, Zero, kCounters };
}
