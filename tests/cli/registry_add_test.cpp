// SPDX-License-Identifier: Apache-2.0
#include "home_fixture.hpp"
#include "support/fake_fatbin.hpp"

#include <filesystem>
#include <sys/stat.h>
#include <thread>

using namespace cubinet;
using namespace cubinet::test;

namespace {

Bytes cubin_for(SmTarget target, std::uint8_t filler = 1) {
  FakeCubin description;
  description.target = target;
  description.filler = filler;
  description.kernels = {{"gemm_kernel", 24}};
  return make_fake_cubin(description);
}

constexpr SmTarget kAmpere{8, 0, TargetKind::baseline};
constexpr SmTarget kHopper{9, 0, TargetKind::specific};

void write_fatbin(const Sandbox& sandbox, std::string_view name, std::uint8_t filler = 1) {
  const Bytes file = make_fake_fatbin({{2, cubin_for(kAmpere, filler), FatbinPacking::zstd},
                                       {2, cubin_for(kHopper, filler), FatbinPacking::lz4}});
  sandbox.write(name, as_text(file));
}

}  // namespace

TEST_CASE("an image that is added is known by name to every verb, and travels in bundles") {
  const Sandbox sandbox;
  write_fatbin(sandbox, "gemm.fatbin");
  const ToolResult added = sandbox.run({"registry", "add", sandbox.path("gemm.fatbin"), "--json"});
  CAPTURE(added.out);
  REQUIRE(added.status == 0);
  const auto entries = added.json()["entries"];
  REQUIRE(entries.size() == 2);
  CHECK(entries[0]["target"] == "sm_80");
  CHECK(entries[1]["target"] == "sm_90a");
  CHECK(entries[1]["added"] == true);
  CHECK(entries[1]["entry_points"][0]["parameter_bytes"] == 24);

  CHECK(sandbox.run({"registry", "show", "gemm", "--json"}).json()["entries"].size() == 2);
  CHECK(contains(sandbox.run({"registry", "list"}).out, "gemm"));
  CHECK(contains(sandbox.run({"registry", "show", "gemm"}).out, "added here"));
  CHECK(sandbox.run({"registry", "verify"}).status == 0);
  const auto explained = sandbox.run({"explain", "gemm", "--device", "9.0", "--json"});
  CHECK(explained.status == 0);
  CHECK(explained.json()["chosen"]["target"] == "sm_90a");
  CHECK(sandbox.run({"explain", "gemm", "--device", "8.6", "--json"}).json()["chosen"]["target"] == "sm_80");
  const auto old = sandbox.run({"explain", "gemm", "--device", "7.5", "--json"});
  CHECK(old.status == 1);
  CHECK(contains(old.json()["fix"].get<std::string>(),
                 "add it as 'gemm' with `cubinet registry add FILE --name NAME`"));
  CHECK_FALSE(contains(old.json()["fix"].get<std::string>(), "import"));
  CHECK(contains(sandbox.run({"explain", "gem", "--device", "7.5"}).err, "registry add"));
  const std::string key = entries[1]["key"];
  CHECK(contains(sandbox.run({"key", "gemm"}).out, key));
  CHECK(sandbox.run({"inspect", key, "--json"}).json()["results"][0]["kernels"][0]["name"] == "gemm_kernel");

  const std::string bundle = sandbox.path("b.bundle");
  REQUIRE(sandbox.run({"bundle", "create", "-o", bundle, "--json"}).json()["kernels"] == 2);
  const Sandbox other;
  CHECK(other.run({"explain", "gemm", "--device", "9.0", "--bundle", bundle}).status == 0);
  CHECK(other.run({"bundle", "import", bundle}).status == 0);
  CHECK(other.run({"explain", key, "--device", "9.0"}).status == 0);
  CHECK(sandbox.run({"registry", "remove", "gemm", "--target", "sm_90a"}).status == 0);
  CHECK(sandbox.run({"explain", "gemm", "--device", "9.0"}).status == 1);
}

TEST_CASE("the same file is added once, and another of its name is another kernel") {
  const Sandbox sandbox;
  write_fatbin(sandbox, "a.fatbin");
  write_fatbin(sandbox, "b.fatbin", 2);
  CHECK(sandbox.run({"registry", "add", sandbox.path("a.fatbin"), "--name", "gemm"}).status == 0);
  const ToolResult again =
      sandbox.run({"registry", "add", sandbox.path("a.fatbin"), "--name", "gemm", "--json"});
  CHECK(again.status == 0);
  CHECK(again.json()["entries"][0]["added"] == false);
  CHECK(sandbox.run({"registry", "list", "--json"}).json()["entries"].size() == 2);

  const ToolResult other =
      sandbox.run({"registry", "add", sandbox.path("b.fatbin"), "--name", "gemm", "--json"});
  CHECK(other.status == 0);
  CHECK(contains(other.err, "NAME@PIN"));
  const std::string pin = other.json()["parameters"]["pin"];
  const ToolResult ambiguous = sandbox.run({"explain", "gemm", "--device", "9.0"});
  CHECK(ambiguous.status == 2);
  CHECK(contains(ambiguous.err, "gemm@" + pin.substr(0, 8)));
  const auto one = sandbox.run({"explain", "gemm@" + pin.substr(0, 8), "--device", "9.0", "--json"});
  CHECK(one.status == 0);
  CHECK(one.json()["parameters"]["pin"] == pin);
}

TEST_CASE("two processes that add one file at once leave one entry a target") {
  const Sandbox sandbox;
  write_fatbin(sandbox, "gemm.fatbin");
  std::vector<int> statuses(2, 1);
  const auto add_often = [&](std::size_t process) {
    int worst = 0;
    for (int i = 0; i < 10; ++i)
      worst = std::max(worst, sandbox.run({"registry", "add", sandbox.path("gemm.fatbin")}).status);
    statuses[process] = worst;
  };
  std::thread other([&] { add_often(1); });
  add_often(0);
  other.join();
  CHECK(statuses == std::vector<int>{0, 0});
  CHECK(sandbox.run({"registry", "list", "--json"}).json()["entries"].size() == 2);
  CHECK(sandbox.run({"registry", "verify"}).status == 0);
}

TEST_CASE("what is no image is refused before a home is made") {
  const Sandbox sandbox;
  sandbox.write("empty.cubin", "");
  sandbox.write("k.cu", "__global__ void k() {}");
  FakeCubin relocatable;
  relocatable.relocatable = true;
  sandbox.write("k.o", as_text(make_fake_cubin(relocatable)));
  sandbox.write("cut.cubin", as_text(cubin_for(kHopper)).substr(0, 200));
  REQUIRE(::mkfifo(sandbox.path("fifo").c_str(), 0600) == 0);
  std::filesystem::create_symlink(sandbox.path("nothing"), sandbox.path("link"));
  sandbox.write("sparse.cubin", "");
  std::filesystem::resize_file(sandbox.path("sparse.cubin"), std::uintmax_t{1} << 30);
  for (const auto& each : std::vector<std::pair<std::string, int>>{
           {"empty.cubin", 2}, {"k.cu", 2}, {"k.o", 2}, {"cut.cubin", 1}, {"sparse.cubin", 2}, {"link", 2}}) {
    const std::string& file = each.first;  // a structured binding is in no lambda, for Clang 14
    CAPTURE(file);
    const ToolResult refused = sandbox.run({"registry", "add", sandbox.path(file)});
    CHECK(refused.status == each.second);
    CHECK_FALSE(refused.err.empty());
  }
  CHECK(sandbox.run({"registry", "add", sandbox.path("fifo")}).status != 0);
  CHECK(sandbox.run({"registry", "add", sandbox.path("k.o"), "--name", "a@b"}).status == 2);
  CHECK_FALSE(std::filesystem::exists(sandbox.home()));
}

TEST_CASE("an image is added through a link, by the name that is given") {
  const Sandbox sandbox;
  write_fatbin(sandbox, "gemm.fatbin");
  std::filesystem::create_symlink(sandbox.path("gemm.fatbin"), sandbox.path("link.fatbin"));
  CHECK(sandbox.run({"registry", "add", sandbox.path("link.fatbin")}).status == 0);
  CHECK(sandbox.run({"registry", "show", "link"}).status == 0);
}

TEST_CASE("a home that cannot keep an image is status 3") {
  const Sandbox sandbox;
  write_fatbin(sandbox, "gemm.fatbin");
  sandbox.write("home", "a file");
  CHECK(sandbox.run({"registry", "add", sandbox.path("gemm.fatbin")}).status == 3);
}

TEST_CASE("inspect lists the images of a fatbinary") {
  const Sandbox sandbox;
  write_fatbin(sandbox, "gemm.fatbin");
  const auto results = sandbox.run({"inspect", sandbox.path("gemm.fatbin"), "--json"}).json()["results"];
  REQUIRE(results.size() == 2);
  CHECK(results[0]["target"] == "sm_80");
  CHECK(results[1]["target"] == "sm_90a");
}
