// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cubin.hpp"

#include <cubinet/session/prebuild.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace cubinet;

TEST_CASE("the JSON of a prebuild has the builds, the failures and the error") {
  KernelSpec spec;
  spec.name = "one";
  const PrebuildResult::Kernel kernel{spec, {{9, 0, TargetKind::specific}}};
  PrebuildResult result;
  result.bundle = "b.bundle";
  result.built.push_back({kernel, KernelSource::compiled, 1.5, test::make_cubin(spec).record});
  result.built.push_back({kernel, KernelSource::registry, 0.5, test::make_cubin(spec).record});
  result.refused.push_back({kernel, Error{ErrorCode::unsupported, "no"}});
  result.unserved.push_back({"--batch 8", "no kernel"});
  auto json = nlohmann::json::parse(to_json(result));
  CHECK(json["kernels"] == 2);
  CHECK(json["compiled"] == 1);
  CHECK(json["reused"] == 1);
  CHECK(json["shard"] == "1/1");
  CHECK(json["results"][0]["seconds"] == 1.5);
  CHECK(json["results"][0]["source"] == "compiled");
  CHECK(json["refused"][0]["target"] == "sm_90a");
  CHECK(json["refused"][0]["error"]["code"] == "unsupported");
  CHECK(json["unserved"][0]["reason"] == "no kernel");
  CHECK_FALSE(json.contains("error"));
  result.error = Error{ErrorCode::unavailable, "interrupted"};
  CHECK(nlohmann::json::parse(to_json(result))["error"]["code"] == "unavailable");
}
