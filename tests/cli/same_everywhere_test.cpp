// SPDX-License-Identifier: Apache-2.0
// Key, fingerprint and bytes are of what is compiled, and of nothing that surrounds it.
#include "support/skip.hpp"
#include "tool.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

using namespace cubinet::test;
namespace fs = std::filesystem;

namespace {

constexpr unsigned kNobody = 65534;

constexpr const char* kAxpy = R"cu(#include "near.h"
#include <lib/far.h>
#include <cuda_fp16.h>
template <class T, int N> __global__ void axpy(T a, T* y) {
  y[threadIdx.x] = near_value(a) * N + far_value(y[0]) + __LINE__ + sizeof(__FILE__);
}
)cu";

// A place in which somebody compiles, with a home of its own.
struct Surroundings {
  std::string folder;
  ToolSetting setting;

  // REQUIRES: the process may give files away where `user` is given.
  Surroundings(const Sandbox& sandbox, const std::string& name, std::optional<unsigned> user)
      : folder(sandbox.path(name)) {
    fs::create_directories(folder + "/include/lib");
    sandbox.write(name + "/axpy.cu", kAxpy);
    sandbox.write(name + "/near.h",
                  "#pragma once\ntemplate <class T> __device__ T near_value(T x) { return x + T(1); }\n");
    sandbox.write(name + "/include/lib/far.h",
                  "#pragma once\n#include \"../../near.h\"\n"
                  "template <class T> __device__ T far_value(T x) { return near_value(x) * T(2); }\n");
    fs::create_directory(folder + "/tmp");
    setting.folder = folder;
    setting.user = user;
    fs::copy_file(tool_path(), folder + "/cubinet");
    setting.executable = folder + "/cubinet";
    if (!user) return;
    fs::permissions(sandbox.path(""), fs::perms{0755});
    REQUIRE(::chown(folder.c_str(), *user, *user) == 0);
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      REQUIRE(::chown(entry.path().c_str(), *user, *user) == 0);
  }

  // The result without what tells of this run alone, and the image's bytes.
  std::pair<nlohmann::json, std::string> compile(const Sandbox& sandbox, const std::string& name,
                                                 std::vector<std::string> line) const {
    const std::string file = name + "/" + line[1] + ".cubin";
    for (const std::string& word : {std::string("--home"), folder + "/home", std::string("--target"),
                                    std::string("sm_90a"), std::string("--lineinfo"), std::string("--json"),
                                    std::string("-v"), std::string("-o"), sandbox.path(file)})
      line.push_back(word);
    const ToolResult result = run_tool(line, setting);
    CAPTURE(result.err);
    REQUIRE(result.status == 0);
    nlohmann::json built = result.json()["results"][0];
    CHECK(built["source"] == "compiled");
    for (const char* own : {"seconds", "file", "source"})
      built.erase(own);
    built["sources_sha256"] = result.json()["given"][0]["sources_sha256"];
    CHECK(built["sources_sha256"].get<std::string>().size() == 64);
    return {built, sandbox.read(file)};
  }
};

}  // namespace

TEST_CASE("two users in two folders with other environments build the same under the same key") {
  const bool is_root = ::geteuid() == 0;
  const Sandbox sandbox;
  const std::string first_name = "a";
  const std::string second_name = "another place/with a longer name";
  const Surroundings first(sandbox, first_name, std::nullopt);
  Surroundings second(sandbox, second_name, is_root ? std::optional(kNobody) : std::nullopt);
  if (is_root) fs::permissions(sandbox.path("another place"), fs::perms{0755});
  second.setting.environment = {{"HOME", second.folder},      {"TMPDIR", second.folder + "/tmp"},
                                {"LC_ALL", "tr_TR.UTF-8"},    {"LANG", "de_DE.UTF-8"},
                                {"TZ", "Pacific/Kiritimati"}, {"USER", "somebody"}};
  const std::vector<std::string> norm = {"compile", "rms_norm", "-p", "hidden_size=256"};
  CHECK(first.compile(sandbox, first_name, norm) == second.compile(sandbox, second_name, norm));

  const auto line = [](const std::string& folder) {
    return std::vector<std::string>{"compile",         "--source", folder + "axpy.cu", "--name",
                                    "axpy<float, 4>",  "-D",       "UNROLL=4",         "-I",
                                    folder + "include"};
  };
  const auto [built, image] = first.compile(sandbox, first_name, line(first.folder + "/"));
  // By relative names, too.
  const auto [other, other_image] = second.compile(sandbox, second_name, line(""));
  CHECK(built == other);
  CHECK(image == other_image);
  CHECK_FALSE(contains(image, sandbox.path("")));
  if (!is_root) skip("both were built by one user: another can be had by root alone");
}
