// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"
#include "support/skip.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/session/metrics.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

using namespace cubinet;
using test::ok;

namespace {

Metrics some_metrics() {
  Metrics metrics;
  metrics.counters.process_hits = 1'000'000;
  metrics.counters.compiled = 3;
  metrics.counters.compile_seconds.buckets[9] = 2;
  metrics.counters.compile_seconds.buckets.back() = 1;
  metrics.counters.compile_seconds.seconds = 200.5;
  metrics.counters.stores = {{5, 3, 2, 0}, {1, 0, 0, 77}};
  metrics.stores = {{.kind = "home", .place = "/var/\"cache\"\\x\n\xff"},
                    {.kind = "server", .place = "https://cache.example/kernels"}};
  metrics.memory = {.modules = 6,
                    .bytes = 600,
                    .idle_modules = 2,
                    .idle_bytes = 200,
                    .retired_modules = 1,
                    .retired_bytes = 100};
  metrics.recording = true;
  metrics.refused = 7;
  return metrics;
}

bool has_line(const std::string& text, const std::string& line) {
  return text.find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("the text has a sample for each outcome, phase, state and store") {
  const std::string text = ok(to_prometheus(some_metrics()));
  CHECK(has_line(text, "cubinet_requests_total{outcome=\"process\"} 1000000"));
  CHECK(has_line(text, "cubinet_requests_total{outcome=\"compiled\"} 3"));
  CHECK(has_line(text, "cubinet_request_seconds_bucket{phase=\"compile\",le=\"0.5\"} 0"));
  CHECK(has_line(text, "cubinet_request_seconds_bucket{phase=\"compile\",le=\"1\"} 2"));
  CHECK(has_line(text, "cubinet_request_seconds_bucket{phase=\"compile\",le=\"1e-05\"} 0"));
  CHECK(has_line(text, "cubinet_request_seconds_bucket{phase=\"compile\",le=\"+Inf\"} 3"));
  CHECK(has_line(text, "cubinet_request_seconds_sum{phase=\"compile\"} 200.5"));
  CHECK(has_line(text, "cubinet_request_seconds_count{phase=\"compile\"} 3"));
  CHECK(has_line(text, "cubinet_modules{state=\"in_use\"} 3"));
  CHECK(has_line(text, "cubinet_module_bytes{state=\"retired\"} 100"));
  CHECK(has_line(
      text, R"(cubinet_store_lookups_total{store="0",kind="home",place="/var/\"cache\"\\x\\x0a\\xff"} 5)"));
  CHECK(has_line(text,
                 "cubinet_store_fetched_bytes_total{store=\"1\",kind=\"server\",place=\"https://"
                 "cache.example/kernels\"} 77"));
  CHECK(has_line(text, "# TYPE cubinet_request_seconds histogram"));
  CHECK(has_line(text, "cubinet_refused_requests_total 7"));
  CHECK(has_line(text, "cubinet_frozen 0"));
  CHECK(text.ends_with("cubinet_recording 1\n"));
}

TEST_CASE("constant labels are in every sample, escaped") {
  const std::vector<MetricLabel> labels = {{"model", "a\"b\\c\nd\xff"}, {"_rank", "0"}};
  const std::string text = ok(to_prometheus(some_metrics(), labels));
  std::istringstream lines(text);
  std::string line;
  std::map<std::string, int> series;
  while (std::getline(lines, line)) {
    if (line.starts_with('#')) continue;
    CHECK(line.find(R"(model="a\"b\\c\\x0ad\\xff",_rank="0"})") != std::string::npos);
    CHECK(++series[line.substr(0, line.rfind(' '))] == 1);
  }
  CHECK(series.size() > 80);
}

TEST_CASE("labels that are wrong, used, too many or too long are refused by name") {
  const auto refusal = [](std::vector<MetricLabel> labels) {
    const auto text = to_prometheus(some_metrics(), labels);
    REQUIRE_FALSE(text);
    CHECK(text.error().code == ErrorCode::invalid_argument);
    return text.error().message;
  };
  for (const char* name : {"", "1a", "a-b", "a b", "a\n", "__name__", "\xc3\xa4", "a\"b"})
    CHECK(refusal({{name, "x"}}).find("is no name of a label") != std::string::npos);
  CHECK(refusal({{"a\x1b", "x"}}).find('\x1b') == std::string::npos);
  for (const char* name : {"le", "outcome", "phase", "state", "store", "kind", "place"})
    CHECK(refusal({{name, "x"}}).find("is one of the metrics'") != std::string::npos);
  CHECK(refusal({{"a", "1"}, {"a", "2"}}).find("given twice") != std::string::npos);
  CHECK(refusal({{"a", std::string(257, 'x')}}).find("has 257 bytes") != std::string::npos);
  std::vector<MetricLabel> many;
  for (int i = 0; i < 17; ++i)
    many.push_back({"l" + std::to_string(i), ""});
  CHECK(refusal(many) == "17 labels are given");
  many.pop_back();
  CHECK(to_prometheus(some_metrics(), many));
}

TEST_CASE("promtool accepts the metrics") {
  if (std::system("command -v promtool >/dev/null 2>&1") != 0) {
    test::skip("promtool is missing: install prometheus");
    return;
  }
  const test::TempDir folder;
  const std::vector<MetricLabel> labels = {{"model", "a\"b\\c\nd"}};
  const std::string text = ok(to_prometheus(some_metrics(), labels));
  test::write_file(folder / "metrics", as_bytes(text));
  const std::string line = "promtool check metrics < '" + (folder / "metrics").string() + "' > '" +
                           (folder / "said").string() + "' 2>&1";
  const int status = std::system(line.c_str());
  const auto said = ok(posix_file_system()->read(folder / "said", 1U << 20U));
  INFO(std::string(reinterpret_cast<const char*>(said.data()), said.size()));
  CHECK(status == 0);
  CHECK(said.empty());
}
