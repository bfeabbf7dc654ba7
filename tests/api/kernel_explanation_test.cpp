// SPDX-License-Identifier: Apache-2.0
// Tests explanations and target policies with a fake compiler and without a device.
#include "cubin_source.hpp"
#include "fake_compiler.hpp"
#include "support/ok.hpp"

#include <array>

namespace cubinet {
namespace {

using namespace test;

constexpr SmTarget kSpecific90{9, 0, TargetKind::specific};
constexpr SmTarget kBaseline90{9, 0, TargetKind::baseline};
constexpr SmTarget kFamily{10, 0, TargetKind::family};
constexpr SmTarget kSpecific100{10, 0, TargetKind::specific};
constexpr ComputeCapability kDevice90{9, 0};

struct Explainer {
  std::shared_ptr<ShelfStore> shelf = std::make_shared<ShelfStore>();
  std::shared_ptr<FakeCompiler> compiler = std::make_shared<FakeCompiler>();
  FakeEnvironment environment{compiler};
  TemplateCatalog templates = row_catalog();
  Library library;
  KernelCache prepared{std::make_shared<const char>(), templates, library};
  CubinSource source;

  explicit Explainer(TargetPolicy policy = {}, CompilePolicy compile = CompilePolicy::on_miss,
                     std::vector<std::shared_ptr<BuildCache>> caches = {})
      : library({shelf}, {}, std::move(caches)),
        source(library, environment, compile, std::move(policy), {}) {}

  void put(SmTarget target, KernelSpec spec = complete_spec(), std::string word = "today") {
    shelf->put(ShelfBuild{std::move(spec), target, std::move(word)}.make());
  }
  KernelExplanation explain(ComputeCapability device = kDevice90, const KernelSpec& spec = factor_spec()) {
    const auto kernel = prepared.resolve(spec);
    REQUIRE_MESSAGE(kernel, (kernel ? "" : kernel.error().to_line()));
    return source.explain(**kernel, device);
  }
};

std::optional<SmTarget> chosen_target(const KernelExplanation& explanation) {
  if (explanation.choice() == nullptr) return std::nullopt;
  return explanation.choice()->record->target;
}

TEST_CASE(
    "where nothing lies the explanation names the target that would be compiled, and compiles nothing") {
  Explainer explainer;
  const auto explanation = explainer.explain();
  CHECK(explanation.choice() == nullptr);
  CHECK(explanation.would_compile == kSpecific90);
  CHECK_FALSE(explanation.cannot_compile.has_value());
  CHECK(explanation.builds.empty());
  CHECK(explanation.nearest.empty());
  REQUIRE(explanation.targets.size() > 2);
  CHECK(explanation.targets[0].target == kSpecific90);
  CHECK(explanation.targets[1].target == kBaseline90);
  CHECK(explainer.compiler->compilations == 0);
  CHECK(explainer.shelf->published == 0);
}

TEST_CASE("what cannot be read is named in an explanation, and in the error of a miss") {
  Explainer explainer({}, CompilePolicy::never);
  explainer.shelf->torn = {Error{ErrorCode::corruption, "'/shelf/a' is damaged: it ends early", "repair it"}};
  const auto explanation = explainer.explain();
  REQUIRE(explanation.unreadable.size() == 1);
  CHECK(explanation.unreadable[0].store == 1);
  CHECK(explanation.unreadable[0].error.remedy == "repair it");
  const auto found = explainer.source.for_device(*ok(explainer.prepared.resolve(factor_spec())), kDevice90);
  REQUIRE_FALSE(found);
  const std::string& message = found.error().message;
  CHECK_MESSAGE(
      message.find("; '/shelf/a' is damaged: it ends early (repair it)), and ") != std::string::npos,
      message);
}

TEST_CASE("a compilation is explained with the damaged build that it replaced") {
  Explainer explainer;
  explainer.shelf->torn = {Error{ErrorCode::corruption, "'/shelf/a' is damaged", "repair it"}};
  CubinSource source(explainer.library, explainer.environment, CompilePolicy::on_miss, {}, {}, true);
  std::shared_ptr<const KernelExplanation> why;
  const auto kernel = ok(explainer.prepared.resolve(factor_spec()));
  ok(source.for_device(*kernel, kDevice90, {}, &why));
  REQUIRE(why != nullptr);
  REQUIRE(why->unreadable.size() == 1);
  CHECK(why->unreadable[0].error.message == "'/shelf/a' is damaged");
}

TEST_CASE("what a cache has of the build that would be made is explained, also where nothing is compiled") {
  for (const CompilePolicy policy : {CompilePolicy::on_miss, CompilePolicy::never}) {
    const auto cache = std::make_shared<ShelfCache>();
    Explainer explainer({}, policy, {cache});
    const auto without = explainer.explain();
    CHECK(without.choice() == nullptr);
    CHECK(without.would_compile.has_value() == (policy == CompilePolicy::on_miss));
    if (policy == CompilePolicy::never)
      CHECK(without.cannot_compile->message.find(cache->place()) != std::string::npos);
    CHECK(cache->asked == 1);
    cache->candidates.push_back(ShelfBuild{complete_spec(), kSpecific90}.make());
    const auto found = explainer.explain();
    REQUIRE(found.choice() != nullptr);
    CHECK(found.choice()->source == KernelSource::server);
    CHECK(found.choice()->place == cache->place());
    CHECK_FALSE(found.would_compile.has_value());
    CHECK(explainer.compiler->compilations == 0);
    // A local build has precedence, so the cache is not asked.
    explainer.put(kBaseline90);
    CHECK(explainer.explain().choice()->source != KernelSource::server);
    CHECK(cache->asked == 2);
  }
}

TEST_CASE("what is chosen is what a request then finds, for every device and policy") {
  std::array<TargetPolicy, 4> policies;
  policies[1].prefers_family = true;
  policies[2].forbidden = {kSpecific90, kSpecific100};
  policies[3].pinned = kFamily;
  int chosen = 0;
  for (const TargetPolicy& policy : policies) {
    Explainer explainer(policy, CompilePolicy::never);
    for (const SmTarget target :
         {kSpecific90, kBaseline90, kFamily, kSpecific100, SmTarget{10, 3, TargetKind::family}})
      explainer.put(target);
    for (const ComputeCapability device : {kDevice90, ComputeCapability{10, 0}, ComputeCapability{10, 3},
                                           ComputeCapability{8, 6}, ComputeCapability{12, 0}}) {
      const auto explanation = explainer.explain(device);
      const auto found = explainer.source.for_device(**explainer.prepared.resolve(factor_spec()), device);
      REQUIRE(found.has_value() == (explanation.choice() != nullptr));
      if (!found) {
        CHECK(found.error().code == ErrorCode::not_found);
        continue;
      }
      ++chosen;
      CHECK(explanation.choice()->record == found->cubin.record);
      CHECK(policy.allows(found->cubin.record->target));
    }
  }
  CHECK(chosen == 3 + 3 + 3 + 2);
}

TEST_CASE("a preference for families takes the family before the specific target, and says so") {
  TargetPolicy policy;
  policy.prefers_family = true;
  Explainer explainer(policy);
  explainer.put(kFamily);
  explainer.put(kSpecific100);
  const auto explanation = explainer.explain({10, 0});
  CHECK(chosen_target(explanation) == kFamily);
  CHECK(explanation.policy.to_string() == "prefers family targets");
}

TEST_CASE("a build for a target that is refused, or of another device, is shown with the reason") {
  TargetPolicy policy;
  policy.forbidden = {kSpecific90};
  Explainer explainer(policy);
  explainer.put(kSpecific90);
  explainer.put(kSpecific100);
  const auto explanation = explainer.explain();
  CHECK(explanation.choice() == nullptr);
  CHECK(explanation.would_compile == kBaseline90);
  CHECK(explanation.targets.front().target == kBaseline90);
  REQUIRE(explanation.builds.size() == 2);
  for (const ExplainedBuild& build : explanation.builds) {
    CHECK_FALSE(build.usable);
    CHECK_FALSE(build.wanted_target);
    CHECK(build.verdict.find(build.record->target.to_string()) != std::string::npos);
  }
}

TEST_CASE("a stale build is shown with the reason, and the nearest builds with their differences") {
  Explainer explainer;
  explainer.put(kSpecific90, complete_spec(), "yesterday");
  explainer.put(kSpecific90, complete_spec(4));
  explainer.put(kSpecific90, complete_spec(4).set("unroll", 2));
  const auto explanation = explainer.explain();
  CHECK(explanation.choice() == nullptr);
  REQUIRE(explanation.builds.size() == 1);
  CHECK(explanation.builds[0].status == BuildStatus::stale);
  CHECK(explanation.builds[0].wanted_target);
  CHECK(explanation.builds[0].place == "/shelf");
  REQUIRE(explanation.nearest.size() == 2);
  CHECK(explanation.nearest[0].differences == std::vector<std::string>{"factor 4 instead of 3"});
  CHECK(explanation.nearest[0].verdict.empty());
  CHECK(explanation.nearest[1].differences.size() == 2);
}

TEST_CASE("of PTX the reason is told by its own rules, and that machine code goes before it") {
  Explainer explainer;
  const auto put = [&](SmTarget target, ImageKind kind) {
    explainer.shelf->put(ShelfBuild{.spec = complete_spec(), .target = target, .kind = kind}.make());
  };
  put({8, 0, TargetKind::baseline}, ImageKind::ptx);
  const auto alone = explainer.explain();
  REQUIRE(alone.choice() != nullptr);
  CHECK(alone.choice()->verdict.find("no store has usable machine code") != std::string::npos);
  put(kSpecific90, ImageKind::cubin);
  put({10, 0, TargetKind::baseline}, ImageKind::ptx);
  const auto explanation = explainer.explain();
  REQUIRE(explanation.builds.size() == 3);
  CHECK(explanation.builds[1].verdict.find("PTX, behind what goes first") != std::string::npos);
  CHECK(explanation.builds[2].verdict == "compute_100 PTX needs 10.0 or later, and the device is 9.0");
}

TEST_CASE("of a published kernel that runs elsewhere the nearest that runs here is named") {
  Explainer explainer;
  const auto published = [](const char* pin, std::uint16_t head_dim) {
    KernelRow row;
    row.implementation = kPublishedImplementation;
    row.pin = pin;
    row.selector.head_dim_v = head_dim;
    return published_spec(row);
  };
  explainer.put(kSpecific100, published("aaaa", 128));
  explainer.put(kSpecific90, published("aaaa", 256));
  const auto explanation = explainer.explain(kDevice90, published("aaaa", 128));
  CHECK(explanation.choice() == nullptr);
  REQUIRE(explanation.cannot_compile.has_value());
  REQUIRE_FALSE(explanation.nearest.empty());
  CHECK(explanation.nearest[0].record->target == kSpecific90);
  CHECK(explanation.nearest[0].verdict.empty());
  CHECK(explanation.nearest[0].differences.size() == 1);
}

TEST_CASE("a target that is pinned and runs elsewhere leaves nothing to compile, and the error says so") {
  TargetPolicy policy;
  policy.pinned = kFamily;
  Explainer explainer(policy);
  const auto explanation = explainer.explain();
  CHECK_FALSE(explanation.would_compile.has_value());
  REQUIRE(explanation.cannot_compile.has_value());
  CHECK(explanation.cannot_compile->message.find("pins sm_100f") != std::string::npos);
}

TEST_CASE("where kernels come from has a name") {
  using S = KernelSource;
  std::set<std::string_view> names;
  for (const S source : {S::process, S::memory, S::registry, S::bundle, S::compiled, S::imported})
    names.insert(to_string(source));
  CHECK(names.size() == 6);
  CHECK(to_string(S::registry) == "registry");
}

}  // namespace
}  // namespace cubinet
