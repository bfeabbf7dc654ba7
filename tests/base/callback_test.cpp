// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/callback.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <type_traits>

using cubinet::Callback;

namespace {

int doubled(int value) {
  return 2 * value;
}

}  // namespace

TEST_CASE("a callback is empty until it is given something to call") {
  Callback<int(int)> callback;
  CHECK_FALSE(callback);
  callback = doubled;
  REQUIRE(callback);
  CHECK(callback(4) == 8);
  callback = {};
  CHECK_FALSE(callback);
}

TEST_CASE("copies of a callback share what it holds and keep it alive") {
  auto count = std::make_shared<int>(0);
  const std::weak_ptr<int> watch = count;
  Callback<void()> copy;
  {
    const Callback<void()> callback = [owned = std::move(count)] { ++*owned; };
    copy = callback;
    callback();
  }
  copy();
  REQUIRE(watch.lock() != nullptr);
  CHECK(*watch.lock() == 2);
  copy = {};
  CHECK(watch.expired());
}

TEST_CASE("a callback passes on references and what can only be moved") {
  const Callback<std::unique_ptr<int>(std::string&, std::unique_ptr<int>)> callback =
      [held = std::make_unique<int>(1)](std::string& text, std::unique_ptr<int> value) {
        text += "!";
        *value += *held;
        return value;
      };
  std::string text = "so";
  const auto value = callback(text, std::make_unique<int>(41));
  CHECK(text == "so!");
  CHECK(*value == 42);
}

TEST_CASE("a callback without a result takes a function that has one") {
  int seen = 0;
  const Callback<void(int)> callback = [&seen](int value) { return seen = value; };
  callback(7);
  CHECK(seen == 7);
  static_assert(!std::is_constructible_v<Callback<int(int)>, std::string>);
  static_assert(!std::is_constructible_v<Callback<int()>, int (*)(int)>);
}
