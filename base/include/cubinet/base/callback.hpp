// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace cubinet {

template <class Signature>
class Callback;

// A function that the caller passes in options. It holds any callable with this signature, or
// nothing, which is the default. It replaces std::function because <functional> makes up a fifth of
// what a public header includes. Copies share one callable, which is called as const. The API that
// takes a callback states whether several threads may call it at once. The caller must not call an
// empty one.
template <class R, class... Arguments>
class Callback<R(Arguments...)> {
 public:
  Callback() = default;
  template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, Callback> &&
                                              std::is_invocable_r_v<R, const std::decay_t<F>&, Arguments...>>>
  // NOLINTNEXTLINE(google-explicit-constructor): callers pass lambdas directly
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
