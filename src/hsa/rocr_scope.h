// Whether this thread is inside ROCr, in a function that calls nobody back.
//
// ROCr calls functions of its own public interface, through the table: since 6.0 freezing an executable waits that way
// for the GPU's caches. Such calls are neither the application's nor a callback's.
#pragma once

#include <type_traits>

namespace luthier::hsa {

class RocrScope {
public:
  RocrScope() { ++depth_; }
  ~RocrScope() { --depth_; }
  RocrScope(const RocrScope &) = delete;
  RocrScope &operator=(const RocrScope &) = delete;

  static bool inside() { return depth_ > 0; }

private:
  static inline thread_local int depth_ = 0;
};

/// Whether a function may lead back to its caller, before it returns.
template <class Function> inline constexpr bool takesCallback = false;
template <class Return, class... Args>
inline constexpr bool takesCallback<Return (*)(Args...)> = (std::is_function_v<std::remove_pointer_t<Args>> || ...);

} // namespace luthier::hsa
