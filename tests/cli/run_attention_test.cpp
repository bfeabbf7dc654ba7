// SPDX-License-Identifier: Apache-2.0
#include "driver_setting.hpp"
#include "support/skip.hpp"

#include <cubinet/base/sha256.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>

using namespace cubinet::test;

namespace {

const std::vector<std::string> kSmall = {"run",         "decode", "--batch",    "2", "--kv-len",      "40",
                                         "--heads-q",   "4",      "--heads-kv", "2", "--head-dim-qk", "64",
                                         "--page-size", "16",     "--json"};

ToolResult decode(const Sandbox& sandbox, std::vector<std::string> more, const ToolSetting& setting = {}) {
  more.insert(more.begin(), kSmall.begin(), kSmall.end());
  return sandbox.run(more, setting);
}

}  // namespace

TEST_CASE("run decode without a driver ends with 3 and says so") {
  if (void* driver = ::dlopen("libcuda.so.1", RTLD_LAZY)) {
    ::dlclose(driver);
    return skip("there is a driver here");
  }
  const Sandbox sandbox;
  const ToolResult result = decode(sandbox, {});
  CHECK(result.status == 3);
  CHECK(result.json()["error"]["code"] == "unavailable");
  CHECK(contains(result.json()["error"]["message"].get<std::string>(), "libcuda.so.1"));
}

TEST_CASE("a shared prefix that no kernel serves ends with 1 and the reason, before a device is used") {
  const Sandbox sandbox;
  const ToolResult invariant = decode(sandbox, {"--shared-prefix", "16", "--numerics", "invariant"});
  CHECK(invariant.status == 1);
  CHECK(invariant.json()["error"]["code"] == "unsupported");
  const ToolResult window = decode(sandbox, {"--shared-prefix", "16", "--window", "20"});
  CHECK(window.status == 1);
  const auto remedy = window.json()["error"]["remedy"].get<std::string>();
  CHECK(remedy == "use a window of at least 40 tokens, or attend without a shared prefix");
}

TEST_CASE("a device that computes nothing is found out") {
  if (std::getenv("CUBINET_TEST_DRIVER") == nullptr) return skip("only the stub computes nothing");
  const Sandbox sandbox;
  const ToolResult result = decode(sandbox, {"--iterations", "2"}, with_driver());
  CAPTURE(result.err);
  CAPTURE(result.out);
  REQUIRE(result.status == 1);
  const auto document = result.json();
  CHECK(document["correct"] == false);
  CHECK(document["kernel"]["source"] == "compiled");
  CHECK(document["requested"] == "auto");
  CHECK(document["backend"] == "templates");
  CHECK(decode(sandbox, {"--iterations", "2"}, with_driver()).json()["kernel"]["source"] == "registry");
}

TEST_CASE("a run states the digests of its outputs") {
  if (std::getenv("CUBINET_TEST_DRIVER") == nullptr) return skip("only the stub computes nothing");
  const Sandbox sandbox;
  const auto digest_of_nan = [](std::size_t bytes) {  // buffers that nothing has written
    return cubinet::sha256(cubinet::Bytes(bytes, std::byte{0xff})).to_hex();
  };
  const ToolResult result = decode(sandbox, {"--iterations", "1"}, with_driver());
  CAPTURE(result.out);
  const auto output = result.json()["output"];
  CHECK(output["sha256"] == digest_of_nan(std::size_t{2} * 4 * 64 * 2));
  CHECK(output["lse_sha256"] == digest_of_nan(std::size_t{2} * 4 * 4));
}

TEST_CASE("a step that appends tells of the kernel that attends, and whether the cache is as it should be") {
  if (std::getenv("CUBINET_TEST_DRIVER") == nullptr) return skip("only the stub computes nothing");
  const Sandbox sandbox;
  const ToolResult result = decode(sandbox, {"--iterations", "1", "--append"}, with_driver());
  CAPTURE(result.err);
  CAPTURE(result.out);
  REQUIRE(result.status == 1);
  CHECK(result.json()["appended"] == false);
  CHECK(result.json()["template"] == "attention_decode");
  const ToolResult without = decode(sandbox, {"--iterations", "1"}, with_driver());
  CHECK_FALSE(without.json().contains("appended"));
}

TEST_CASE("a shared prefix is read once, by a kernel of its own") {
  if (std::getenv("CUBINET_TEST_DRIVER") == nullptr) return skip("only the stub computes nothing");
  const Sandbox sandbox;
  const auto without = decode(sandbox, {"--iterations", "1"}, with_driver()).json();
  const ToolResult result = decode(sandbox, {"--iterations", "1", "--shared-prefix", "32"}, with_driver());
  CAPTURE(result.err);
  CAPTURE(result.out);
  REQUIRE(result.status == 1);
  const auto document = result.json();
  CHECK(document["correct"] == false);
  CHECK(document["template"] == "attention_decode");
  CHECK(document["shared_prefix"]["tokens"] == 32);
  CHECK(contains(document["shared_prefix"]["kernel"].get<std::string>(), "attention_"));
  CHECK(document["operations"] == without["operations"]);
  // Two sequences of 40 tokens, of which 32 are the same, as 48 tokens.
  CHECK(document["kv_bytes"].get<double>() == without["kv_bytes"].get<double>() * 48 / 80);
  CHECK_FALSE(without.contains("shared_prefix"));
}

namespace {

// One option of the small problem replaced, or added.
void check_refused(const std::vector<std::string>& option, int status, const std::string& code,
                   const std::string& reason = "") {
  const Sandbox sandbox;
  std::vector<std::string> line = kSmall;
  const auto found = std::find(line.begin(), line.end(), option[0]);
  if (found == line.end()) {
    line.insert(line.end(), option.begin(), option.end());
  } else {
    *(found + 1) = option[1];
  }
  const ToolResult result = sandbox.run(line, with_driver());
  CAPTURE(option[0]);
  CAPTURE(option[1]);
  CAPTURE(result.out);
  CHECK(result.status == status);
  CHECK(result.json()["error"]["code"] == code);
  CHECK(contains(result.json()["error"]["message"].get<std::string>(), reason));
}

}  // namespace

TEST_CASE("a number of splits that is asked for is used") {
  const Sandbox sandbox;
  CHECK(decode(sandbox, {"--iterations", "1", "--splits", "2"}, with_driver()).json()["splits"] == 2);
}

TEST_CASE("select names the kernel and the splits that run launches, whatever the lengths") {
  if (std::getenv("CUBINET_TEST_DRIVER") == nullptr)
    return skip("only the stub has a device of a known size");
  const Sandbox sandbox;
  const std::vector<std::string> problem = {"--batch",    "3", "--kv-len",      "900", "--heads-q",   "4",
                                            "--heads-kv", "2", "--head-dim-qk", "64",  "--page-size", "16",
                                            "--json"};
  for (const char* pattern : {"uniform", "borders"}) {
    std::vector<std::string> run = {"run", "decode", "--iterations", "1", "--lengths", pattern};
    run.insert(run.end(), problem.begin(), problem.end());
    const auto launched = sandbox.run(run, with_driver()).json();
    std::vector<std::string> select = {"select", "attention", "--device", "9.0", "--sm-count", "132"};
    select.insert(select.end(), problem.begin(), problem.end());
    const auto named = sandbox.run(select).json();
    CAPTURE(named.dump());
    CHECK(launched["template"] == named["specification"]["template"]);
    CHECK(launched["parameters"] == named["specification"]["parameters"]);
    CHECK(launched["splits"] == named["kv_splits"]);
  }
}

TEST_CASE("run decode tells why no backend runs a problem") {
  const auto declined = [](const std::vector<std::string>& option, const std::string& reason) {
    check_refused(option, 1, "unsupported", reason);
  };
  declined({"--head-dim-qk", "112"}, "templates: ");
  check_refused({"--shared-prefix", "40"}, 2, "invalid_argument", "a shared prefix of 40 tokens leaves");
  check_refused({"--splits", "2", "--split-tokens", "128"}, 2, "invalid_argument", "excludes");
  declined({"--head-dim-qk", "112"}, "published: ");
  declined({"--dtype-kv", "fp16"}, "dtype_kv");
  declined({"--backend", "published"}, "no rows of published artifacts");
}

TEST_CASE("prefill and latent decode take the same way, and tell who runs them or why nobody does") {
  if (std::getenv("CUBINET_TEST_DRIVER") == nullptr) return skip("only the stub computes nothing");
  const Sandbox sandbox;
  ToolSetting setting = with_driver();
  setting.environment.emplace_back("CUBINET_STUB_CAPABILITY", "8.0");
  const auto run = [&](const char* operation) {
    return sandbox.run(
        {"run", operation, "--kv-len", "128", "--heads-q", "16", "--iterations", "1", "--json"}, setting);
  };
  const ToolResult prefill = run("prefill");
  CAPTURE(prefill.out);
  CHECK(prefill.json()["template"] == "attention_prefill");
  CHECK(prefill.json()["operations"] == 2.0 * 16 * (128 * 129 / 2) * 256);
  const ToolResult declined = sandbox.run(
      {"run", "prefill", "--kv-len", "128", "--heads-q", "16", "--mask", "custom", "--json"}, setting);
  CHECK(declined.status == 1);
  CHECK(declined.json()["error"]["code"] == "unsupported");
  const std::string reason = declined.json()["error"]["message"];
  CHECK(contains(reason, "templates: decode attention is for generation"));
  CHECK(contains(reason, "prefill attention has no custom mask"));
  CHECK(contains(reason, "published: "));
  const ToolResult latent = run("mla-decode");
  CAPTURE(latent.out);
  CHECK(latent.json()["template"] == "attention_wide");
  CHECK(latent.json()["backend"] == "templates");
}

TEST_CASE("problems of published kernels are taken on their device, and lack nothing but the kernels") {
  if (std::getenv("CUBINET_TEST_DRIVER") == nullptr) return skip("only the stub is told what device it is");
  const Sandbox sandbox;
  ToolSetting setting = with_driver();
  setting.environment.emplace_back("CUBINET_STUB_CAPABILITY", "10.0");
  const std::vector<std::vector<std::string>> problems = {
      {"decode", "--heads-kv", "4", "--dtype-q", "e4m3", "--dtype-o", "bf16", "--lse"},
      {"decode", "--heads-kv", "4", "--dtype-kv", "e4m3", "--layout", "hnd"},
      {"decode", "--heads-kv", "4", "--sinks", "--page-tables", "separate", "--window", "64"},
      {"decode", "--heads-kv", "4", "--q-len", "3", "--ragged-q", "--scales-on-device"},
      {"prefill", "--qkv-layout", "separate", "--head-dim-qk", "192", "--head-dim-v", "128", "--lse"},
      {"mla-decode", "--dtype-q", "e4m3", "--dtype-o", "bf16"}};
  for (std::vector<std::string> line : problems) {
    line.insert(line.begin(), "run");
    line.insert(line.end(), {"--kv-len", "256", "--heads-q", "16", "--backend", "published", "--json"});
    const ToolResult result = sandbox.run(line, setting);
    CAPTURE(result.out);
    CHECK(result.status == 1);
    CHECK(contains(result.out, "there are no rows of published artifacts"));
  }
}

TEST_CASE("run decode refuses problems that are none by the name of the option or parameter") {
  const auto refused = [](const std::vector<std::string>& option) {
    check_refused(option, 2, "invalid_argument");
  };
  refused({"--batch", "0"});
  refused({"--batch", "99999999999"});
  refused({"--kv-len", "-1"});
  refused({"--heads-kv", "3"});
  refused({"--head-dim-qk", "100"});
  refused({"--page-size", "12"});
  refused({"--dtype-q", "bf17"});
  refused({"--window", "0"});
  refused({"--mask", "sparse"});
  refused({"--iterations", "0"});
  refused({"--splits", "0"});
  refused({"--splits", "257"});
  refused({"--backend", "fa2"});
}

TEST_CASE("a device that is not there is told") {
  const Sandbox sandbox;
  const ToolResult result = decode(sandbox, {"--device", "900"}, with_driver());
  CHECK(result.status >= 2);
  CHECK(contains(result.json()["error"]["message"].get<std::string>(), "900"));
}

TEST_CASE("run decode needs its shape") {
  CHECK(run_tool({"run", "decode", "--batch", "1"}).status == 2);
}
