// SPDX-License-Identifier: Apache-2.0
#include "tool.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

using namespace cubinet::test;

namespace {

const std::vector<std::vector<std::string>> kVerbs = {
    {"help"},
    {"doctor"},
    {"templates"},
    {"key"},
    {"explain"},
    {"select"},
    {"select", "attention"},
    {"compile"},
    {"prebuild"},
    {"bundle"},
    {"bundle", "create"},
    {"bundle", "extract"},
    {"bundle", "list"},
    {"bundle", "verify"},
    {"bundle", "import"},
    {"bundle", "sign"},
    {"bundle", "merge"},
    {"bundle", "subset"},
    {"bundle", "diff"},
    {"bundle", "root"},
    {"import-artifacts"},
    {"import-sources"},
    {"adopt"},
    {"materialize"},
    {"inspect"},
    {"mirror"},
    {"push"},
    {"pull"},
    {"report"},
    {"registry"},
    {"registry", "list"},
    {"registry", "show"},
    {"registry", "verify"},
    {"registry", "stats"},
    {"registry", "repair"},
    {"registry", "remove"},
    {"registry", "refresh"},
    {"registry", "add"},
    {"registry", "gc"},
    {"registry", "limit"},
    {"registry", "pin"},
    {"registry", "unpin"},
    {"trust"},
    {"tune"},
    {"trust", "keygen"},
    {"trust", "update"},
    {"completion"},
    {"manual"},
    {"outdated"},
    {"channel"},
    {"channel", "list"},
    {"channel", "pin"},
    {"channel", "unpin"},
    {"bench"},
    {"bench", "attention"},
    {"bench", "invariance"},
    {"run"},
    {"run", "decode"},
    {"run", "prefill"},
    {"run", "mla-decode"},
    {"run", "merge"},
};

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("an NVRTC that is named and missing is an error, whatever the verb needs") {
  const Sandbox sandbox;
  const std::string missing = sandbox.path("none.so");
  const ToolResult doctor = sandbox.run({"doctor", "--nvrtc", missing, "--json"});
  CHECK(doctor.status == 2);
  CHECK(contains(doctor.json()["error"]["message"].get<std::string>(),
                 "--nvrtc: there is no file '" + missing + "'"));
  CHECK(sandbox.run({"templates", "--nvrtc", missing}).status == 2);
  CHECK(sandbox.run({"registry", "list", "--nvrtc", sandbox.path(".")}).status == 2);
}

TEST_CASE("help of every verb is data, with examples and the options that work everywhere") {
  for (const auto& verb : kVerbs) {
    const ToolResult result = run_tool(with(verb, {"--help"}));
    CAPTURE(result.out);
    CHECK(result.status == 0);
    CHECK(result.err.empty());
    // The verb's own, not those of the verb above it.
    const std::string examples = result.out.substr(std::min(result.out.find("\nExample"), result.out.size()));
    std::string line = "\n  cubinet";
    for (const std::string& word : verb)
      line += " " + word;
    CAPTURE(line);
    CHECK(contains(examples, line));
    for (const char* option :
         {"--home", "--site-home", "--json", "--jobs", "--verbose", "--version", "--help"}) {
      CAPTURE(option);
      CHECK(contains(result.out, option));
    }
  }
}

TEST_CASE("help stands before the verb too") {
  CHECK(run_tool({"--help", "compile"}).status == 0);
  CHECK(run_tool({"bundle", "--help", "list"}).status == 0);
}

TEST_CASE("the verb help prints the help of any verb, and of the tool without one") {
  CHECK(run_tool({"help"}).out == run_tool({"--help"}).out);
  CHECK(contains(run_tool({"help"}).out, "\n  tune "));
  for (const auto& verb : kVerbs)
    CHECK(run_tool(with({"help"}, verb)).out == run_tool(with(verb, {"--help"})).out);
  CHECK(run_tool({"--json", "help", "bundle", "create"}).json()["help"] ==
        run_tool({"bundle", "create", "--help"}).out);
}

TEST_CASE("help of a verb that does not exist is wrong usage and names the nearest") {
  const ToolResult result = run_tool({"help", "bundle", "crate"});
  CHECK(result.status == 2);
  CHECK(contains(result.err, "'crate' is no verb of cubinet bundle"));
  CHECK(contains(result.err, "did you mean create?"));
  CHECK(contains(run_tool({"help", "complie"}).err, "did you mean compile?"));
  CHECK(
      contains(run_tool({"help", "doctor", "now"}).err, "'now' names nothing: cubinet doctor has no verbs"));
}

TEST_CASE("help is one document with json, as the version is") {
  CHECK(run_tool({"compile", "--json", "--help"}).json()["help"] == run_tool({"compile", "--help"}).out);
}

namespace {

// "--name" and "-n" of every option that a verb's help lists. What follows the options are
// examples.
std::set<std::string> options_of(const std::string& help) {
  std::set<std::string> options;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line) && !line.starts_with("Example");) {
    static const std::regex kListed("^  (-[^ ]+)");
    std::smatch listed;
    if (!std::regex_search(line, listed, kListed)) continue;
    std::istringstream names(listed[1].str());
    for (std::string name; std::getline(names, name, ',');)
      options.insert(name);
  }
  return options;
}

}  // namespace

TEST_CASE("the reference names every option of every verb and no other") {
  std::ifstream file(CUBINET_REFERENCE);
  std::set<std::string> documented;
  static const std::regex kOption("(^|[^-\\w])(--?[a-zA-Z][-a-zA-Z0-9]*)");
  for (std::string line; std::getline(file, line);) {
    for (std::sregex_iterator found(line.begin(), line.end(), kOption), end; found != end; ++found)
      documented.insert((*found)[2].str());
  }
  std::set<std::string> known;
  for (const auto& verb : kVerbs)
    known.merge(options_of(run_tool(with(verb, {"--help"})).out));
  for (const std::string& option : known) {
    CAPTURE(option);
    CHECK(documented.contains(option));
  }
  for (const std::string& option : documented) {
    CAPTURE(option);
    CHECK((known.contains(option) || option == "-vv"));
  }
}

TEST_CASE("a number after the version option is wrong usage, and the remedy names the option of a bundle") {
  const ToolResult refused = run_tool({"channel", "pin", "/srv#stable", "--version", "3"});
  CHECK(refused.status == 2);
  CHECK(refused.err.find("--bundle-version") != std::string::npos);
}

TEST_CASE("the version is printed before and after every verb") {
  for (const auto& verb : kVerbs) {
    CHECK(run_tool(with(verb, {"--version"})).out == "cubinet 0.1.0\n");
  }
  CHECK(run_tool({"--version"}).out == "cubinet 0.1.0\n");
  CHECK(run_tool({"--version", "--json"}).json()["version"] == "0.1.0");
}

TEST_CASE("options that work everywhere work before, between and after the verbs") {
  const Sandbox sandbox;
  const std::string home = sandbox.home().string();
  REQUIRE(sandbox.run({"registry", "repair"}).status == 0);
  const std::vector<std::vector<std::string>> lines = {
      {"--home", home, "--json", "registry", "stats"},
      {"registry", "--home", home, "--json", "stats"},
      {"registry", "stats", "--home", home, "--json"},
      {"--json", "registry", "--home=" + home, "stats", "-v", "--jobs", "2"},
  };
  for (const auto& line : lines) {
    const ToolResult result = run_tool(line);
    CAPTURE(result.err);
    CHECK(result.status == 0);
    CHECK(result.json()["home"] == home);
  }
}

TEST_CASE("nothing, or half a verb, is wrong usage that lists the verbs") {
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{}, {"bundle"}, {"registry"}, {"run"}}) {
    const ToolResult result = run_tool(line);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    CHECK(contains(result.err, "verbs: "));
  }
}

TEST_CASE("an unknown verb is wrong usage and names the nearest") {
  const ToolResult result = run_tool({"complie"});
  CHECK(result.status == 2);
  CHECK(contains(result.err, "'complie' is no verb of cubinet"));
  CHECK(contains(result.err, "did you mean compile?"));
  CHECK(contains(run_tool({"bundle", "crate"}).err, "did you mean create?"));
  CHECK(run_tool({"frobnicate"}).status == 2);
}

TEST_CASE("a line that cannot be parsed is an error document with json") {
  for (const std::vector<std::string>& line : {std::vector<std::string>{"--json", "frobnicate"},
                                               {"compile", "--json"},
                                               {"doctor", "--frobnicate", "--json"},
                                               {"--json"},
                                               {"doctor", "--jobs", "many", "--json"},
                                               {"--json=true", "frobnicate"}}) {
    const ToolResult result = run_tool(line);
    CHECK(result.status == 2);
    CHECK(result.err.empty());
    const auto error = result.json()["error"];
    CHECK(error["code"] == "invalid_argument");
    CHECK_FALSE(error["message"].get<std::string>().empty());
    CHECK_FALSE(error["remedy"].get<std::string>().empty());
  }
}

TEST_CASE("a flag whose value is neither yes nor no is wrong usage") {
  for (const std::string flag : {"--json=garbage", "--json=99999999999999999999", "--verbose=loud"}) {
    const ToolResult result = run_tool({"doctor", flag});
    CAPTURE(flag);
    CHECK(result.status == 2);
    CHECK(contains(result.out + result.err, "neither true nor false"));
  }
  CHECK(run_tool({"templates", "--json=false", "--verbose=true", "-vv"}).status == 0);
  CHECK(run_tool({"templates", "--json=yes"}).json().is_object());
}

TEST_CASE("json that is switched off is not taken for the format of an error") {
  const ToolResult result = run_tool({"--json=false", "frobnicate"});
  CHECK(result.status == 2);
  CHECK(result.out.empty());
}

TEST_CASE("numbers that are none, out of range, signed or followed by something are refused by name") {
  for (const char* number : {"0", "-1", "1x", "1.5", "0x10", " 2", "", "99999999999999999999", "1025"}) {
    const ToolResult result = run_tool({"doctor", "--jobs", number});
    CAPTURE(number);
    CHECK(result.status == 2);
    CHECK(contains(result.err, "--jobs"));
  }
}

TEST_CASE("a home that is given twice or empty is refused") {
  CHECK(run_tool({"--home", "/a", "doctor", "--home", "/b"}).status == 2);
  CHECK(run_tool({"doctor", "--home", ""}).status == 2);
}

TEST_CASE("an argument too many is refused") {
  CHECK(run_tool({"doctor", "now"}).status == 2);
  CHECK(contains(run_tool({"doctor", "--c", "b", "a"}).err, "not expected: --c b a"));
  CHECK(run_tool({"registry", "stats", "now"}).status == 2);
}

TEST_CASE("an unknown option is named before a missing one") {
  for (const auto& [line, option] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"compile", "rms_norm", "--frobnicate"}, "--frobnicate"},
           {{"--frobnicate", "compile"}, "--frobnicate"},
           {{"select", "attention", "--device", "9.0", "--frobnicate=4"}, "--frobnicate=4"},
           {{"compile", "--frobnicate", "rms_norm", "--target"}, "--frobnicate"}}) {
    const ToolResult result = run_tool(line);
    CAPTURE(result.err);
    CHECK(result.status == 2);
    CHECK(contains(result.err, "not expected: " + option + "\n"));
  }
  CHECK(contains(run_tool({"compile", "rms_norm"}).err, "--target is required"));
}

TEST_CASE("an option that is misspelled is named with the nearest one") {
  CHECK(contains(run_tool({"compile", "rms_norm", "--tarket", "sm_90a"}).err, "did you mean --target?"));
  CHECK(contains(run_tool({"bundle", "create", "--outptu", "x"}).err, "did you mean --output?"));
  CHECK(contains(run_tool({"registry", "--hme", "x", "stats"}).err, "did you mean --home?"));
}

TEST_CASE("a flag of nvcc is answered with how a compilation takes it") {
  const auto remedy = [](const std::vector<std::string>& flags) {
    const ToolResult result = run_tool(with({"compile", "--source", "a.cu"}, flags));
    CHECK(result.status == 2);
    CHECK(contains(result.err, "not expected: " + flags.front()));
    return result.err.substr(result.err.find('\n'));
  };
  CHECK(contains(remedy({"-O3"}), "--flag=-Xptxas=-O3\n"));  // NVRTC itself has no -O3
  CHECK(contains(remedy({"--use_fast_math"}), "--flag=--use_fast_math\n"));
  CHECK(contains(remedy({"-std=c++20"}), "--flag=-std=c++20\n"));
  CHECK(contains(remedy({"--maxrregcount=32"}), "--flag=--maxrregcount=32\n"));
  CHECK(contains(remedy({"-lineinfo"}), "--flag=-lineinfo\n"));
  CHECK(contains(remedy({"-Xptxas", "-O2"}), "--flag=-Xptxas=-O2\n"));
  CHECK(contains(remedy({"-std"}), "--flag=-std=VALUE\n"));
  CHECK(contains(remedy({"-arch=sm_90"}), "--target sm_90a"));
  CHECK(contains(remedy({"--ptx"}), "--emit ptx"));
  CHECK(contains(remedy({"-lcudadevrt"}), "--library cudadevrt"));
  CHECK(contains(remedy({"-t", "4"}), "--jobs N"));
  CHECK(contains(remedy({"-include", "a.h"}), "--prelude FILE"));
  CHECK(contains(remedy({"-Xptxas", "-v"}), "`cubinet inspect` prints"));
  CHECK(contains(remedy({"-Xcompiler", "-fPIC"}), "there is no equivalent"));
  CHECK(contains(remedy({"-time"}), "it writes files"));
  CHECK_FALSE(contains(run_tool({"doctor", "-O3"}).err, "--flag"));
}

TEST_CASE("an option of another verb is answered with the verbs that have it") {
  const auto remedy = [](const std::vector<std::string>& line) {
    const ToolResult result = run_tool(line);
    CHECK(result.status == 2);
    return result.err.substr(result.err.find('\n'));
  };
  CHECK(contains(remedy({"explain", "k", "--device", "9.0", "--source", "a.cu"}),
                 "--source is an option of `cubinet compile`;"));
  CHECK(contains(remedy({"explain", "k", "--device", "9.0", "--target", "sm_90"}), "`cubinet key`"));
  CHECK(contains(remedy({"bundle", "list", "b", "--channel", "stable"}), "`cubinet bundle create`"));
  CHECK(contains(remedy({"compile", "rms_norm", "--target", "sm_90", "-ptx"}), "--emit ptx"));
}

TEST_CASE("an NVRTC that is no library is an error of the environment, even if nothing is compiled") {
  const Sandbox sandbox;
  sandbox.write("plain.cu", "__global__ void k() {}\n");
  sandbox.write("empty.so", "");
  const ToolResult refused = sandbox.run({"registry", "list", "--nvrtc", sandbox.path("plain.cu")});
  CHECK(refused.status == 3);
  CHECK(contains(refused.err, "is no shared library"));
  CHECK(sandbox.run({"registry", "list", "--nvrtc", sandbox.path("empty.so")}).status == 0);
}

TEST_CASE("a template that is called like a verb is not taken for one") {
  const ToolResult result = run_tool({"key", "doctor", "--target", "sm_90a"});
  CHECK(result.status == 2);
  CHECK(contains(result.err, "there is no template 'doctor'"));
}

TEST_CASE("output that cannot be written is an error") {
  ToolSetting full;
  full.stdout_file = "/dev/full";
  // Less than a buffer of stdout, and more.
  for (const std::vector<std::string>& line : {std::vector<std::string>{"--version"},
                                               {"templates"},
                                               {"templates", "--json"},
                                               {"bench", "attention", "--help"}}) {
    const ToolResult result = run_tool(line, full);
    CHECK(result.status == 3);
    CHECK(contains(result.err, "cannot write to the standard output: No space left on device"));
  }
}

TEST_CASE("output beyond the limit of a file is an error, not the end of the process") {
  const Sandbox sandbox;
  ToolSetting shell;
  shell.executable = "/bin/sh";
  const std::string script = R"(ulimit -f 0; exec "$0" templates > "$1")";
  const ToolResult result = run_tool({"-c", script, tool_path(), sandbox.path("out")}, shell);
  CHECK(result.status == 3);
  CHECK(contains(result.err, "cannot write to the standard output: File too large"));
}
