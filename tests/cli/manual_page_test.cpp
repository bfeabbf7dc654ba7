// SPDX-License-Identifier: Apache-2.0
#include "manual_page.hpp"

#include "support/text.hpp"

#include <doctest/doctest.h>

using namespace cubinet;
using test::contains;

TEST_CASE("the manual page has every verb, option and example, and roff prints their text as it is") {
  cli::VerbTable table;
  table.common = {{.names = {"-v", "--verbose"}, .description = "Say more"}};
  cli::VerbEntry tool;
  tool.description = "tool: does things";
  tool.verbs = {"verb"};
  tool.footer = "Exit status: 0";
  cli::VerbEntry verb;
  verb.words = "verb";
  verb.description = "Do it";
  verb.options = {{.names = {"--kind"},
                   .value = "KIND",
                   .choices = {"a", "b"},
                   .description = ".dot at the beginning, a\\b and 'quotes'",
                   .required = true}};
  verb.arguments = {{.value = "INPUT", .description = "The input\u2026", .repeated = true}};
  verb.footer = "Examples:\n  tool verb\n.hidden\n";
  table.verbs = {tool, verb};
  const std::string page = cli::manual_page(table, "1.2");
  CHECK(contains(page, ".TH CUBINET 1 \"\" \"cubinet 1.2\""));
  CHECK(contains(page, "cubinet \\- does things\n"));
  CHECK(contains(page, "\\fB\\-v\\fR, \\fB\\-\\-verbose\\fR\nSay more\n"));
  CHECK(contains(page, ".SS cubinet verb\nDo it.\n"));
  CHECK(contains(page, "[\\fIINPUT\\fR...]"));
  CHECK(contains(page, "\\fB\\-\\-kind\\fR \\fIKIND\\fR\n\\&.dot at the beginning, a\\eb and "));
  CHECK(contains(page, "(a, b) (required)"));
  CHECK(contains(page, "The input...\n"));
  CHECK(contains(page, "Examples:\n  tool verb\n\\&.hidden\n.fi\n"));
  CHECK(contains(page, "Exit status: 0\n"));
}
