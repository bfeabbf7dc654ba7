// SPDX-License-Identifier: Apache-2.0
#include "compiler_search.hpp"
#include "header_macros.hpp"
#include "include_scanner.hpp"
#include "jit/test_templates.hpp"
#include "nvrtc_program.hpp"
#include "support/compiler_search.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using namespace cubinet;

namespace {

constexpr int kPrograms = 600;

// Macros at random, of every kind that the language has, and one include of what they make.
class Program {
 public:
  explicit Program(std::mt19937& random) : random_(random) {
    text_ =
        "#define S(x) #x\n#define XS(x) S(x)\n#define VS(...) S(__VA_ARGS__)\n#define XV(...) "
        "VS(__VA_ARGS__)\n"
        "#define C(x,y) x##y\n#define XC(x,y) C(x,y)\n#define E\n";
    for (std::size_t left = 3 + random_() % 6; left > 0; --left)
      definition();
    text_ += "#include ";
    switch (random_() % 5) {
      case 0:
        text_ += "XS(" + soup({}, 5) + ")";
        break;
      case 1:
        text_ += "XV(" + soup({}, 7) + ")";
        break;
      case 2:
        text_ += "E <" + soup({}, 5) + ">";
        break;
      case 3:
        text_ += "XS(" + call({}, 2) + "." + soup({}, 3) + ")";
        break;
      default:
        text_ += soup({}, 6);
    }
    text_ += "\n";
  }

  const std::string& text() const { return text_; }

 private:
  using Words = std::vector<std::string>;

  const std::string& any(const Words& words) { return words[random_() % words.size()]; }

  void definition() {
    static const Words kObjects = {"O", "P", "N", "h"};
    static const Words kFunctions = {"f", "g", "k", "S", "C", "XC"};
    static const std::vector<Words> kParameters = {{}, {"x"}, {"x", "y"}, {"x", "..."}, {"..."}};
    const bool hidden = random_() % 8 == 0;
    if (hidden) text_ += random_() % 2 == 0 ? "#if 0\n" : "#ifdef N\n";
    if (random_() % 3 == 0) {
      const std::string name = any(kObjects);
      text_ += "#undef " + name + "\n#define " + name + " " + soup({}, 4) + "\n";
    } else {
      const std::string name = kFunctions[random_() % (random_() % 6 == 0 ? 6 : 3)];
      Words parameters = kParameters[random_() % kParameters.size()];
      text_ += "#undef " + name + "\n#define " + name + "(";
      for (std::size_t i = 0; i < parameters.size(); ++i)
        text_ += (i > 0 ? "," : "") + parameters[i];
      if (!parameters.empty() && parameters.back() == "...") parameters.back() = "__VA_ARGS__";
      text_ += ") " + soup(parameters, 5) + "\n";
    }
    if (hidden) text_ += "#endif\n";
    if (random_() % 16 == 0) text_ += "#undef " + any(kObjects) + "\n";
  }

  std::string call(const Words& parameters, int depth) {
    static const Words kCalled = {"f", "g", "k", "S", "XS", "VS", "XV", "C", "XC", "f", "g", "k"};
    std::string text = any(kCalled) + "(";
    for (std::size_t i = 0, many = random_() % 8 == 0 ? 1 : 0; i <= many; ++i)
      text += (i > 0 ? "," : "") + (random_() % 6 == 0                ? ""
                                    : depth > 0 && random_() % 3 == 0 ? call(parameters, depth - 1)
                                                                      : soup(parameters, 2));
    return text + ")";
  }

  std::string soup(const Words& parameters, std::size_t most) {
    static const Words kTokens = {"O", "P",   "N", "h", "h_", "a", "1", "/",     ".", "-", "E", "f",
                                  "g", "(1)", ",", "(", ")",  "<", ">", "\"s\"", "$", "S", "x", "%:%:"};
    std::string text;
    for (std::size_t left = 1 + random_() % most; left > 0; --left) {
      const auto which = random_() % 8;
      if (!parameters.empty() && which < 3) {
        if (random_() % 4 == 0) text += random_() % 2 == 0 ? "#" : "%: ";
        text += any(parameters);
        if (random_() % 4 == 0)
          text += (random_() % 2 == 0 ? "##" : " ## ") + any({"h_", "1", "O", "N", "."});
      } else if (which == 3 && most > 1) {
        text += call(parameters, 1);
      } else {
        text += kTokens[random_() % (random_() % 6 == 0 ? kTokens.size() : 12)];
      }
      if (random_() % 3 == 0) text += " ";
    }
    return text;
  }

  std::mt19937& random_;
  std::string text_;
};

// The header that NVRTC does not find; empty where it comes to none.
std::string asked_for(const NvrtcApi& api, const std::string& text, const std::string& standard) {
  constexpr std::string_view kSays = "cannot open source file \"";
  auto program = NvrtcProgram::create(api, text, "k.cu", {});
  REQUIRE(program);
  static_cast<void>(
      program->compile({"--std=" + standard, "--no-source-include", "--fdevice-syntax-only", "--minimal"}));
  const std::string log = program->log();
  std::size_t begin = log.find(kSays);
  if (begin == std::string::npos) return {};
  begin += kSays.size();
  const std::string name = log.substr(begin, log.find('\n', begin) - begin);
  return name.substr(0, name.rfind('"'));
}

}  // namespace

TEST_CASE(
    "whatever header NVRTC makes of macros is among those that follow from them, or they are not known") {
  const auto candidate = find_compilers(test::compiler_search()).front();
  const auto api = NvrtcApi::open(candidate.library, candidate.builtins);
  REQUIRE(api);
  std::mt19937 random(12);  // NOLINT(cert-msc51-cpp): the same programs every time
  int made = 0;
  int known = 0;
  for (int i = 0; i < kPrograms; ++i) {
    const std::string text = Program(random).text();
    const std::string standard = random() % 4 == 0 ? "c++20" : random() % 4 == 0 ? "c++03" : "c++17";
    const std::string name = asked_for(**api, text, standard);
    if (name.empty()) continue;
    ++made;
    const IncludeScan scan = scan_includes(text, SourceDialect::of(standard));
    HeaderMacros macros;
    for (const HeaderMacro& macro : scan.macros)
      macros.define(macro.name, macro.body);
    if (scan.computed.empty()) continue;  // as it stands in the text
    const MacroHeaders headers = macros.headers_of(scan.computed.front().operand);
    if (!headers.unknown.empty()) continue;
    ++known;
    const bool is_among =
        std::any_of(headers.names.begin(), headers.names.end(),
                    [&](const std::string& header) { return header.substr(1, header.size() - 2) == name; });
    CHECK_MESSAGE(is_among, (standard + ": '" + name + "'\n" + text));
  }
  MESSAGE(made << " of " << kPrograms << " name a header, " << known << " are known");
  CHECK(made > kPrograms / 20);
  CHECK(known > made / 4);
}
