// Result<T>: a value, or the reason why there is none.
//
// Shaped like std::expected<T, Error>, which C++20 does not have. The library part of the project is built without
// exceptions and never aborts its host application, so everything that can fail returns one of these; a factory returns
// Result<T> instead of a half-made object. No LLVM and no HSA type appears here: llvm::Error and hsa_status_t are
// converted where those libraries are called.
//
//   Result<Section> findSection(std::string_view name) {
//     ...
//     return makeError("no section named '{}'", name);
//   }
//
//   Result<void> load() {
//     Section text = LUTHIER_TRY(findSection(".text"));
//     ...
//     return {};
//   }
#pragma once

#include <cassert>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/core.h>

namespace luthier {

// What went wrong, in words meant for the user, with an optional code for callers that must tell cases apart (an
// errno, an hsa_status_t; 0 where there is none).
class Error {
public:
  explicit Error(std::string message, int code = 0) : message_(std::move(message)), code_(code) {}

  const std::string &message() const { return message_; }
  int code() const { return code_; }

  // The same error, prefixed by what was being done: "reading a.out: truncated header".
  Error withContext(std::string_view context) const { return Error(fmt::format("{}: {}", context, message_), code_); }

private:
  std::string message_;
  int code_;
};

template <typename... Args> [[nodiscard]] Error makeError(fmt::format_string<Args...> format, Args &&...args) {
  return Error(fmt::vformat(format, fmt::make_format_args(args...)));
}

template <typename... Args>
[[nodiscard]] Error makeErrorCode(int code, fmt::format_string<Args...> format, Args &&...args) {
  return Error(fmt::vformat(format, fmt::make_format_args(args...)), code);
}

// Accessing the value of a failed result, or the error of a successful one, is a bug of the caller (checked by assert).
template <typename T> class [[nodiscard]] Result {
  static_assert(!std::is_reference_v<T>, "return a pointer or a std::reference_wrapper");
  static_assert(!std::is_same_v<std::remove_cv_t<T>, Error>, "a result of an error is ambiguous");

public:
  using value_type = T;
  using error_type = Error;

  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  template <typename U = T>
    requires(!std::is_same_v<std::remove_cvref_t<U>, Result> && !std::is_same_v<std::remove_cvref_t<U>, Error> &&
             std::is_convertible_v<U, T>)
  Result(U &&value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T &value() & {
    assert(has_value());
    return *std::get_if<0>(&state_);
  }
  const T &value() const & {
    assert(has_value());
    return *std::get_if<0>(&state_);
  }
  T &&value() && {
    assert(has_value());
    return std::move(*std::get_if<0>(&state_));
  }

  T &operator*() & { return value(); }
  const T &operator*() const & { return value(); }
  T &&operator*() && { return std::move(*this).value(); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }

  template <typename U> T value_or(U &&fallback) const & {
    return has_value() ? value() : static_cast<T>(std::forward<U>(fallback));
  }
  template <typename U> T value_or(U &&fallback) && {
    return has_value() ? std::move(*this).value() : static_cast<T>(std::forward<U>(fallback));
  }

  const Error &error() const & {
    assert(!has_value());
    return *std::get_if<1>(&state_);
  }
  Error &&error() && {
    assert(!has_value());
    return std::move(*std::get_if<1>(&state_));
  }

private:
  std::variant<T, Error> state_;
};

// Success carries nothing: `return {};`.
template <> class [[nodiscard]] Result<void> {
public:
  using value_type = void;
  using error_type = Error;

  Result() = default;
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  void value() const { assert(has_value()); }
  void operator*() const { value(); }

  const Error &error() const & {
    assert(!has_value());
    return *std::get_if<1>(&state_);
  }
  Error &&error() && {
    assert(!has_value());
    return std::move(*std::get_if<1>(&state_));
  }

private:
  std::variant<std::monostate, Error> state_;
};

} // namespace luthier

#define LUTHIER_CONCAT_(a, b) a##b
#define LUTHIER_CONCAT(a, b) LUTHIER_CONCAT_(a, b)
#define LUTHIER_TRY_NAMED_(name, ...)                                                                                  \
  ({                                                                                                                   \
    auto name = (__VA_ARGS__);                                                                                         \
    if (!name)                                                                                                         \
      return std::move(name).error();                                                                                  \
    *std::move(name);                                                                                                  \
  })

// The value of a Result expression; if it failed, the enclosing function returns its error. A GNU statement expression,
// which both GCC and Clang have.
#define LUTHIER_TRY(...) LUTHIER_TRY_NAMED_(LUTHIER_CONCAT(luthierTry, __COUNTER__), __VA_ARGS__)
