// Hooks that a kernel has one copy of, which its places call.
//
// Inline is the default: a fragment in registers that are dead at the place needs no call, and few copies. But a copy
// at each of many places makes code grow by its size every time, beyond what instruction caches hold. A shared hook
// costs its places a call and a return, copies of inputs that differ from place to place, and perhaps more saved
// registers, since it has the same ones everywhere. They are chosen once, after a look at all places, so that as few
// as possible have to be saved over all of them.
//
// The copy stands behind the kernel's own code and ends in s_setpc_b64. Calls are s_call_b64, which reach it over
// islands like branches do (rewrite/layout.h); they change nothing but the pair with the return address.
#pragma once

#include "rewrite/placement.h"

#include <array>
#include <vector>

namespace luthier::rewrite {

struct SharedHook {
  const PreparedFragment *fragment = nullptr;
  RegMap map;        ///< of the fragment's registers, at all places
  RegSet bound;      ///< registers of the fragment that are in the same register of the guest at all places
  RegSet taken;      ///< what a call overwrites: the registers of all others, and the return address
  Reg returnTo{};    ///< a pair
  CodeSequence body; ///< with the return
  CodeSequence path; ///< what a place executes: the call, and all of it
};

/// Whether copies of a fragment at so many places are too much: the limits are measured (docs/performance.md).
bool growsTooMuch(size_t places, size_t fragmentBytes);

/// What places have in common, and what registers would cost there.
class SharedHookSurvey {
public:
  explicit SharedHookSurvey(const PreparedFragment &fragment) : fragment_(fragment) {}

  void add(const RegisterPool &pool, const isa::Target &target, const Site &site);
  /// May make the kernel's registers more, where none can be saved. An error says why there can be no such hook.
  Result<SharedHook> choose(const Glue &glue, RegisterPool &pool, const SpillArea &spill) const;

private:
  std::optional<Reg> cheapest(const RegSet &available, RegRange like, unsigned alignment, unsigned limit,
                              const isa::Target &target) const;

  const PreparedFragment &fragment_;
  size_t sites_ = 0;
  std::array<uint32_t, number(Reg::End)> costs_{}; ///< of having a register, over all places
  std::vector<std::optional<Reg>> bindings_;       ///< per cluster, as long as it is the same at all places
};

} // namespace luthier::rewrite
