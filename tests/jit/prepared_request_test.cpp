// SPDX-License-Identifier: Apache-2.0
#include "jit/test_templates.hpp"

#include <cubinet/jit/prepared_request.hpp>

#include <doctest/doctest.h>

using namespace cubinet;

namespace {

PreparedRequest scale_prepared() {
  const CompileRequest request = test::scale_request();
  return {request.kernel_template, *request.kernel_template->resolve(request.spec), {}};
}

BuildFingerprint print(std::string_view text) {
  return BuildFingerprint{sha256(as_bytes(text))};
}

}  // namespace

TEST_CASE("a prepared request is the resolved request for each target") {
  const PreparedRequest prepared = scale_prepared();
  const CompileRequest request = prepared.for_target(*SmTarget::parse("sm_100f"), ImageKind::ptx);
  CHECK(request.resolved);
  CHECK(request.kernel_template == prepared.kernel_template());
  CHECK(request.spec == prepared.spec());
  CHECK(request.target.to_string() == "sm_100f");
  CHECK(request.kind == ImageKind::ptx);
  REQUIRE(prepared.parameters_header());
  CHECK(*prepared.parameters_header() == *request.kernel_template->parameters_header(request.spec));
}

TEST_CASE("a specification that was not resolved has an error for a header") {
  const CompileRequest request = test::scale_request();
  const PreparedRequest prepared(request.kernel_template, request.spec, {});
  REQUIRE_FALSE(prepared.parameters_header());
  CHECK(prepared.parameters_header().error().code == ErrorCode::internal);
}

TEST_CASE("a fingerprint is kept for a target and kind until sources or compiler change") {
  const PreparedRequest prepared = scale_prepared();
  const PreparedRequest::Circumstances now{*SmTarget::parse("sm_90a"), ImageKind::cubin,
                                           sha256(as_bytes("text")), "NVRTC"};
  CHECK_FALSE(prepared.kept(now));
  prepared.keep(now, print("first"));
  REQUIRE(prepared.kept(now));
  CHECK(*prepared.kept(now) == print("first"));

  auto other = now;
  other.target = *SmTarget::parse("sm_90");
  CHECK_FALSE(prepared.kept(other));
  other = now;
  other.kind = ImageKind::ptx;
  CHECK_FALSE(prepared.kept(other));
  other = now;
  other.compiler = "another NVRTC";
  CHECK_FALSE(prepared.kept(other));
  other = now;
  other.sources = sha256(as_bytes("another text"));
  CHECK_FALSE(prepared.kept(other));

  prepared.keep(other, print("second"));
  CHECK(*prepared.kept(other) == print("second"));
  CHECK_FALSE(prepared.kept(now));
}

TEST_CASE("what options and parameters define is read once, when the request is made") {
  const auto parsed = test::parse_template(R"(/* cubinet-template {"name": "t", "interface": 1,
      "parameters": [{"name": "h", "type": "string", "macro": "HEADER", "default": "own.h"}],
      "kernels": [{"name": "k", "threads": 1}]} */ HEADER)");
  KernelSpec spec{"t", {}};
  spec.options = {{"D:OTHER", "<other.h>"}, {"D:F", "a + b"}};
  const PreparedRequest prepared(parsed, *parsed->resolve(spec), {});
  using Macros = std::vector<std::pair<std::string, std::string>>;
  CHECK(prepared.header_macros() ==
        Macros{{"F", " a + b"}, {"OTHER", " <other.h>"}, {"HEADER", " \"own.h\""}});
  CHECK(&prepared.header_macros() == &prepared.header_macros());
  CHECK(scale_prepared().header_macros().empty());
}
