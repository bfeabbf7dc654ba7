// SPDX-License-Identifier: Apache-2.0
// run_attention_test and run_attention_gpu_test plan, run and compare.
#include <cubinet/session/checked_attention.hpp>

#include <doctest/doctest.h>

using namespace cubinet;

TEST_CASE("a result is right as far as its type allows") {
  AttentionVerdict verdict;
  verdict.allowed = 1e-2;
  CHECK(verdict.correct());
  verdict.appended = false;
  CHECK_FALSE(verdict.correct());
  verdict.appended = true;
  verdict.error.worst_row = 2e-2;
  CHECK_FALSE(verdict.correct());
  verdict.narrow_output = true;
  verdict.error.worst_steps = 1;
  CHECK(verdict.correct());
  verdict.error.worst_steps = 2;
  CHECK_FALSE(verdict.correct());
  verdict.error.worst_row = 1e-3;
  verdict.error.worst_lse = 2e-2;
  CHECK_FALSE(verdict.correct());
  verdict.allowed_lse = 2.3e-2;
  CHECK(verdict.correct());
}
