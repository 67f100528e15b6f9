// What Luthier's classes over HSA's handles have in common.
//
// A class such as Agent or Signal is one HSA handle with the operations that Luthier needs: as cheap to copy as the
// handle, comparable, hashable, and without any claim on the object behind it. Owned<T> is the form that destroys it.
// Every call goes through the entries from before Luthier was installed (hsa/api.h).
//
// ROCr's handles are addresses that it uses unchecked, so an operation on an object that was destroyed corrupts memory
// or does something to a newer object at the same address. In debug builds each value therefore remembers when it was
// obtained, and operations on a value that is older than the last destruction at its address are refused: those that
// can fail return an error, the others log it and do nothing.
#pragma once

#include "hsa/api.h"
#include "support/log.h"

#include <compare>
#include <concepts>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#ifndef LUTHIER_HSA_CHECK_HANDLES
#ifdef NDEBUG
#define LUTHIER_HSA_CHECK_HANDLES 0
#else
#define LUTHIER_HSA_CHECK_HANDLES 1
#endif
#endif

namespace luthier::hsa {

/// The record of destroyed objects. Without LUTHIER_HSA_CHECK_HANDLES all of it does nothing.
namespace lifetime {

inline constexpr bool kChecked = LUTHIER_HSA_CHECK_HANDLES;

#if LUTHIER_HSA_CHECK_HANDLES
/// Number of the last destruction at this address; 0 when there was none.
uint64_t lastDestruction(uint64_t handle);
/// To be called before the object goes, so that no newer one can be at its address yet.
void noteDestruction(uint64_t handle);
/// HSA was shut down.
void noteAllDestroyed();
/// Notes what the application itself destroys: subscribes to the Interceptor's events, for good. A second call does
/// nothing.
void watchApplication();
#else
inline uint64_t lastDestruction(uint64_t) { return 0; }
inline void noteDestruction(uint64_t) {}
inline void noteAllDestroyed() {}
inline void watchApplication() {}
#endif

} // namespace lifetime

/// Everything that an iterator of HSA's visits. `iterate` is called with the callback and its data; the element is what
/// the callback gets before `data`.
template <class T, class Iterate> Result<std::vector<T>> collectBy(Iterate iterate) {
  std::vector<T> all;
  auto visit = [](auto... visited) {
    const auto arguments = std::tie(visited...);
    auto *result = static_cast<std::vector<T> *>(std::get<sizeof...(visited) - 1>(arguments));
    result->push_back(T(std::get<sizeof...(visited) - 2>(arguments)));
    return HSA_STATUS_SUCCESS;
  };
  LUTHIER_TRY(iterate(visit, static_cast<void *>(&all)));
  return all;
}
template <class T, ApiId id, class... Args> Result<std::vector<T>> collect(Args... args) {
  return collectBy<T>([&](auto visit, void *data) { return call<id>(args..., visit, data); });
}

/// `Raw` is HSA's own type: a struct with a `handle`, or a pointer. `Self` names itself in messages by `kWhat`.
template <class Self, class Raw> class Handle {
public:
  using RawHandle = Raw;

  Handle() = default;
  explicit Handle(Raw raw) : raw_(raw) {
#if LUTHIER_HSA_CHECK_HANDLES
    born_ = lifetime::lastDestruction(value());
#endif
  }

  Raw raw() const { return raw_; }
  uint64_t value() const {
    if constexpr (std::is_pointer_v<Raw>)
      return reinterpret_cast<uint64_t>(raw_);
    else
      return raw_.handle;
  }
  explicit operator bool() const { return value() != 0; }

  friend bool operator==(const Self &a, const Self &b) { return a.value() == b.value(); }
  friend std::strong_ordering operator<=>(const Self &a, const Self &b) { return a.value() <=> b.value(); }

  /// False when the object is known to be destroyed; always true in release builds.
  bool alive() const {
#if LUTHIER_HSA_CHECK_HANDLES
    return lifetime::lastDestruction(value()) == born_;
#else
    return true;
#endif
  }

protected:
  /// For operations that can say so.
  Result<void> check(std::string_view operation) const {
    if (!alive())
      return makeError("{} on a destroyed {} ({:#x}) is refused", operation, Self::kWhat, value());
    return {};
  }
  /// For operations that cannot.
  bool usable(std::string_view operation) const {
    if (alive())
      return true;
    log::error("{} on a destroyed {} ({:#x}) is refused", operation, Self::kWhat, value());
    return false;
  }

  /// A function whose first argument is this handle.
  template <ApiId id, class... Args> Result<void> invoke(Args... args) const {
    LUTHIER_TRY(check(ApiCall<id>::name));
    return call<id>(raw_, args...);
  }

  /// An iterator whose first argument is this handle.
  template <class T, ApiId id, class... Args> Result<std::vector<T>> each(Args... args) const {
    LUTHIER_TRY(check(ApiCall<id>::name));
    return collect<T, id>(raw_, args...);
  }

  /// HSA's questions: the answer's type is up to the attribute.
  template <ApiId id, class T, class Attribute> Result<T> info(Attribute attribute) const {
    T value{};
    LUTHIER_TRY(invoke<id>(attribute, static_cast<void *>(&value)));
    return value;
  }
  /// Texts of limited length.
  template <ApiId id, size_t size, class Attribute> Result<std::string> infoText(Attribute attribute) const {
    char text[size + 1] = {};
    LUTHIER_TRY(invoke<id>(attribute, static_cast<void *>(text)));
    return std::string(text);
  }
  /// Texts whose length is another question. Some lengths count the terminating zero, some do not.
  template <ApiId id, class Attribute>
  Result<std::string> infoText(Attribute lengthAttribute, Attribute attribute) const {
    const uint32_t length = LUTHIER_TRY(info<id, uint32_t>(lengthAttribute));
    std::string text(length + 1, '\0');
    LUTHIER_TRY(invoke<id>(attribute, static_cast<void *>(text.data())));
    text.resize(text.find('\0'));
    return text;
  }

  Raw raw_{};
#if LUTHIER_HSA_CHECK_HANDLES
  uint64_t born_ = 0;
#endif
};

template <class T>
concept AnyHandle = std::derived_from<T, Handle<T, typename T::RawHandle>>;

/// The object too: destroyed with it, unless released. `T::destroy()` does it; what goes wrong there is logged.
template <class T> class [[nodiscard]] Owned {
public:
  Owned() = default;
  explicit Owned(T object) : object_(object) {}
  Owned(Owned &&other) noexcept : object_(other.release()) {}
  Owned &operator=(Owned &&other) noexcept {
    if (this != &other) {
      reset();
      object_ = other.release();
    }
    return *this;
  }
  ~Owned() { reset(); }

  const T &get() const { return object_; }
  const T &operator*() const { return object_; }
  const T *operator->() const { return &object_; }
  explicit operator bool() const { return static_cast<bool>(object_); }

  /// The caller sees to its end.
  T release() { return std::exchange(object_, T()); }
  /// Ends it now, and says how that went.
  Result<void> destroy() { return object_ ? release().destroy() : Result<void>(); }

private:
  void reset() {
    if (auto destroyed = destroy(); !destroyed)
      log::warn("{}", destroyed.error().message());
  }

  T object_;
};

} // namespace luthier::hsa

template <luthier::hsa::AnyHandle T> struct std::hash<T> {
  size_t operator()(const T &handle) const noexcept { return std::hash<uint64_t>()(handle.value()); }
};
