// SPDX-License-Identifier: Apache-2.0
#include "linkage.hpp"

#include "compile_flags.hpp"
#include "jit/test_templates.hpp"
#include "linker_search.hpp"
#include "support/compiler_search.hpp"
#include "support/skip.hpp"

#include <doctest/doctest.h>

using namespace cubinet;

namespace {

std::shared_ptr<const NvJitLinkApi> any_linker() {
  const auto compiler = Compiler::open(test::compiler_search());
  REQUIRE(compiler);
  const auto linker = find_linker((*compiler)->location(), test::compiler_search());
  if (!linker) {
    test::skip(linker.error().message);
    return nullptr;
  }
  const auto version = linker_version(linker->library);
  REQUIRE(version);
  const auto api = NvJitLinkApi::open(linker->library, *version);
  REQUIRE(api);
  return *api;
}

}  // namespace

TEST_CASE("PTX is linked with the flags of the request") {
  const auto linker = any_linker();
  if (!linker) return;
  const std::string text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";
  const CompileRequest request = test::scale_request(test::kScaleBody, "sm_90");
  const std::vector<std::string> flags = link_flags(request.target, request.kind, {});
  const auto output = link(*linker, request, {{"text.ptx", LinkInputKind::ptx, as_bytes(text)}}, flags);
  REQUIRE_MESSAGE(output.has_value(), (output ? "" : output.error().to_line()));
  CHECK(as_text(output->image).starts_with("\177ELF"));
}

TEST_CASE("flags and inputs that the linker refuses are named with the request") {
  const auto linker = any_linker();
  if (!linker) return;
  const CompileRequest request = test::scale_request(test::kScaleBody, "sm_90");
  CHECK(what_is_linked(request) == request.spec.to_string() + " for sm_90");
  const auto flags = link(*linker, request, {}, {"-arch=sm_90", "-no-such-flag"});
  REQUIRE_FALSE(flags);
  CHECK(flags.error().message.find("-no-such-flag") != std::string::npos);
  CHECK(flags.error().message.find(what_is_linked(request)) != std::string::npos);
  const auto input =
      link(*linker, request, {{"broken.ptx", LinkInputKind::ptx, as_bytes("nothing")}}, {"-arch=sm_90"});
  REQUIRE_FALSE(input);
  CHECK(input.error().code == ErrorCode::compile_failed);
}
