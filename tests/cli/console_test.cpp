// SPDX-License-Identifier: Apache-2.0
#include "console.hpp"

#include "captured_stderr.hpp"
#include "home_fixture.hpp"
#include "tool.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cubinet::test;
using cubinet::cli::Color;
using cubinet::cli::Console;

namespace {

// Runs `child` in its own process, whose streams it may close, and returns the child's result.
template <class Child>
bool holds(const Child& child) {
  const pid_t process = ::fork();
  REQUIRE(process >= 0);
  if (process == 0) ::_exit(child() ? 0 : 1);
  int status = 0;
  ::waitpid(process, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("a name with an escape sequence does not reach the terminal as one") {
  const ToolResult result = run_tool({"templates", "\x1b]0;owned\x07"});
  CHECK(result.status == 2);
  CHECK_FALSE(contains(result.err, "\x1b"));
  CHECK_FALSE(contains(result.err, "\x07"));
}

TEST_CASE("errors are coloured on a terminal unless the environment says no") {
  ToolSetting terminal;
  terminal.stderr_is_terminal = true;
  CHECK(contains(run_tool({"templates", "nothing"}, terminal).err, "\x1b[31m"));
  terminal.environment = {{"NO_COLOR", ""}};  // an empty variable counts as not set
  CHECK(contains(run_tool({"templates", "nothing"}, terminal).err, "\x1b[31m"));
  terminal.environment = {{"NO_COLOR", "1"}};
  const ToolResult plain = run_tool({"templates", "nothing"}, terminal);
  CHECK(plain.status == 2);
  CHECK_FALSE(contains(plain.err, "\x1b"));
  CHECK_FALSE(contains(run_tool({"templates", "nothing"}).err, "\x1b"));
}

TEST_CASE("errors and messages of the library name options of the tool in text and JSON") {
  const Sandbox sandbox;
  const std::vector<std::string> line = {"select", "attention", "--device", "9.0",         "--kv-len",
                                         "128",    "--heads-q", "8",        "--page-size", "3"};
  CHECK(contains(sandbox.run(line).err, "error: --page-size is 3: it must be"));
  auto as_json = line;
  as_json.emplace_back("--json");
  const std::string message = sandbox.run(as_json).json()["error"]["message"];
  CHECK(message.starts_with("--page-size is 3: it must be"));
  const ToolResult told = sandbox.run(
      {"explain", "rms_norm", "-p", "hidden_size=4096", "-p", "dtype=bf16", "--device", "9.0", "-v"});
  CHECK(contains(told.err, "name another folder with --home or CUBINET_HOME"));
}

TEST_CASE("names that are not UTF8 still give a JSON document") {
  const ToolResult result = run_tool({"templates", "\xff\xfe", "--json"});
  CHECK(result.status == 2);
  CHECK(result.json()["error"]["code"] == "not_found");
}

TEST_CASE("names, symbols and compilers of a bundle drive no terminal, as text and as JSON") {
  const Sandbox sandbox;
  const std::string hostile =
      "a\xc2\x9b\xe2\x80\xae\xff\x1b"
      "b\nc";
  FakeCubin description;
  description.kernels = {{"kernel" + hostile}};
  cubinet::KernelSpec spec;
  spec.name = "name" + hostile;
  spec.maker = cubinet::KernelMaker::function;
  cubinet::Cubin cubin = make_cubin(spec, description);
  auto record = std::make_shared<cubinet::CubinRecord>(*cubin.record);
  record->compiler = record->options = record->warnings = "compiler" + hostile;
  cubin.record = record;
  REQUIRE(cubinet::create_bundle(sandbox.path("b.bundle"), {cubin}, {"channel", 1}));
  REQUIRE(sandbox.run({"bundle", "import", sandbox.path("b.bundle")}).status == 0);
  const std::string key = cubin.record->identity.key().to_string();
  const std::vector<std::vector<std::string>> lines = {
      {"bundle", "list", sandbox.path("b.bundle")},
      {"registry", "show", key},
      {"registry", "list"},
      {"inspect", key},
      {"bundle", "diff", "--code", sandbox.path("b.bundle"), sandbox.path("b.bundle")}};
  for (std::vector<std::string> line : lines) {
    CAPTURE(line[1]);
    for (const bool json : {false, true}) {
      if (json) line.push_back("--json");
      const ToolResult result = sandbox.run(line);
      REQUIRE_MESSAGE(result.status == 0, result.err);
      for (const char* part : {"\xc2\x9b", "\xe2\x80\xae", "\xff", "\x1b", "b\nc"})
        CHECK_FALSE(contains(result.out, part));
      if (json) CHECK(result.json().is_object());
    }
  }
}

TEST_CASE("a stderr that is closed or the null device is heard by nobody") {
  bool heard = false;
  stderr_of([&] { heard = Console(Color::never).heard(); });
  CHECK(heard);
  CHECK(holds([] {
    ::close(STDERR_FILENO);
    return !Console(Color::never).heard();
  }));
  CHECK(holds([] {
    ::dup2(::open("/dev/null", O_WRONLY), STDERR_FILENO);
    return !Console(Color::never).heard();
  }));
}

TEST_CASE("messages are lines of JSON if an option or a variable says so") {
  const Sandbox sandbox;
  const auto fields = [](const ToolResult& result) { return nlohmann::json::parse(result.err); };
  const auto error = fields(sandbox.run({"templates", "noth\x1bing", "--log-format", "json"}));
  CHECK(error["level"] == "error");
  CHECK(error["code"] == "not_found");
  CHECK(error["event"] == "error");
  CHECK(error["time"].get<std::string>().ends_with("Z"));
  ToolSetting setting;
  setting.environment = {{"CUBINET_LOG_FORMAT", "json"}};
  CHECK(fields(sandbox.run({"templates", "nothing"}, setting))["level"] == "error");
  CHECK(contains(sandbox.run({"templates", "nothing", "--log-format", "text"}, setting).err,
                 "cubinet: error: "));
  // Errors of a line that cannot be parsed, too.
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"no-such-verb"}, {"templates", "--no-such-option"}, {"serve-warm"}}) {
    CHECK(fields(sandbox.run(line, setting))["code"] == "invalid_argument");
    for (const auto& option : {std::vector<std::string>{"--log-format", "json"}, {"--log-format=json"}}) {
      std::vector<std::string> words = option;
      words.insert(words.end(), line.begin(), line.end());
      CHECK(fields(sandbox.run(words))["code"] == "invalid_argument");
    }
  }
  CHECK(contains(sandbox.run({"no-such-verb", "--log-format", "text"}, setting).err, "cubinet: error: "));
  CHECK(fields(sandbox.run({"templates", "--log-format", "xml"}, setting))["code"] == "invalid_argument");
  setting.environment = {{"CUBINET_LOG_FORMAT", "xml"}};
  const ToolResult wrong = sandbox.run({"templates"}, setting);
  CHECK(wrong.status == 2);
  CHECK(contains(wrong.err, "`CUBINET_LOG_FORMAT` has the value 'xml'"));
  CHECK(sandbox.run({"templates", "--log-format", "xml"}).status == 2);
}
