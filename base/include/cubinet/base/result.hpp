// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/error.hpp>

#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace cubinet {

// Ends the program (SIGABRT) when the side of a Result that it does not hold is accessed. The first
// function prints the error on stderr.
[[noreturn]] void stop_at_error(const Error& error);
[[noreturn]] void stop_without_error();

// A value or an Error, with the member names of std::expected (C++23). The class is [[nodiscard]],
// so the compiler warns about an ignored result. Accessing the side that it does not hold prints
// the error's message and ends the program, in every build. It never throws.
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  // NOLINTNEXTLINE(google-explicit-constructor): callers write `return value;`
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): callers write `return Error{...};`
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  // Lets a function that returns Result<std::optional<X>> or Result<std::shared_ptr<const X>>
  // return an X.
  template <class U, class = std::enable_if_t<
                         std::is_convertible_v<U&&, T> && !std::is_same_v<std::decay_t<U>, T> &&
                         !std::is_same_v<std::decay_t<U>, Error> && !std::is_same_v<std::decay_t<U>, Result>>>
  Result(U&& value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & { return *get(); }
  const T& value() const& { return *get(); }
  T&& value() && { return std::move(*get()); }
  T& operator*() & { return *get(); }
  const T& operator*() const& { return *get(); }
  T&& operator*() && { return std::move(*get()); }
  T* operator->() { return get(); }
  const T* operator->() const { return get(); }

  const Error& error() const& {
    if (state_.index() != 1) stop_without_error();
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    if (state_.index() != 1) stop_without_error();
    return std::move(*std::get_if<1>(&state_));
  }

  template <class U>
  T value_or(U&& fallback) const& {
    return has_value() ? **this : static_cast<T>(std::forward<U>(fallback));
  }
  template <class U>
  T value_or(U&& fallback) && {
    return has_value() ? std::move(**this) : static_cast<T>(std::forward<U>(fallback));
  }

  template <class F>
  auto and_then(F&& next) && -> std::invoke_result_t<F, T&&> {
    if (!has_value()) return std::move(*this).error();
    return std::forward<F>(next)(std::move(**this));
  }
  template <class F>
  auto transform(F&& next) && -> Result<std::invoke_result_t<F, T&&>> {
    if (!has_value()) return std::move(*this).error();
    return std::forward<F>(next)(std::move(**this));
  }

 private:
  T* get() {
    if (!has_value()) stop_at_error(error());
    return std::get_if<0>(&state_);
  }
  const T* get() const {
    if (!has_value()) stop_at_error(error());
    return std::get_if<0>(&state_);
  }

  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(Error error) : error_(std::move(error)) {}

  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  void value() const {
    if (error_) stop_at_error(*error_);
  }
  const Error& error() const& {
    if (!error_) stop_without_error();
    return *error_;
  }
  Error&& error() && {
    if (!error_) stop_without_error();
    return *std::move(error_);
  }

  template <class F>
  auto and_then(F&& next) && -> std::invoke_result_t<F> {
    if (!has_value()) return std::move(*this).error();
    return std::forward<F>(next)();
  }

 private:
  std::optional<Error> error_;
};

}  // namespace cubinet

#define CUBINET_CONCAT_(a, b) a##b
#define CUBINET_CONCAT(a, b) CUBINET_CONCAT_(a, b)

// Returns the error of `expression`, a Result of any type, from the enclosing function if it has
// one.
#define CUBINET_TRY(expression)                                            \
  do {                                                                     \
    auto&& cubinet_try_result = (expression);                              \
    if (!cubinet_try_result) return std::move(cubinet_try_result).error(); \
  } while (false)

// Declares a variable from a Result, or returns its error from the enclosing function. Example:
// CUBINET_TRY_ASSIGN(auto file, read_file(path));
#define CUBINET_TRY_ASSIGN(declaration, expression) \
  CUBINET_TRY_ASSIGN_(CUBINET_CONCAT(cubinet_result_, __LINE__), declaration, expression)
#define CUBINET_TRY_ASSIGN_(temporary, declaration, expression) \
  auto temporary = (expression);                                \
  if (!temporary) return std::move(temporary).error();          \
  declaration = *std::move(temporary)
