// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cubin.hpp"

#include <cubinet/session/json.hpp>

#include <doctest/doctest.h>

using namespace cubinet;

TEST_CASE("values keep their types in JSON") {
  KernelSpec spec;
  spec.name = "t";
  spec.set("flag", true).set("number", 64).set("type", "bf16");
  CHECK(describe(spec).dump() == R"({"parameters":{"flag":true,"number":64,"type":"bf16"},"template":"t"})");
}

TEST_CASE("a kernel of a source is described by its names in the source") {
  KernelSpec spec;
  spec.maker = KernelMaker::source;
  spec.name = "axpy";
  spec.options = {{"std", "c++20"}};
  CubinRecord record = *test::make_cubin(spec).record;
  record.entry_points.resize(2);
  record.entry_points[0].name = "axpy<float, 4>";
  record.entry_points[0].symbol = "_Z4axpyIfLi4EEvPT_";
  record.entry_points[1].name = record.entry_points[1].symbol = "_ZN2my5scaleEPf";
  CHECK(kernel_title(record) == "axpy<float, 4>, my::scale of axpy --std=c++20");
  CHECK(describe(record)["names"] == nlohmann::json{"axpy<float, 4>", "my::scale"});
  CHECK(describe(record)["template"] == "axpy");
  record.entry_points.clear();
  CHECK(kernel_title(record) == "axpy --std=c++20");
  KernelSpec other;
  other.name = "t";
  other.set("number", 64);
  CHECK(kernel_title(*test::make_cubin(other).record) == "t(number=64)");
}

TEST_CASE("a record tells its specification, target, origin and digests") {
  KernelSpec spec;
  spec.name = "t";
  spec.set("number", 64);
  Cubin cubin = test::make_cubin(spec);
  const auto described = describe_fully(*cubin.record);
  CHECK(described["template"] == "t");
  CHECK(described["target"] == "sm_90a");
  CHECK(described["origin"] == "compiled");
  CHECK(described["sha256"] == sha256(*cubin.image).to_hex());
  CHECK(described["bytes"] == cubin.image->size());
  CHECK(described["entry_points"][0]["threads"] == 128);
  CubinRecord imported = *cubin.record;
  imported.origin = CubinOrigin::bundle;
  imported.version = 7;
  CHECK(describe(imported)["bundle_version"] == 7);
}

TEST_CASE("a document is indented, and bytes that are not text are replaced") {
  CHECK(json_text({{"a", 1}}) == "{\n  \"a\": 1\n}");
  CHECK(json_text({{"a", "\xff"}}) == "{\n  \"a\": \"\xef\xbf\xbd\"\n}");
}

TEST_CASE("an error has its code, and a detail only if there is one") {
  Error error{ErrorCode::not_found, "it is gone", "look elsewhere"};
  CHECK(error_document(error).dump() ==
        R"({"error":{"code":"not_found","message":"it is gone","remedy":"look elsewhere"}})");
  error.detail = "log";
  CHECK(error_document(error)["error"]["detail"] == "log");
}

TEST_CASE("findings of folders are counted, and the first have names and reasons") {
  ArtifactFindings findings;
  for (std::size_t i = 0; i < 25; ++i)
    findings.add({"name" + std::to_string(i) + "\n", "it is so", "folder"});
  const auto document = describe(findings);
  CHECK(document["count"] == 25);
  CHECK(document["first"].size() == kMaximumListedFindings);
  CHECK(document["first"][1] == "name1\n");
  CHECK(document["details"][1] ==
        nlohmann::json{{"folder", "folder"}, {"name", "name1\n"}, {"reason", "it is so"}});
}

TEST_CASE("a report of trust is null without a policy, and lists the signers with one") {
  CHECK(describe(TrustReport()).is_null());
  TrustReport report;
  report.policy.emplace().origin = "policy.json, line 1";
  CHECK(describe(report)["threshold"] == 1);
  CHECK(describe(report)["signers"].empty());
}
