// SPDX-License-Identifier: Apache-2.0
#include "usage_error.hpp"

#include "arguments.hpp"

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::cli;

namespace {

// An application with the verbs `fruit` and `fruit pick`, which needs --basket and takes --flag.
struct FruitTool {
  CLI::App root{"", "tool"};
  CLI::App* fruit = root.add_subcommand("fruit", "");
  CLI::App* pick = fruit->add_subcommand("pick", "");
  std::string basket;
  std::vector<std::string> flags;

  FruitTool() {
    root.require_subcommand(0, 1);
    fruit->require_subcommand(0, 1);
    pick->add_option("--basket", basket)->required();
    add_list(*pick, "--flag", flags, "FLAG", "");
  }
  Error error_of(const std::string& line) {
    try {
      root.parse(line);
    } catch (const CLI::ParseError& error) {
      return usage_error(root, error);
    }
    return {};
  }
};

}  // namespace

TEST_CASE("a verb is found by its words and named by all of them") {
  FruitTool tool;
  CHECK(*find_verb(tool.root, {}) == &tool.root);
  CHECK(*find_verb(tool.root, {"fruit", "pick"}) == tool.pick);
  CHECK(full_name(*tool.pick) == "tool fruit pick");
  CHECK(find_verb(tool.root, {"fruit", "pck"}).error().remedy == "did you mean pick?");
  CHECK(find_verb(tool.root, {"fruit", "pick", "apple"}).error().message ==
        "'apple' names nothing: tool fruit pick has no verbs");
}

TEST_CASE("the error of a line names the unknown option first, then what is missing") {
  CHECK(FruitTool().error_of("fruit pick --apple").message ==
        "The following argument was not expected: --apple");
  CHECK(FruitTool().error_of("fruit pick").message == "--basket is required");
  CHECK(FruitTool().error_of("fruit pick").remedy == "`tool fruit pick --help` says more");
}

TEST_CASE("the remedy of an unknown option is the nearest one or the flag for the compiler") {
  CHECK(FruitTool().error_of("fruit pick --baskte=1").remedy == "did you mean --basket?");
  CHECK(FruitTool().error_of("fruit pick -O2").remedy ==
        "a flag for the compiler is given with --flag=-Xptxas=-O2");
  CHECK(FruitTool().error_of("fruit -O2").remedy == "verbs: pick; `tool fruit --help` says more");
}

TEST_CASE("a word that is no verb is named with the verb that it almost is") {
  FruitTool tool;
  const Error error = tool.error_of("fruit pck");
  CHECK(error.message == "'pck' is no verb of tool fruit");
  CHECK(error.remedy == "did you mean pick?");
  CHECK(FruitTool().error_of("fruit pck --basket=1").remedy == "did you mean pick?");
  CHECK(missing_verb_error(tool.root).message == "no verb is given after tool fruit");
}
