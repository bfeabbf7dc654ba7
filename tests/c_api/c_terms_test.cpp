// SPDX-License-Identifier: Apache-2.0
#include "c_terms.hpp"

#include "c_fixture.hpp"

#include <vector>

using cubinet::c_api::in_c_terms;
using namespace cubinet::test;

TEST_CASE("names of the library become those of the header") {
  CHECK(in_c_terms("`AttentionProblem::tokens_per_page` is 7") == "`problem.page_size` is 7");
  CHECK(in_c_terms("`AttentionProblem::q_len` times `Append::rope_dim`") ==
        "`problem.q_len` times `problem.rope_dim`");
  CHECK(in_c_terms("name another folder with `HomeOptions::path`") == "name another folder with `home`");
  CHECK(in_c_terms("problems with `PrebuildOptions::request`") == "problems with `options.problems`");
  CHECK(in_c_terms("use fast numerics (`AttentionProblem::numerics`)") ==
        "use fast numerics (`CUBINET_ATTENTION_INVARIANT`)");
  CHECK(in_c_terms("set `AttentionProblem::kv_scales`") ==
        "set `CUBINET_ATTENTION_HEAD_SCALES or CUBINET_ATTENTION_SEQUENCE_SCALES`");
  CHECK(in_c_terms("after `Runtime::release()`") == "after `cubinet_kernel_forget`");
}

TEST_CASE("other qualified names stay") {
  for (const char* text : {"my::scale<float> is no kernel", "Foo::bar", "::", "a::", "::b", ""})
    CHECK(in_c_terms(text) == text);
}

TEST_CASE("no wrong member of a problem is answered with the name of another interface") {
  const TempDir folder;
  const CConfig config = make_config();
  const CRuntime runtime = make_runtime(config);
  const auto message_of = [&](auto change) {
    cubinet_attention_problem problem = CUBINET_ATTENTION_PROBLEM_INIT;
    change(problem);
    cubinet_text* json = nullptr;
    Failure failure;
    CHECK(cubinet_attention_plan(runtime.get(), &problem, nullptr, cubinet_str("9.0"), 0, &json,
                                 failure.out()) != CUBINET_OK);
    return failure.message() + failure.remedy();
  };
  const std::vector<std::string> messages = {
      message_of([](auto& problem) { problem.batch = 0; }),
      message_of([](auto& problem) { problem.q_len = 0; }),
      message_of([](auto& problem) { problem.kv_len = 0; }),
      message_of([](auto& problem) { problem.heads_kv = 3; }),
      message_of([](auto& problem) { problem.head_dim_qk = 7; }),
      message_of([](auto& problem) { problem.page_size = 7; }),
      message_of([](auto& problem) { problem.soft_cap = -1; }),
      message_of([](auto& problem) { problem.softmax_scale = -1; }),
      message_of([](auto& problem) { problem.output_scale = 0; }),
      message_of([](auto& problem) {
        problem.type_o = CUBINET_TYPE_FP32, problem.type_q = CUBINET_TYPE_E4M3;
        problem.head_dim_v = 1;
      }),
      message_of([](auto& problem) {
        problem.window = 3;
        problem.q_len = 9;
        problem.kv_len = 4;
      }),
  };
  for (const std::string& message : messages) {
    CHECK_FALSE(message.empty());
    CHECK_MESSAGE(message.find("::") == std::string::npos, message);
  }
}
