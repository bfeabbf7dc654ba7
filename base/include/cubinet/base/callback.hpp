// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace cubinet {

template <class Signature>
class Callback;

// A function of the caller's that options carry: anything that can be called with these arguments, or
// nothing, the default. What std::function is without <functional>, which is a fifth of what a public header
// brings in. Copies share the one callable, which is called as const: whether that may happen from several
// threads at once is said where the callback is taken. Calling an empty one is a broken precondition.
template <class R, class... Arguments>
class Callback<R(Arguments...)> {
 public:
  Callback() = default;
  template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, Callback> &&
                                              std::is_invocable_r_v<R, const std::decay_t<F>&, Arguments...>>>
  // NOLINTNEXTLINE(google-explicit-constructor): a lambda is passed as it stands
  Callback(F&& callable) : held_(std::make_shared<const Held<std::decay_t<F>>>(std::forward<F>(callable))) {}

  explicit operator bool() const { return held_ != nullptr; }
  R operator()(Arguments... arguments) const { return held_->call(std::forward<Arguments>(arguments)...); }

 private:
  struct Callable {
    virtual ~Callable() = default;
    virtual R call(Arguments... arguments) const = 0;
  };
  template <class F>
  struct Held final : Callable {
    template <class G>
    explicit Held(G&& callable) : function(std::forward<G>(callable)) {}
    R call(Arguments... arguments) const override {
      return static_cast<R>(function(std::forward<Arguments>(arguments)...));
    }
    F function;
  };

  std::shared_ptr<const Callable> held_;
};

}  // namespace cubinet
