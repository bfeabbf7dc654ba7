// SPDX-License-Identifier: Apache-2.0
// Replaces a catalog while calls of the file system fail or the process dies: the home then has the
// earlier or the later catalog, complete.
#include "catalog_folder.hpp"
#include "cubin_registry/fault_injection.hpp"
#include "support/ok.hpp"
#include "support/skip.hpp"

#include <cubinet/sources/source_catalogs.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

using test::FaultPlan;
using test::ok;

struct Replacement {
  Replacement() {
    earlier = test::own_catalog(contents);
    later = earlier;
    Bytes text = contents.at("csrc/twice.h");
    text.push_back(std::byte{'\n'});
    later.files.front().digest = sha256(text);
    later_contents = contents;
    later_contents["csrc/twice.h"] = std::move(text);
  }

  // Replaces the earlier catalog through files that follow the plan.
  Result<void> run(const test::TempDir& home, const std::shared_ptr<FaultPlan>& plan) const {
    return SourceCatalogs(home.path(), test::faulty_file_system(plan)).save(later, later_contents);
  }
  // Returns whether the home has the later catalog. Fails unless it has one of them, complete.
  bool has_later(const test::TempDir& home) const {
    const SourceCatalogs catalogs(home.path());
    const auto listed = ok(catalogs.list());
    REQUIRE(listed.size() == 1);
    const bool is_later = to_json(listed.front()) == to_json(later);
    CHECK((is_later || to_json(listed.front()) == to_json(earlier)));
    for (const SourceFile& file : listed.front().files)
      CHECK(catalogs.read(file).has_value());
    for (const SourceFile& file : listed.front().licences)
      CHECK(catalogs.read(file).has_value());
    return is_later;
  }

  std::map<std::string, Bytes> contents;
  std::map<std::string, Bytes> later_contents;
  SourceManifest earlier;
  SourceManifest later;
};

TEST_CASE("A call that fails while a catalog is replaced leaves the earlier or the later one" *
          doctest::test_suite("loop")) {
  const Replacement replacement;
  bool reached = true;
  std::size_t kept_earlier = 0;
  for (unsigned call = 1; reached; ++call) {
    CAPTURE(call);
    const test::TempDir home;
    ok(SourceCatalogs(home.path()).save(replacement.earlier, replacement.contents));
    const auto plan = std::make_shared<FaultPlan>();
    plan->set(FaultPlan::Kind::error_once, call);
    const auto replaced = replacement.run(home, plan);
    const bool is_later = replacement.has_later(home);
    kept_earlier += is_later ? 0U : 1U;
    if (replaced) CHECK(is_later);
    reached = plan->reached();
    // The same call succeeds afterwards.
    ok(SourceCatalogs(home.path()).save(replacement.later, replacement.later_contents));
    CHECK(replacement.has_later(home));
  }
  CHECK(kept_earlier > 5);
}

TEST_CASE("A process that dies while it replaces a catalog leaves the earlier or the later one" *
          doctest::test_suite("loop")) {
  if (!test::can_fork()) return test::skip("a sanitizer forbids fork");
  const Replacement replacement;
  std::size_t kept_earlier = 0;
  for (unsigned call = 1;; ++call) {
    CAPTURE(call);
    const test::TempDir home;
    ok(SourceCatalogs(home.path()).save(replacement.earlier, replacement.contents));
    const int status = test::in_child([&] {
      const auto plan = std::make_shared<FaultPlan>();
      plan->set(FaultPlan::Kind::death, call);
      return replacement.run(home, plan) ? 0 : 1;
    });
    const bool is_later = replacement.has_later(home);
    kept_earlier += is_later ? 0U : 1U;
    if (status == 0) break;
    CHECK((status == test::kDied || status == test::kDiedWriting));
    ok(SourceCatalogs(home.path()).save(replacement.later, replacement.later_contents));
    CHECK(replacement.has_later(home));
  }
  CHECK(kept_earlier > 2);
}

}  // namespace
}  // namespace cubinet
