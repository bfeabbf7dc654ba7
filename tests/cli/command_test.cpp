// SPDX-License-Identifier: Apache-2.0
// The command as a function of the C library: the executable calls it too, so that its verbs are
// tested there.
#include "support/temp_dir.hpp"

#include <cubinet/cubinet.h>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <string>
#include <thread>
#include <vector>

using namespace cubinet::test;

namespace {

struct CommandOutcome {
  std::int32_t status = -1;
  std::string output;
};

// Runs the command and takes its output. The variables are exactly these.
CommandOutcome command(const std::vector<std::string>& words, std::vector<std::string> variables = {}) {
  std::vector<cubinet_string> strings;
  for (const std::string& word : words)
    strings.push_back({word.data(), word.size()});
  std::vector<const char*> environment;
  for (const std::string& variable : variables)
    environment.push_back(variable.c_str());
  environment.push_back(nullptr);
  CommandOutcome outcome;
  cubinet_text* output = nullptr;
  REQUIRE(cubinet_command(strings.data(), strings.size(), environment.data(), &outcome.status, &output,
                          nullptr) == CUBINET_OK);
  const cubinet_string text = cubinet_text_get(output);
  outcome.output.assign(text.data, text.size);
  cubinet_text_release(output);
  return outcome;
}

}  // namespace

TEST_CASE("the output of a verb is taken as a text, and its exit status is returned") {
  const TempDir folder;
  const std::string home = "CUBINET_HOME=" + (folder / "home").string();
  const CommandOutcome listed = command({"registry", "list", "--json"}, {home});
  CHECK(listed.status == 0);
  CHECK(nlohmann::json::parse(listed.output).is_object());
  const CommandOutcome version = command({"--version"});
  CHECK(version.status == 0);
  CHECK(version.output.starts_with("cubinet "));
}

TEST_CASE("the variables are those of the call, not those of the process") {
  const TempDir folder;
  const std::string place = (folder / "elsewhere").string();
  const CommandOutcome doctor = command({"doctor", "--json"}, {"CUBINET_HOME=" + place});
  CHECK(nlohmann::json::parse(doctor.output).at("home").at("path") == place);
}

TEST_CASE("a failure of a verb is an exit status, and its document names the reason") {
  const CommandOutcome wrong = command({"inspect", "/absent", "--json"});
  CHECK(wrong.status != 0);
  CHECK(wrong.output.find("/absent") != std::string::npos);
  CHECK(command({"no-such-verb", "--json"}).status == 2);
  CHECK(command({}, {}).status == 2);
}

TEST_CASE("two calls that take their output run at the same time and do not mix it") {
  const TempDir folder;
  std::array<std::string, 2> texts;
  std::array<std::thread, 2> threads;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    threads[i] = std::thread([&, i] {
      const std::string home = (folder / std::to_string(i)).string();
      for (int turn = 0; turn < 5; ++turn)
        texts[i] = command({"doctor", "--json"}, {"CUBINET_HOME=" + home}).output;
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  for (std::size_t i = 0; i < threads.size(); ++i)
    CHECK(nlohmann::json::parse(texts[i]).at("home").at("path") == (folder / std::to_string(i)).string());
}

TEST_CASE("a call without a place for the exit status, or with words that are NULL, is refused") {
  std::int32_t status = 0;
  const char* const none[] = {nullptr};
  const cubinet_string word = cubinet_str("doctor");
  CHECK(cubinet_command(&word, 1, none, nullptr, nullptr, nullptr) == CUBINET_INVALID_ARGUMENT);
  CHECK(cubinet_command(&word, 1, nullptr, &status, nullptr, nullptr) == CUBINET_INVALID_ARGUMENT);
  CHECK(cubinet_command(nullptr, 1, none, &status, nullptr, nullptr) == CUBINET_INVALID_ARGUMENT);
  CHECK(cubinet_command(&word, std::size_t{1} << 40, none, &status, nullptr, nullptr) ==
        CUBINET_INVALID_ARGUMENT);
}
