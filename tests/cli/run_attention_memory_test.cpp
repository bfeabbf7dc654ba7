// SPDX-License-Identifier: Apache-2.0
// Apart from the others: a sanitizer's allocator ends the process instead of refusing.
#include "driver_setting.hpp"
#include "support/skip.hpp"
#include "support/text.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

using namespace cubinet::test;

// More than any address space has, in few pages of many heads: what takes the time is to number the
// pages.
TEST_CASE("a problem that does not fit into the memory is told with what it takes") {
  if (std::getenv("CUBINET_TEST_DRIVER") == nullptr) return skip("it would fill the memory of a GPU first");
  const Sandbox sandbox;
  const ToolResult result =
      sandbox.run({"run", "decode", "--batch", "64", "--kv-len", "2000000", "--heads-q", "4096", "--heads-kv",
                   "4096", "--head-dim-qk", "128", "--page-size", "64", "--json"},
                  with_driver());
  CAPTURE(result.out);
  CHECK(result.status == 3);
  CHECK(result.json()["error"]["code"] == "unavailable");
  CHECK(contains(result.json()["error"]["message"].get<std::string>(), " TiB"));
}
