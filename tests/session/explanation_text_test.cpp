// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cubin.hpp"

#include <cubinet/session/explanation_text.hpp>

#include <doctest/doctest.h>

using namespace cubinet;

TEST_CASE("the text of an explanation marks the chosen build and lists targets without one") {
  KernelExplanation explanation;
  explanation.spec.name = "t";
  explanation.device = {9, 0};
  explanation.targets = {{{9, 0, TargetKind::specific}, ImageKind::cubin},
                         {{8, 0, TargetKind::baseline}, ImageKind::cubin}};
  ExplainedBuild build;
  build.record = test::make_cubin(explanation.spec).record;
  build.usable = true;
  build.verdict = "it is current";
  explanation.builds = {build};
  const std::string text = to_text(explanation, "");
  CHECK(text.find(" on 9.0\nsm_90a is used: it is current\nbuilds, best first:\n* ") != std::string::npos);
  CHECK(text.find("sm_80         no build") != std::string::npos);
  CHECK(text.find("to have it") == std::string::npos);
  CHECK(to_text(explanation, "pull it").ends_with("\nto have it: pull it"));
}

TEST_CASE("what cannot be read follows the builds, with the reason and the remedy") {
  KernelExplanation explanation;
  explanation.spec.name = "t";
  explanation.device = {9, 0};
  explanation.unreadable = {
      {1, Error{ErrorCode::corruption, "'/h/r\x1b' is damaged: it ends early", "repair"}}};
  const std::string text = to_text(explanation, "compile it");
  CHECK_MESSAGE(text.ends_with("builds, best first:\n  unreadable    '/h/r\\x1b' is damaged: it ends early "
                               "(repair)\nto have it: compile it"),
                text);
}

TEST_CASE("control characters of names and verdicts are not printed") {
  KernelExplanation explanation;
  explanation.spec.name = "a\x1b[2J";
  explanation.device = {9, 0};
  ExplainedBuild near;
  near.record = test::make_cubin(explanation.spec).record;
  near.differences = {"hidden_size 1 instead of 2"};
  near.verdict = "\x07";
  explanation.nearest = {near};
  const std::string text = to_text(explanation, "\r");
  CHECK(text.find_first_of("\x1b\x07\r") == std::string::npos);
  CHECK(text.find("hidden_size 1 instead of 2; ") != std::string::npos);
}
