// SPDX-License-Identifier: Apache-2.0
#include "fake_backend.hpp"

namespace cubinet {
namespace {

using test::FakeBackend;

BackendRule rule(std::vector<std::string> order, const char* source) {
  return {"always", [](const PlanRequest&) { return true; }, std::move(order), source};
}

std::vector<std::string> names_of(const std::vector<std::shared_ptr<const AttentionBackend>>& backends) {
  std::vector<std::string> names;
  for (const auto& backend : backends)
    names.emplace_back(backend->name());
  return names;
}

TEST_CASE("names are not given twice, and auto is none") {
  AttentionBackends backends = test::builtin_backends();
  CHECK(backends.add(std::make_shared<FakeBackend>("mine")));
  CHECK_FALSE(backends.add(std::make_shared<FakeBackend>("mine")));
  CHECK_FALSE(backends.add(std::make_shared<FakeBackend>("templates")));
  CHECK_FALSE(backends.add(std::make_shared<FakeBackend>("auto")));
  CHECK(backends.names() == std::vector<std::string>{"templates", "published", "mine"});
  CHECK(backends.find("mine") != nullptr);
  CHECK(backends.find("yours") == nullptr);
}

TEST_CASE("a rule orders the backends that it names, and the others follow as they were added") {
  AttentionBackends backends;
  for (const char* name : {"a", "b", "c"})
    REQUIRE(backends.add(std::make_shared<FakeBackend>(name)));
  CHECK(names_of(backends.order_of(nullptr)) == std::vector<std::string>{"a", "b", "c"});
  const BackendRule named = rule({"c", "gone"}, "");
  CHECK(names_of(backends.order_of(&named)) == std::vector<std::string>{"c", "a", "b"});
}

TEST_CASE("a rule that is added goes before the others, whether or not the plan is launched") {
  AttentionBackends backends;
  CHECK(backends.rule_for({}) == nullptr);
  backends.add_rule(rule({}, "old"));
  backends.add_rule(rule({}, "new"));
  for (const bool launches : {false, true}) {
    PlanRequest request;
    request.options.launches = launches;
    REQUIRE(backends.rule_for(request) != nullptr);
    CHECK(backends.rule_for(request)->source == "new");
  }
}

}  // namespace
}  // namespace cubinet
