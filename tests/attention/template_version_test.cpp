// SPDX-License-Identifier: Apache-2.0
#include "decode_fixture.hpp"
#include "support/ok.hpp"

#include <cubinet/attention/tuning_candidates.hpp>

namespace cubinet {
namespace {

using namespace test::decode;
using test::ok;

TEST_CASE("the version of a template changes with its text") {
  const auto one = template_of(kAttentionDecode);
  CHECK(version_of(*one) == version_of(*template_of(kAttentionDecode)));
  const auto changed = [&](const std::string& more_source, const std::string& more_base) {
    return version_of(*ok(KernelTemplate::parse(
        one->source() + more_source, "other.cu", {}, {},
        [&](const std::string&) -> Result<std::string> { return one->base().text + more_base; })));
  };
  CHECK(changed("", "") == version_of(*one));
  CHECK(changed("\n", "") != version_of(*one));
  CHECK(changed("", "\n") != version_of(*one));
  CHECK(changed("#include <cubinet/wgmma.cuh>", "") != changed("#include <cubinet/cluster.cuh>", ""));
  CHECK(version_of(*one).starts_with("interface "));
}

}  // namespace
}  // namespace cubinet
