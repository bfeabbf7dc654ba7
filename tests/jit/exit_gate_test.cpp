// SPDX-License-Identifier: Apache-2.0
#include "exit_gate.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

namespace cubinet {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

TEST_CASE("nobody enters a closed gate") {
  ExitGate gate;
  CHECK(gate.enter());
  CHECK(gate.close(milliseconds(0)));
  CHECK_FALSE(gate.enter());
  CHECK(gate.close(milliseconds(0)));
}

TEST_CASE("a close waits for the threads inside and not for its own") {
  ExitGate gate;
  std::atomic<bool> inside{false};
  std::atomic<bool> left{false};
  std::thread other([&] {
    const auto stay = gate.enter();
    inside = true;
    while (gate.enter()) {
    }
    left = true;
  });
  while (!inside)
    std::this_thread::yield();
  const auto own = gate.enter();
  CHECK(gate.close(minutes(10)));
  CHECK(left);
  other.join();
}

TEST_CASE("a close gives up after its limit, and a forked child has no other threads") {
  ExitGate gate;
  std::atomic<bool> inside{false};
  std::atomic<bool> end{false};
  std::thread other([&] {
    const auto stay = gate.enter();
    inside = true;
    while (!end)
      std::this_thread::yield();
  });
  while (!inside)
    std::this_thread::yield();
  CHECK_FALSE(gate.close(milliseconds(0)));
  end = true;
  other.join();
  CHECK(gate.close(milliseconds(0)));
  ExitGate forked;
  auto stay = forked.enter();
  std::thread([&] {
    CHECK_FALSE(forked.close(milliseconds(0)));
    forked.forget_threads();
    CHECK(forked.close(milliseconds(0)));
  }).join();
}

}  // namespace
}  // namespace cubinet
