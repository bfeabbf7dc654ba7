// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/device_fixture.hpp"
#include "support/compiler_search.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/session/benchmark.hpp>

#include <cstdlib>
#include <memory>

namespace cubinet::test {

inline BenchmarkCase small_case(std::uint32_t head_dim = 64) {
  BenchmarkCase made;
  made.problem = {.batch = 2,
                  .kv_len = 40,
                  .heads_q = 4,
                  .heads_kv = 2,
                  .head_dim_qk = head_dim,
                  .head_dim_v = head_dim,
                  .tokens_per_page = 16};
  return made;
}

// A session on the stub device, which computes nothing.
struct BenchmarkSetting {
  Stub stub;
  TempDir folder;
  std::shared_ptr<Session> session;

  BenchmarkSetting() {
    SessionOptions options;
    options.home = (folder / "home").string();
    options.compiler = compiler_search();
    if (const char* library = std::getenv("CUBINET_TEST_DRIVER")) options.driver_library = library;
    session = ok(Session::open(options));
  }
};

}  // namespace cubinet::test
