// SPDX-License-Identifier: Apache-2.0
#include <cubinet/serving/tool_caches.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

using Caches = std::vector<ToolCache>;

Caches caches_of(std::vector<std::string> variables, const Caches& named = {}, std::size_t devices = 1) {
  return tool_caches(EnvironmentVariables(std::move(variables)), named, devices);
}

TEST_CASE("the folders of the tools come from their variables") {
  CHECK(caches_of({"TRITON_CACHE_DIR=/t", "TORCHINDUCTOR_CACHE_DIR=/i", "DJ_JIT_CACHE_DIR=/a:/b",
                   "XDG_CACHE_HOME=/x", "HOME=/h"}) ==
        Caches{{"triton", "/t"}, {"deepjit", "/a"}, {"cuda.core", "/x/cuda-python/program-cache"}});
}

TEST_CASE("PyTorch has a folder for each device, and Triton its own beside them") {
  CHECK(caches_of({"TORCHINDUCTOR_CACHE_DIR=/i", "TRITON_HOME=/o", "HOME=/h"}, {}, 2) ==
        Caches{{"triton", "/i/triton/0"},
               {"triton", "/i/triton/1"},
               {"triton", "/o/.triton/cache"},
               {"cuda.core", "/h/.cache/cuda-python/program-cache"}});
  // A machine whose devices are not known has one.
  CHECK(caches_of({"TORCHINDUCTOR_CACHE_DIR=/i"}, {}, 0) == Caches{{"triton", "/i/triton/0"}});
}

TEST_CASE("a named folder replaces those of its tool, and an environment without variables has none") {
  CHECK(caches_of({"TRITON_CACHE_DIR=/t", "XDG_CACHE_HOME=relative"}, {{"triton", "/1"}, {"triton", "/2"}}) ==
        Caches{{"triton", "/1"}, {"triton", "/2"}});
  CHECK(caches_of({"DJ_JIT_CACHE_DIR=:/b"}).empty());
  CHECK(caches_of({}).empty());
}

}  // namespace
}  // namespace cubinet
