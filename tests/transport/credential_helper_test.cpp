// SPDX-License-Identifier: Apache-2.0
#include "credential_helper.hpp"

#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <filesystem>
#include <fstream>

using namespace cubinet;
using namespace std::chrono_literals;
using test::ok;

namespace {

std::filesystem::path script(const test::TempDir& folder, const std::string& text) {
  const auto path = folder / "helper";
  std::ofstream(path) << "#!/bin/sh\n" << text;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

}  // namespace

TEST_CASE("a helper reads what it is asked, and its answer and status are told") {
  const test::TempDir folder;
  const auto program = script(folder, "read server\necho \"$1 $server $GIVEN $HOME\"\nexit 3\n");
  const HelperAnswer answer = ok(run_credential_helper(program, {"GIVEN=word"}, "host:5000", 10s));
  CHECK(answer.output == "get host:5000 word \n");
  CHECK(answer.exit_status == 3);
}

TEST_CASE("a helper that does not read or is killed is an answer") {
  const test::TempDir folder;
  CHECK(ok(run_credential_helper(script(folder, "exit 1\n"), {}, "host", 10s)).exit_status == 1);
  CHECK(ok(run_credential_helper(script(folder, "kill -9 $$\n"), {}, "host", 10s)).exit_status == -1);
}

TEST_CASE("a helper that hangs or does not end its answer is ended") {
  const test::TempDir folder;
  const auto start = std::chrono::steady_clock::now();
  const auto hanging = run_credential_helper(script(folder, "exec sleep 60\n"), {}, "host", 200ms);
  REQUIRE_FALSE(hanging);
  CHECK(hanging.error().code == ErrorCode::unavailable);
  CHECK_FALSE(
      run_credential_helper(script(folder, "exec cat /dev/zero\n"), {"PATH=/usr/bin:/bin"}, "host", 10s));
  CHECK(std::chrono::steady_clock::now() - start < 5s);
}

TEST_CASE("a helper that is not there is unavailable") {
  const auto answer = run_credential_helper("/nowhere/docker-credential-x", {}, "host", 10s);
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == ErrorCode::unavailable);
}
