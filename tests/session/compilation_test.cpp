// SPDX-License-Identifier: Apache-2.0
#include "api/runtime_fixture.hpp"
#include "support/compiler_search.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/session/compilation.hpp>
#include <cubinet/session/open_stores.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using test::ok;

namespace {

constexpr SmTarget kHopper = {9, 0, TargetKind::specific};

struct CompilingSession {
  CompilingSession() { session.compiler = test::compiler_search(); }

  KernelToCompile kernel(ImageKind kind = ImageKind::cubin) const {
    KernelSpec spec;
    spec.name = "rms_norm";
    spec.set("hidden_size", 4096).set("dtype", "bf16");
    KernelToCompile made;
    made.kernel_template = ok(ok(TemplateCatalog::builtin()).find(spec.name));
    made.spec = ok(made.kernel_template->resolve(spec));
    made.target = {kHopper};
    made.kind = kind;
    return made;
  }
  std::shared_ptr<Runtime> runtime() const {
    return ok(make_runtime(session, {}, ok(TemplateCatalog::builtin())));
  }

  SessionOptions session;
};

}  // namespace

TEST_CASE_FIXTURE(CompilingSession, "kernels are compiled in their order, and each has its own error") {
  KernelToCompile impossible = kernel();
  impossible.target = {{1, 0, TargetKind::baseline}};
  const auto compiled = ok(compile_directly(session, {kernel(), impossible, kernel(ImageKind::ptx)}, 2));
  REQUIRE(compiled.size() == 3);
  CHECK(ok(compiled[0]).record->kind == ImageKind::cubin);
  CHECK_FALSE(compiled[1]);
  CHECK(as_text(*ok(compiled[2]).image).find(".version") != std::string_view::npos);
  session.compiler.library = "/absent.so";
  CHECK(compile_directly(session, {kernel()}, 1).error().code == ErrorCode::unavailable);
}

TEST_CASE_FIXTURE(CompilingSession, "the source and what the compiler is given are available") {
  CHECK(ok(source_of(kernel())).find("4096") != std::string::npos);
  const auto inputs = ok(compilation_inputs(session, kernel()));
  REQUIRE(inputs.size() == 1);
  CHECK(inputs.front().document["target"] == "sm_90a");
  CHECK(inputs.front().lines.front().starts_with("for sm_90a, NVRTC "));
}

TEST_CASE_FIXTURE(CompilingSession, "the current fingerprint is that of a compilation now") {
  const auto runtime = this->runtime();
  const KernelToCompile made = kernel();
  const auto fingerprint = ok(current_fingerprint(*runtime, {}, made.spec, kHopper));
  REQUIRE(fingerprint);
  CHECK(*fingerprint == ok(ok(compile_directly(session, {made}, 1))[0]).record->fingerprint);
  CHECK(ok(compiler_identity(*runtime)).starts_with("NVRTC "));
  KernelSpec unknown = made.spec;
  unknown.name = "absent";
  CHECK_FALSE(ok(current_fingerprint(*runtime, {}, unknown, kHopper)));
  session.compiler.library = "/absent.so";
  const auto without = this->runtime();
  CHECK_FALSE(ok(current_fingerprint(*without, {}, made.spec, kHopper)));
  CHECK_FALSE(compiler_identity(*without));
}

TEST_CASE_FIXTURE(CompilingSession, "a home without headers of other releases has nothing to sweep") {
  const test::TempDir folder;
  session.home = (folder / "home").string();
  CHECK(ok(sweep_headers(session, true)).releases == 0);
  CHECK(available_jobs() >= 1);
}
