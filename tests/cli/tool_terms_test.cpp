// SPDX-License-Identifier: Apache-2.0
#include "tool_terms.hpp"

#include <doctest/doctest.h>

using namespace cubinet::cli;

TEST_CASE("names of the library become options and commands of the tool") {
  CHECK(in_tool_terms("`AttentionProblem::batch` is 0") == "--batch is 0");
  CHECK(in_tool_terms("a multiple of `AttentionProblem::heads_kv`, 5") == "a multiple of --heads-kv, 5");
  CHECK(in_tool_terms("`Home::repair()` sets it aside") == "`cubinet registry repair` sets it aside");
  CHECK(in_tool_terms("`HomeOptions::path` or `CompilerSearch::library`") ==
        "--home or CUBINET_HOME or --nvrtc");
}

TEST_CASE("text that is no name of the library stays as it is") {
  for (const char* text : {"", "`", "``", "AttentionProblem::batch is 0", "`AttentionProblem::batch",
                           "`cubinet tune`", "AttentionProblem::batch`", "`AttentionProblem::batches`"})
    CHECK(in_tool_terms(text) == text);
  CHECK(in_tool_terms("a ` and `HomeOptions::path`") == "a ` and --home or CUBINET_HOME");
}
