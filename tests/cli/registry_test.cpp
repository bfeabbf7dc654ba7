// SPDX-License-Identifier: Apache-2.0
#include "home_fixture.hpp"

using namespace cubinet;
using namespace cubinet::test;

TEST_CASE("registry list prints every entry and filters them") {
  const Sandbox sandbox;
  publish(sandbox, three_cubins());
  const ToolResult text = sandbox.run({"registry", "list"});
  CHECK(text.status == 0);
  CHECK(contains(text.out, "one(number=1)"));
  CHECK(contains(text.out, "sm_80"));
  const auto entries = [&](std::vector<std::string> line) {
    line.insert(line.begin(), {"registry", "list", "--json"});
    return sandbox.run(line).json()["entries"].size();
  };
  CHECK(entries({}) == 3);
  CHECK(entries({"--template", "one"}) == 2);
  CHECK(entries({"--target", "sm_90a"}) == 2);
  CHECK(entries({"--template", "one", "--target", "sm_90a"}) == 1);
  CHECK(entries({"--template", "three"}) == 0);
  CHECK(sandbox.run({"registry", "list", "--target", "sm_101a"}).status == 2);
  CHECK(sandbox.run({"registry", "list", "--key", "zz"}).status == 2);
}

TEST_CASE("registry list of a name that nothing has says what was searched, with status 0") {
  const Sandbox sandbox;
  publish(sandbox, three_cubins());
  const ToolResult listed = sandbox.run({"registry", "list", "nothing"});
  CHECK(listed.status == 0);
  CHECK(listed.out.empty());
  CHECK(contains(listed.err, "no entry of nothing: searched for a key, and for the name of a template"));
}

TEST_CASE("registry show prints all of an entry, and ends with 1 where there is none") {
  const Sandbox sandbox;
  const auto cubins = three_cubins();
  publish(sandbox, cubins);
  const std::string key = cubins.front().record->identity.key().to_string();
  const ToolResult text = sandbox.run({"registry", "show", key});
  CHECK(text.status == 0);
  CHECK(contains(text.out, cubins.front().record->digest.to_hex()));
  const auto entry = sandbox.run({"registry", "show", key, "--json"}).json()["entries"][0];
  CHECK(entry["key"] == key);
  CHECK(entry["entry_points"][0]["threads"] == 128);
  const ToolResult missing = sandbox.run({"registry", "show", "0000000000000000", "--json"});
  CHECK(missing.status == 1);
  CHECK(missing.json()["error"]["code"] == "not_found");
  CHECK(sandbox.run({"registry", "show", "one", "--json"}).json()["entries"].size() == 2);
  CHECK(sandbox.run({"registry", "show", "12"}).status == 1);
  CHECK(sandbox.run({"registry", "show"}).status == 2);
}

TEST_CASE("registry verify is silent about a sound home and names what is damaged") {
  const Sandbox sandbox;
  publish(sandbox, three_cubins());
  CHECK(sandbox.run({"registry", "verify"}).status == 0);
  CHECK(sandbox.run({"registry", "verify", "--json"}).json()["findings"].empty());
  const auto cubin = first_file(sandbox.home(), ".cubin");
  flip_bit(cubin, std::filesystem::file_size(cubin) / 2);
  const ToolResult damaged = sandbox.run({"registry", "verify"});
  CHECK(damaged.status == 1);
  CHECK(contains(damaged.out, cubin.filename().string()));
  const ToolResult document = sandbox.run({"registry", "verify", "--json"});
  CHECK(document.status == 1);
  CHECK(document.json()["findings"][0]["kind"] == "damaged_cubin");
  CHECK(std::filesystem::exists(cubin));  // verify changes nothing
}

TEST_CASE("registry repair derives the index from the records") {
  const Sandbox sandbox;
  publish(sandbox, three_cubins());
  std::filesystem::remove(sandbox.home() / "index.sqlite");
  CHECK(sandbox.run({"registry", "repair", "--json"}).json()["indexed"] == 3);
  CHECK(sandbox.run({"registry", "list", "--json"}).json()["entries"].size() == 3);
}

TEST_CASE("an index that is not SQLite is lived with") {
  const Sandbox sandbox;
  publish(sandbox, three_cubins());
  sandbox.write("home/index.sqlite",
                "this is not a database, and it is longer than a header of one would be");
  const ToolResult listed = sandbox.run({"registry", "list", "--json"});
  CHECK(listed.status == 0);
  CHECK(listed.json()["entries"].size() == 3);
  CHECK(sandbox.run({"registry", "repair"}).status == 0);
  CHECK(sandbox.run({"registry", "verify"}).status == 0);
}

TEST_CASE("a home that does not exist yet is empty, and reading does not create it") {
  const Sandbox sandbox;
  const auto answer = [&](std::vector<std::string> line) {
    line.insert(line.begin(), "registry");
    const ToolResult text = sandbox.run(line);
    CAPTURE(text.err);
    CHECK(text.status == 0);
    CHECK(text.err.empty());
    line.emplace_back("--json");
    const ToolResult document = sandbox.run(line);
    CHECK(document.status == 0);
    return document.json();
  };
  const std::string home = sandbox.home().string();
  CHECK(answer({"list"}) == nlohmann::json{{"home", home},
                                           {"entries", nlohmann::json::array()},
                                           {"pins", nlohmann::json::array()}});
  CHECK(answer({"list", "--imports"})["imports"].empty());
  CHECK(answer({"verify"}) ==
        nlohmann::json{{"home", home}, {"entries", 0}, {"bytes", 0}, {"findings", nlohmann::json::array()}});
  const auto stats = answer({"stats", "--hits", "--device", "sm_90"});
  CHECK(stats["entries"] == 0);
  CHECK(stats["imports"] == 0);
  CHECK(stats["usable"] == 0);
  CHECK(stats["hits"]["asked"] == 0);
  CHECK(stats["hits"]["never_used"].empty());
  CHECK(contains(stats["journal_mode"].get<std::string>(), "none"));
  CHECK(contains(sandbox.run({"registry", "verify"}).out, "0 entries, 0 B, all sound"));
  CHECK(sandbox.run({"registry", "show", "rms_norm"}).status == 1);
  CHECK(sandbox.run({"registry", "list", "--imports", "2"}).status == 1);
  CHECK_FALSE(std::filesystem::exists(sandbox.home()));
}

TEST_CASE("a home that exists and cannot be read is an error of every verb that reads it") {
  const Sandbox sandbox;
  std::filesystem::create_directory_symlink(sandbox / "absent", sandbox.home());
  for (const char* verb : {"list", "verify", "stats"}) {
    const ToolResult result = sandbox.run({"registry", verb, "--json"});
    CHECK(result.status == 3);
    CHECK(result.json()["error"]["code"] == "unavailable");
  }
  std::filesystem::remove(sandbox.home());
  sandbox.write("home", "a file");
  for (const char* verb : {"list", "verify", "stats"})
    CHECK(sandbox.run({"registry", verb}).status == 3);
}
