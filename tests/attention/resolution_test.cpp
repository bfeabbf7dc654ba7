// SPDX-License-Identifier: Apache-2.0
#include "backend_fixture.hpp"

namespace cubinet {
namespace {

const AttentionProblem kDecode = test::generation(4, 1, 8192, 32, 4);

// A backend of a test: declines or serves as it is told.
class FakeBackend final : public AttentionBackend {
 public:
  FakeBackend(std::string name, std::string reason) : name_(std::move(name)), reason_(std::move(reason)) {}
  std::string_view name() const override { return name_; }
  Result<Consideration> consider(const AttentionProblem&, const BackendContext&) const override {
    if (!reason_.empty()) return Consideration(BackendDecline{name_, reason_});
    AttentionPlan plan;
    plan.backend = name_;
    return Consideration(std::move(plan));
  }

 private:
  std::string name_;
  std::string reason_;
};

Result<AttentionResolution> resolve(const AttentionProblem& problem, std::string_view requested,
                                    AttentionPurpose purpose, const BackendContext& context) {
  return resolve_attention(problem, requested, purpose, context, test::builtin_backends());
}

TEST_CASE("the request is kept beside the backend that is used, and resolved anew for each problem") {
  const BackendContext context = BackendContext::create(test::kB200, test::published_rows(kDecode));
  AttentionProblem other = kDecode;
  other.tokens_per_page = 32;
  const auto first = resolve(kDecode, "auto", AttentionPurpose::select, context);
  const auto second = resolve(other, "auto", AttentionPurpose::select, context);
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->requested == "auto");
  CHECK(second->requested == "auto");
  CHECK(first->effective() == "imported");
  CHECK(second->effective() == "templates");
  CHECK(first->declined.empty());
  REQUIRE(second->declined.size() == 1);
  CHECK(second->declined[0].backend == "imported");
  CHECK(second->declined[0].selection);
  CHECK(first->rule != nullptr);
}

TEST_CASE("a named backend that declines is an error with its reason, never another backend") {
  const BackendContext context = BackendContext::create(test::kH200, {});
  const auto resolution = resolve(kDecode, "imported", AttentionPurpose::launch, context);
  REQUIRE(!resolution);
  CHECK(resolution.error().code == ErrorCode::unsupported);
  CHECK(test::holds(resolution.error().message, "imported: there are no rows"));
  CHECK_FALSE(test::holds(resolution.error().message, "templates"));
}

TEST_CASE("when no backend is left the error quotes them all") {
  AttentionProblem problem = kDecode;
  problem.q_len = 4;
  problem.mask = AttentionMask::custom;
  const BackendContext context = BackendContext::create(test::kH200, {});
  const auto resolution = resolve(problem, "auto", AttentionPurpose::launch, context);
  REQUIRE(!resolution);
  CHECK(test::holds(resolution.error().message, "templates: attention_decode would ignore the custom mask"));
  CHECK(test::holds(resolution.error().message, "imported: there are no rows"));
}

TEST_CASE("a name that is no backend is refused with those that there are") {
  const auto resolution =
      resolve(kDecode, "fa3", AttentionPurpose::select, BackendContext::create(test::kH200, {}));
  REQUIRE(!resolution);
  CHECK(resolution.error().code == ErrorCode::invalid_argument);
  CHECK(test::holds(resolution.error().to_line(), "auto, templates, imported"));
}

TEST_CASE("a problem or device that makes no sense is refused before any backend is asked") {
  AttentionProblem problem = kDecode;
  problem.heads_kv = 7;
  CHECK_FALSE(resolve(problem, "auto", AttentionPurpose::select, BackendContext::create(test::kH200, {})));
  CHECK_FALSE(resolve(kDecode, "auto", AttentionPurpose::select, BackendContext{}));
}

TEST_CASE("backends are asked in the order of the rule, and each reason is kept") {
  AttentionBackends backends;
  REQUIRE(backends.add(std::make_shared<FakeBackend>("imported", "it rains")));
  REQUIRE(backends.add(std::make_shared<FakeBackend>("templates", "")));
  const BackendContext context = BackendContext::create(test::kB200, test::published_rows(kDecode));
  const auto resolution = survey_backends(kDecode, "auto", AttentionPurpose::select, context, backends);
  REQUIRE(resolution);
  CHECK(resolution->effective() == "templates");
  REQUIRE(resolution->declined.size() == 1);
  CHECK(resolution->declined[0].reason == "it rains");
}

TEST_CASE("a backend that a caller adds is found by its name, and names are not given twice") {
  AttentionBackends backends = test::builtin_backends();
  CHECK(backends.add(std::make_shared<FakeBackend>("mine", "")));
  CHECK_FALSE(backends.add(std::make_shared<FakeBackend>("mine", "")));
  CHECK_FALSE(backends.add(std::make_shared<FakeBackend>("templates", "")));
  CHECK_FALSE(backends.add(std::make_shared<FakeBackend>("auto", "")));
  CHECK(backends.names() == std::vector<std::string>{"templates", "imported", "mine"});
  const auto resolution = resolve_attention(kDecode, "mine", AttentionPurpose::launch,
                                            BackendContext::create(test::kH200, {}), backends);
  REQUIRE(resolution);
  CHECK(resolution->effective() == "mine");
  CHECK(resolution->rule == nullptr);
}

TEST_CASE("purposes have names") {
  CHECK(to_string(AttentionPurpose::select) == "select");
  CHECK(to_string(AttentionPurpose::launch) == "launch");
}

}  // namespace
}  // namespace cubinet
