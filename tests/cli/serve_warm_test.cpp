// SPDX-License-Identifier: Apache-2.0
#include "home_fixture.hpp"
#include "support/ok.hpp"
#include "support/sampled.hpp"
#include "support/skip.hpp"

#include <cubinet/trust/public_key.hpp>

#include <csignal>
#include <filesystem>
#include <set>
#include <sstream>
#include <thread>
#include <unistd.h>

using namespace cubinet;
using namespace cubinet::test;

namespace {

namespace fs = std::filesystem;

constexpr const char* kEntry = "YOMA6WBTAY4J6E5S73OL2YVRJRIDH6EAYOZONAFMOR76CCMGTORA";
constexpr const char* kHostHelper = "AOMA6WBTAY4J6E5S73OL2YVRJRIDH6EAYOZONAFMOR76CCMGTORA";

// Runs commands with the cache of Triton `cache` in a sandbox.
struct Server {
  Sandbox sandbox;

  std::vector<std::string> line(std::vector<std::string> options, const std::string& script) const {
    std::vector<std::string> words = {
        "serve-warm",           "--device", "9.0", "--cache", "triton=" + sandbox.path("cache"), "--home",
        sandbox.home().string()};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "/bin/sh", "-c", script});
    return words;
  }
  ToolResult run(const std::string& script, const std::vector<std::string>& options = {},
                 ToolSetting setting = {}) const {
    setting.folder = sandbox / "";
    return run_tool(line(options, script), setting);
  }
  // A bundle of the recorded entries of Triton, and of a helper that runs on the host.
  std::string make_bundle() const {
    fs::copy(fs::path(CUBINET_RECORDED) / "triton-3.9.0", sandbox / "source", fs::copy_options::recursive);
    fs::create_directory(sandbox / "source" / kHostHelper);
    sandbox.write(std::string("source/") + kHostHelper + "/cuda_utils.so", "ELF");
    const Sandbox maker;
    REQUIRE(maker.run({"adopt", sandbox.path("source"), "--tool-version", "3.9.0"}).status == 0);
    REQUIRE(maker
                .run({"bundle", "create", "-o", sandbox.path("b.bundle"), "--template", "triton", "--channel",
                      "stable", "--bundle-version", "1"})
                .status == 0);
    return sandbox.path("b.bundle");
  }
  // Makes a key, and a policy of the home that requires it.
  void trust_key() const {
    REQUIRE(sandbox.run({"trust", "keygen", sandbox.path("key")}).status == 0);
    const PublicKey key = ok(PublicKey::parse(sandbox.read("key.pub")));
    const nlohmann::json policy = {{"default", {{"trusted_keys", {key.to_string()}}, {"threshold", 1}}}};
    fs::create_directories(sandbox.home());
    fs::permissions(sandbox.home(), fs::perms::owner_all);
    sandbox.write("home/policy.json", policy.dump());
    fs::permissions(sandbox.home() / "policy.json", fs::perms(0600));
  }
  bool has(const std::string& file) const { return fs::exists(sandbox / file); }
};

std::set<std::string> lines_of(const std::string& text) {
  std::set<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.insert(line);
  return lines;
}

}  // namespace

TEST_CASE("a command finds what the bundle holds, keeps its output, and its status is returned") {
  const Server server;
  const std::string bundle = server.make_bundle();
  const ToolResult result =
      server.run(std::string("cat cache/") + kEntry + "/scale.json > /dev/null && echo hit; exit 7",
                 {"--bundle", bundle});
  CHECK(result.status == 7);
  CHECK(result.out == "hit\n");
  CHECK(contains(result.err, "1 entry put for 9.0, 0 there already, 2 left out"));
  CHECK(contains(result.err, "0 new entries adopted"));
  // Another device's entry, and the helper, which nobody has signed.
  CHECK_FALSE(server.has(std::string("cache/") + kHostHelper));
}

TEST_CASE("the arguments of the command are passed on unchanged") {
  const Server server;
  const std::vector<std::string> given = {"[1,2]",  "[\"a\"]", "[]",  "[{\"x\":1},{\"y\":2}]", "", "--", "-x",
                                          "--json", "a,b",     "\xff"};
  std::vector<std::string> words = server.line({}, "printf '%s\\n' \"$@\"");
  words.push_back("sh");
  words.insert(words.end(), given.begin(), given.end());
  std::string expected;
  for (const std::string& word : given)
    expected += word + "\n";
  ToolSetting setting;
  setting.folder = server.sandbox / "";
  CHECK(run_tool(words, setting).out == expected);
}

TEST_CASE("a command without two dashes before it is wrong usage") {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"serve-warm", "echo", "ran"}, {"serve-warm"}, {"serve-warm", "--"}}) {
    const ToolResult result = run_tool(words);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
  }
}

TEST_CASE("the helper of the host is put from a signed bundle, a file or on a server") {
  const Server server;
  const std::string bundle = server.make_bundle();
  server.trust_key();
  // An unsigned bundle starts it cold.
  const ToolResult cold = server.run("ls cache; exit 7", {"--bundle", bundle});
  CHECK(cold.status == 7);
  CHECK_FALSE(server.has("cache"));
  CHECK(contains(cold.err, "the bundle is not used"));
  REQUIRE(server.sandbox.run({"bundle", "sign", bundle, "--key", server.sandbox.path("key")}).status == 0);
  const std::string read = std::string("cat cache/") + kHostHelper + "/cuda_utils.so";
  CHECK(server.run(read, {"--bundle", bundle}).out == "ELF");
  const std::string served = "file://" + server.sandbox.path("served");
  REQUIRE(server.sandbox.run({"push", bundle, served}).status == 0);
  fs::remove_all(server.sandbox / "cache");
  CHECK(server.run(read, {"--bundle", served + "#stable"}).out == "ELF");
  // Without an answer of a server, the home puts what it has kept, but not what runs on the host.
  fs::remove_all(server.sandbox / "cache");
  for (const std::string& reference : {served + "#other", std::string("file:///none#stable")})
    CHECK(server.run("exit 7", {"--bundle", reference}).status == 7);
  CHECK(server.has(std::string("cache/") + kEntry));
  CHECK_FALSE(server.has(std::string("cache/") + kHostHelper));
}

TEST_CASE("with json the report is one line on stderr, because the command has stdout") {
  const Server server;
  const ToolResult result = server.run("echo '{}'", {"--json", "--bundle", server.make_bundle()});
  CHECK(result.out == "{}\n");
  const auto report = nlohmann::json::parse(result.err);
  CHECK(report["devices"] == nlohmann::json::array({"9.0"}));
  CHECK(report["tools"]["triton"]["put"] == 1);
  CHECK(report["tools"]["triton"]["adopted"] == 0);
}

TEST_CASE("with json in a log of json the report is a record with the counts as values") {
  const Server server;
  const ToolResult result =
      server.run("true", {"--json", "--log-format", "json", "--bundle", server.make_bundle()});
  const auto report = nlohmann::json::parse(result.err);
  CHECK(report["event"] == "serve_warm");
  CHECK(report["level"] == "info");
  CHECK(report["message"] == "0 new entries adopted");
  CHECK(report["devices"] == nlohmann::json::array({"9.0"}));
  CHECK(report["tools"]["triton"]["put"] == 1);
}

TEST_CASE("a torn or damaged bundle starts the command cold, or with what is intact") {
  const Server server;
  const std::string bundle = server.make_bundle();
  const std::string whole = server.sandbox.read("b.bundle");
  const std::string cubin = server.sandbox.read(std::string("source/") + kEntry + "/scale.cubin");
  const auto check = [&](const std::string& content) {
    server.sandbox.write("b.bundle", content);
    fs::remove_all(server.sandbox / "cache");
    CHECK(server.run("exit 7", {"--bundle", bundle}).status == 7);
    const std::string file = std::string("cache/") + kEntry + "/scale.cubin";
    if (server.has(file)) CHECK(server.sandbox.read(file) == cubin);
  };
  for (const std::size_t at : sampled(whole.size(), 4096)) {
    check(whole.substr(0, at));
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    check(changed);
  }
}

TEST_CASE("the command has the descriptors, signals and environment that it has without the tool") {
  const Server server;
  const auto both = [&](const std::vector<std::string>& words) {
    std::vector<std::string> line = server.line({}, "");
    line.resize(line.size() - 3);
    line.insert(line.end(), words.begin(), words.end());
    ToolSetting bare;
    bare.executable = words.front();
    return std::pair(lines_of(run_tool(line).out),
                     lines_of(run_tool({words.begin() + 1, words.end()}, bare).out));
  };
  const auto descriptors = both({"/bin/ls", "/proc/self/fd"});
  CHECK(descriptors.first == descriptors.second);
  const auto signals = both({"/bin/grep", "^Sig[BIC]", "/proc/self/status"});
  CHECK(signals.first == signals.second);
  auto environment = both({"/usr/bin/env"});
  CHECK(environment.first.erase("CUBINET_TRITON_CACHE=" + server.sandbox.path("cache")) == 1);
  CHECK(environment.first == environment.second);
}

TEST_CASE("signals act as they do on the command alone") {
  const Server server;
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1}) {
    ToolSetting setting;
    setting.signal = signal;
    setting.interrupt_after = "serving";
    const std::string number = std::to_string(signal);
    CHECK(
        server
            .run("trap 'exit 42' " + number + "; echo serving >&2; while :; do sleep 0.01; done", {}, setting)
            .status == 42);
    CHECK(server.run("echo serving >&2; exec sleep 60", {}, setting).status == 128 + signal);
  }
}

TEST_CASE("a signal at any time of the start ends it as it ends the command" * doctest::test_suite("loop")) {
  const Server server;
  for (int milliseconds = 1; milliseconds < 60; milliseconds += 3) {
    ToolSetting setting;
    setting.signal = SIGTERM;
    setting.interrupt_milliseconds = {milliseconds};
    CHECK(server.run("exec sleep 60", {}, setting).status == 128 + SIGTERM);
  }
}

TEST_CASE("the command is killed with the tool") {
  const Server server;
  ToolSetting setting;
  setting.signal = SIGKILL;
  setting.interrupt_after = "serving";
  const ToolResult result = server.run("echo $$; echo serving >&2; exec sleep 60", {}, setting);
  CHECK(result.status == 137);
  // Ends when the process has ended. Its new parent may not have reaped it yet.
  for (std::string text = "R"; !text.empty() && !contains(text, ") Z "); ::usleep(1000)) {
    text.clear();
    std::ifstream stat("/proc/" + std::to_string(std::stoi(result.out)) + "/stat");
    std::getline(stat, text);
  }
}

TEST_CASE("as process 1 it reaps orphans, forwards signals and returns the status") {
  const Server server;
  ToolSetting setting;
  setting.executable = "/usr/bin/unshare";
  setting.folder = server.sandbox / "";
  const auto run = [&](const std::string& script) {
    std::vector<std::string> words = {"--pid", "--fork", "--mount-proc", "--kill-child", tool_path()};
    const auto line = server.line({}, script);
    words.insert(words.end(), line.begin(), line.end());
    return run_tool(words, setting);
  };
  if (run("exit 7").status != 7) skip("needs root, to make a name space of processes");
  // The orphan's parent ends first. Then nothing but process 1 can reap it.
  const ToolResult reaped =
      run("[ $PPID = 1 ] || exit 1; sh -c '(sleep 0.05; touch ended) & :'; while [ ! -e ended ]; do sleep "
          "0.01; done; "
          "while grep -qs '^State:.Z' /proc/[0-9]*/status; do sleep 0.01; done; exit 8");
  CHECK(reaped.status == 8);
  // The kernel drops signals of processes that process 1 neither handles nor blocks.
  for (const char* signal : {"SEGV", "BUS", "XCPU", "TSTP", "TTIN", "ALRM", "TERM"}) {
    const std::string name = signal;
    CHECK(run("trap 'exit 42' " + name + "; sh -c 'kill -" + name + " 1'; while :; do sleep 0.01; done")
              .status == 42);
  }
  CHECK(run("trap 'exit 42' TERM; kill -TERM 1; kill -TERM $$; while :; do sleep 0.01; done").status == 42);
}

TEST_CASE("a program that is missing or cannot be run has the status of a shell") {
  const Server server;
  std::vector<std::string> line = server.line({}, "");
  line.resize(line.size() - 3);
  line.emplace_back("no-such-program");
  const ToolResult missing = run_tool(line);
  CHECK(missing.status == 127);
  CHECK(contains(missing.err, "cannot run 'no-such-program'"));
  line.back() = "/";
  CHECK(run_tool(line).status == 126);
}

TEST_CASE("wrong usage is status 2 and runs nothing") {
  const Server server;
  CHECK(run_tool({"serve-warm"}).status == 2);
  for (const char* cache : {"triton", "=x", "triton=", "tritn=/x"}) {
    const ToolResult wrong = server.run("touch ran", {"--cache", cache});
    CHECK(wrong.status == 2);
    CHECK_FALSE(server.has("ran"));
  }
  CHECK(server.run("touch ran", {"--device", "1.0"}).status == 2);
  CHECK_FALSE(server.has("ran"));
}

TEST_CASE("without the file of a password the command starts, and finds what is not on a server") {
  const Server server;
  server.sandbox.write("empty", "");
  const std::string bundle = server.make_bundle();
  for (const std::string& file : {server.sandbox.path("none"), server.sandbox.path("empty")}) {
    fs::remove_all(server.sandbox / "cache");
    const ToolResult result = server.run(std::string("test -e cache/") + kEntry + " && exit 7",
                                         {"--bundle", bundle, "--bundle", "oci://127.0.0.1:1/x:stable",
                                          "--user", "me", "--password-file", file});
    CHECK(result.status == 7);
    CHECK(contains(result.err, "warning: servers get no password: "));
    CHECK(contains(result.err, file));
  }
  CHECK(server.run("touch ran", {"--user", "me"}).status == 2);
  CHECK_FALSE(server.has("ran"));
}

TEST_CASE("with a disk that takes nothing the command starts cold and its status is kept") {
  const Server server;
  const std::string bundle = server.make_bundle();
  std::string line = "ulimit -f 1; exec \"$0\" \"$@\"";
  std::vector<std::string> words = {"-c", line, tool_path()};
  const auto tool_line =
      server.line({"--bundle", bundle, "--workload", server.sandbox.path("w.workload")}, "exit 7");
  words.insert(words.end(), tool_line.begin(), tool_line.end());
  ToolSetting setting;
  setting.executable = "/bin/sh";
  const ToolResult result = run_tool(words, setting);
  CHECK(result.status == 7);
  CHECK(contains(result.err, "warning"));
  CHECK_FALSE(server.has(std::string("cache/") + kEntry));
}

TEST_CASE("several share a home, a cache and a workload" * doctest::test_suite("loop")) {
  for (int round = 0; round < 4; ++round) {
    const Server server;
    const std::string bundle = server.make_bundle();
    const std::string other = "J27T7NINZP3SHBTQ2NUM5JURC5JWGZPCA37MZTKDPHXJC57ES3FA";
    std::vector<std::thread> threads;
    std::vector<ToolResult> results(6);
    for (ToolResult& result : results) {
      threads.emplace_back([&] {
        result = server.run("cp -r source/" + other + " mine.$$; mv -T mine.$$ cache/" + other +
                                " 2>/dev/null; test -e cache/" + kEntry + "/scale.cubin",
                            {"--bundle", bundle, "--workload", server.sandbox.path("w.workload")});
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    for (const ToolResult& result : results) {
      CHECK_MESSAGE(result.status == 0, result.err);
      CHECK_FALSE(contains(result.err, "warning"));
    }
    CHECK(server.sandbox.run({"registry", "verify"}).status == 0);
    const ToolResult listed = server.sandbox.run({"registry", "list", "--json"});
    CHECK_MESSAGE(listed.json()["entries"].size() == 1, listed.out);
    CHECK(server.has("w.workload"));
    for (const auto& file : fs::directory_iterator(server.sandbox / "cache"))
      CHECK_FALSE(file.path().filename().string().starts_with(".cubinet"));
  }
}
