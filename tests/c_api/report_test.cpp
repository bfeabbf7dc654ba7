// SPDX-License-Identifier: Apache-2.0
#include "c_fixture.hpp"
#include "support/fake_cubin.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"
#include "support/text.hpp"

#include <cubinet/cubin_registry/bundle.hpp>

using namespace cubinet;
using namespace cubinet::test;

namespace {

struct Outcome {
  cubinet_status status = CUBINET_OK;
  std::string page;
  std::string message;
};

Outcome report(const cubinet_config* config, const std::vector<std::string>& subjects) {
  std::vector<cubinet_string> places;
  for (const std::string& subject : subjects)
    places.push_back(c_string(subject));
  cubinet_text* html = nullptr;
  Failure failure;
  Outcome outcome;
  outcome.status = cubinet_report(config, places.data(), places.size(), &html, failure.out());
  const CText owned(html);
  if (outcome.status == CUBINET_OK) {
    outcome.page = text(cubinet_text_get(html));
  } else {
    outcome.message = failure.message();
  }
  return outcome;
}

}  // namespace

TEST_CASE("a page is returned for a bundle, and errors name the subject") {
  const TempDir folder;
  const CConfig config = make_config();
  const std::string bundle = (folder / "b.bundle").string();
  ok(create_bundle(bundle, {make_cubin({"one", {}})}, {}));
  const Outcome page = report(config.get(), {bundle});
  CHECK(page.status == CUBINET_OK);
  CHECK(page.page.starts_with("<!DOCTYPE html>"));
  CHECK(contains(page.page, "b.bundle"));
  const std::string file = (folder / "text").string();
  write_file(file, "neither");
  const Outcome refused = report(config.get(), {bundle, file});
  CHECK(refused.status == CUBINET_INVALID_ARGUMENT);
  CHECK(contains(refused.message, file));
  CHECK(report(config.get(), {}).status == CUBINET_UNAVAILABLE);
}

TEST_CASE("missing pointers of a report are errors") {
  const CConfig config = make_config();
  cubinet_text* html = nullptr;
  CHECK(cubinet_report(nullptr, nullptr, 0, &html, nullptr) == CUBINET_INVALID_ARGUMENT);
  CHECK(cubinet_report(config.get(), nullptr, 1, &html, nullptr) == CUBINET_INVALID_ARGUMENT);
  CHECK(cubinet_report(config.get(), nullptr, 0, nullptr, nullptr) == CUBINET_INVALID_ARGUMENT);
}
