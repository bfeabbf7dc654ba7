// SPDX-License-Identifier: Apache-2.0
#include "verb_table.hpp"

#include <doctest/doctest.h>

using namespace cubinet::cli;

namespace {

VerbTable table_of_example() {
  static std::string text;
  static std::vector<std::string> list;
  static bool flag = false;
  CLI::App root("tool: does things", "tool");
  root.set_help_flag();
  root.add_flag("-v,--verbose", flag, "Say more")->group(kCommonOptions);
  CLI::App* group = root.add_subcommand("group", "Has verbs");
  CLI::App* verb = group->add_subcommand("verb", "Does it");
  for (CLI::App* app : {group, verb}) {
    app->set_help_flag();
    app->add_flag("-v,--verbose", flag, "Say more")->group(kCommonOptions);
  }
  verb->add_option("-o,--output", text, "The file")->type_name("FILE")->required();
  verb->add_option("--kind", text, "The kind")->type_name("KIND")->check(CLI::IsMember({"a", "b"}));
  verb->add_option("--list", list, "Numbers")->type_name("N")->allow_extra_args(false);
  verb->add_option("INPUT", list, "Inputs")->type_name("");
  verb->footer("Example:\n  tool group verb");
  return verb_table(root);
}

}  // namespace

TEST_CASE("a table has every verb with its words, and the options of every verb once") {
  const VerbTable table = table_of_example();
  REQUIRE(table.verbs.size() == 3);
  CHECK(table.verbs[0].words.empty());
  CHECK(table.verbs[0].verbs == std::vector<std::string>{"group"});
  CHECK(table.verbs[1].words == "group");
  CHECK(table.verbs[2].words == "group verb");
  CHECK(table.verbs[2].description == "Does it");
  CHECK(table.verbs[2].footer == "Example:\n  tool group verb");
  REQUIRE(table.common.size() == 1);
  CHECK(table.common[0].names == std::vector<std::string>{"-v", "--verbose"});
  CHECK(table.common[0].value.empty());
  for (const VerbEntry& verb : table.verbs)
    for (const OptionEntry& option : verb.options)
      CHECK(option.names != table.common[0].names);
}

TEST_CASE("an option has its value, the words that are accepted, and whether it is required or repeated") {
  const VerbTable table = table_of_example();
  const VerbEntry& verb = table.verbs[2];
  REQUIRE(verb.options.size() == 3);
  const OptionEntry& output = verb.options[0];
  CHECK(output.names == std::vector<std::string>{"-o", "--output"});
  CHECK(output.value == "FILE");
  CHECK(output.required);
  CHECK_FALSE(output.repeated);
  CHECK(output.names_file());
  const OptionEntry& kind = verb.options[1];
  CHECK(kind.value == "KIND");
  CHECK(kind.choices == std::vector<std::string>{"a", "b"});
  CHECK_FALSE(kind.names_file());
  CHECK(verb.options[2].repeated);
  CHECK_FALSE(verb.options[2].names_file());
  REQUIRE(verb.arguments.size() == 1);
  CHECK(verb.arguments[0].value == "INPUT");
  CHECK(verb.arguments[0].names_file());
  CHECK(table.names_with_value() == std::vector<std::string>{"--kind", "--list", "--output", "-o"});
}
