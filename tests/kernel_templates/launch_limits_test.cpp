// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"

#include <cubinet/kernel_templates/launch_limits.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

using test::ok;

// Returns why no device of the target can launch the kernel after a change.
template <class Change>
std::string refusal(const char* target, const Change& change) {
  EntryPoint entry;
  entry.name = "k";
  entry.threads = 32;
  change(entry);
  const auto checked = check_launch_limits(entry, "it", {ok(SmTarget::parse(target)), ImageKind::cubin});
  if (checked) return "";
  CHECK(checked.error().code == ErrorCode::unsupported);
  return checked.error().message;
}

TEST_CASE("A launch within the limits of the target is possible") {
  CHECK(refusal("sm_90a", [](EntryPoint& entry) {
          entry.threads = 16;
          entry.threads_z = 64;
          entry.cluster = {4, 4, 1};
          entry.dynamic_shared_bytes = 232448;
        }) == "");
}

TEST_CASE("A block with too many threads or too much shared memory cannot be launched") {
  CHECK(refusal("sm_90a", [](EntryPoint& entry) { entry.threads_y = 33; }) ==
        "it can never be launched on sm_90a: its kernel 'k' needs blocks of 1056 threads, and a block has at "
        "most 1024");
  CHECK(refusal("sm_90a", [](EntryPoint& entry) {
          entry.threads = 1;
          entry.threads_z = 65;
        }).find("65 threads in z") != std::string::npos);
  CHECK(refusal("sm_90a", [](EntryPoint& entry) {
          entry.dynamic_shared_bytes = 232449;
        }).find("232448 is the most") != std::string::npos);
}

TEST_CASE("A cluster needs a target that has clusters, and at most 16 blocks") {
  CHECK(refusal("sm_80", [](EntryPoint& entry) {
          entry.cluster = {2, 1, 1};
        }).find("begin with sm_90") != std::string::npos);
  CHECK(refusal("sm_90a", [](EntryPoint& entry) {
          entry.cluster = {1, 17, 1};
        }).find("more than 16") != std::string::npos);
  CHECK(refusal("sm_90a", [](EntryPoint& entry) {
          entry.cluster = {1U << 31U, 1U << 31U, 4};
        }).find("more than 16") != std::string::npos);
}

}  // namespace
}  // namespace cubinet
