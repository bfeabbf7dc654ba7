// SPDX-License-Identifier: Apache-2.0
// Tests a home and bundles with builds of an older text of a template: builds of the text that the
// library has precede them, so that a fixed kernel is used.
#include "runtime_fixture.hpp"
#include "support/ok.hpp"

namespace cubinet {
namespace {

using namespace test;

constexpr ComputeCapability kOldTextDevice{9, 0};
constexpr SmTarget kOldTextTarget{9, 0, TargetKind::specific};

// A home, an import of a bundle and a bundle of a high version with the older text, and a bundle of
// a low version with the text that the library has.
struct TwoTexts {
  TwoTexts() {
    older = builds_of(kScaleTemplate, "older");
    newer = builds_of(fixed_text(), "newer");
    REQUIRE(older.record->template_text != newer.record->template_text);
    REQUIRE(older.record->interface_version == newer.record->interface_version);
    REQUIRE(create_bundle(old_bundle(), {older}, {"kernels", 9}));
    REQUIRE(create_bundle(new_bundle(), {newer}, {"kernels", 1}));
    REQUIRE(import_bundle(*open_bundle(old_bundle()), *open_home(folder / "imported")));
  }

  static std::string fixed_text() { return std::string(kScaleTemplate) + "// fixed\n"; }
  std::string old_bundle() const { return (folder / "old.bundle").string(); }
  std::string new_bundle() const { return (folder / "new.bundle").string(); }

  Cubin builds_of(const std::string& text, const char* home) {
    RuntimeOptions options = runtime_options(folder / home);
    options.templates = scale_catalog(text);
    return (*ok(make_runtime(std::move(options))->cubin(scale_spec(), kOldTextTarget))).cubin;
  }

  // Returns what a Runtime with the fixed text uses of these stores, in a machine without a
  // compiler.
  KernelExplanation explain(std::vector<std::shared_ptr<Store>> stores) const {
    RuntimeOptions options;
    options.stores = std::move(stores);
    options.templates = scale_catalog(fixed_text());
    options.compiler.library = "/absent.so";
    const auto runtime = make_runtime(std::move(options));
    return ok(runtime->explain(*ok(runtime->resolve(scale_spec())), kOldTextDevice));
  }

  TempDir folder;
  Cubin older;
  Cubin newer;
};

TEST_CASE_FIXTURE(TwoTexts,
                  "builds from the text of the library precede those of an older text in every store") {
  const KernelExplanation explanation = explain({open_home(folder / "older"), open_home(folder / "imported"),
                                                 open_bundle(old_bundle()), open_bundle(new_bundle())});
  REQUIRE(explanation.choice() != nullptr);
  CHECK(explanation.choice()->record->digest == newer.record->digest);
  CHECK(explanation.choice()->record->fingerprint == newer.record->fingerprint);
  CHECK(explanation.choice()->place == new_bundle());
  CHECK(explanation.choice()->own_text);
  CHECK(explanation.choice()->verdict == "from a bundle, built from the text that the template has here");
  REQUIRE(explanation.builds.size() == 4);
  for (std::size_t i = 1; i < explanation.builds.size(); ++i) {
    CHECK(explanation.builds[i].usable);
    CHECK_FALSE(explanation.builds[i].own_text);
    CHECK(explanation.builds[i].verdict.find("; from another text of the template, so builds from the text "
                                             "here precede it") != std::string::npos);
  }
}

TEST_CASE_FIXTURE(TwoTexts, "a build from an older text of the same interface is used if there is no other") {
  const KernelExplanation explanation = explain({open_bundle(old_bundle())});
  REQUIRE(explanation.choice() != nullptr);
  CHECK(explanation.choice()->record->fingerprint == older.record->fingerprint);
  CHECK_FALSE(explanation.choice()->own_text);
}

}  // namespace
}  // namespace cubinet
