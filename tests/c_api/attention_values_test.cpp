// SPDX-License-Identifier: Apache-2.0
#include "attention_values.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace cubinet;
using namespace cubinet::c_api;

namespace {

cubinet_attention_problem llama() {
  cubinet_attention_problem problem = CUBINET_ATTENTION_PROBLEM_INIT;
  problem.batch = 4;
  problem.kv_len = 2048;
  problem.heads_q = 32;
  problem.heads_kv = 8;
  return problem;
}

}  // namespace

TEST_CASE("the defaults of the structure are those of a problem") {
  const cubinet_attention_problem given = llama();
  const auto problem = problem_of(&given);
  REQUIRE(problem);
  AttentionProblem expected;
  expected.batch = 4;
  expected.kv_len = 2048;
  expected.heads_q = 32;
  expected.heads_kv = 8;
  CHECK(*problem == expected);
}

TEST_CASE("each member and each flag reaches the problem") {
  cubinet_attention_problem given = llama();
  const std::vector<std::int32_t> lengths = {1, 2, 3, 2048};
  given.q_len = 4;
  given.type_q = CUBINET_TYPE_FP16;
  given.type_kv = CUBINET_TYPE_E4M3;
  given.type_o = CUBINET_TYPE_FP16;
  given.page_size = 16;
  given.kv_order = CUBINET_KV_HND;
  given.window = 100;
  given.softmax_scale = 0.25;
  given.soft_cap = 30;
  given.output_scale = 2;
  given.kv_lengths = lengths.data();
  given.flags = CUBINET_ATTENTION_RAGGED_Q | CUBINET_ATTENTION_LSE | CUBINET_ATTENTION_SINKS |
                CUBINET_ATTENTION_APPEND | CUBINET_ATTENTION_ROPE_INTERLEAVED | CUBINET_ATTENTION_POSITIONS;
  given.append_type = CUBINET_TYPE_FP16;
  given.rope_dim = 64;
  given.k_scale = 0.5;
  given.v_scale = 0.25;
  const auto problem = problem_of(&given);
  REQUIRE_MESSAGE(problem, problem.error().to_line());
  CHECK(problem->q_len == 4);
  CHECK(problem->data_type_q == DataType::fp16);
  CHECK(problem->data_type_k == DataType::e4m3);
  CHECK(problem->data_type_v == DataType::e4m3);
  CHECK(problem->tokens_per_page == 16);
  CHECK(problem->kv_order == KvOrder::hnd);
  CHECK(problem->window == 100);
  CHECK(problem->softmax_scale == 0.25);
  CHECK(problem->soft_cap == 30.0);
  CHECK(problem->output_scale == 2.0);
  CHECK(problem->kv_lengths == lengths);
  CHECK(problem->ragged_q);
  CHECK(problem->lse);
  CHECK(problem->sinks);
  REQUIRE(problem->append);
  CHECK(problem->append->data_type == DataType::fp16);
  CHECK(problem->append->rope_dim == 64);
  CHECK(problem->append->interleaved);
  CHECK(problem->append->positions);
  CHECK_FALSE(problem->append->lengths_exclude_new);
  CHECK(problem->append->attends);
  CHECK(problem->append->k_scale == 0.5);
  CHECK(problem->append->v_scale == 0.25);
}

TEST_CASE("values that the header does not define are refused by their member") {
  const auto refused = [](auto change) {
    cubinet_attention_problem given = llama();
    change(given);
    const auto problem = problem_of(&given);
    REQUIRE_FALSE(problem);
    CHECK(problem.error().code == ErrorCode::invalid_argument);
    return problem.error().message;
  };
  CHECK(refused([](auto& given) { given.type_q = 4; }) == "`problem.type_q` is 4");
  CHECK(refused([](auto& given) { given.mask = 2; }) == "`problem.mask` is 2");
  CHECK(refused([](auto& given) { given.kv_order = 9; }) == "`problem.kv_order` is 9");
  CHECK(refused([](auto& given) { given.kv_layout = 3; }) == "`problem.kv_layout` is 3");
  CHECK(refused([](auto& given) { given.reserved = 1; }).find("`problem.reserved`") != std::string::npos);
  CHECK(refused([](auto& given) { given.flags = 1U << 30; }).find("problem.flags") != std::string::npos);
  CHECK_FALSE(refused([](auto& given) { given.batch = 0; }).empty());
  CHECK_FALSE(refused([](auto& given) { given.heads_kv = 5; }).empty());
  CHECK_FALSE(refused([](auto& given) { given.struct_size = 0; }).empty());
  CHECK_FALSE(problem_of(nullptr));
  CHECK(refused([](auto& given) { given.rope_dim = 64; }).find("`problem.rope_dim`") != std::string::npos);
  CHECK(refused([](auto& given) { given.k_scale = 2; }).find("`problem.k_scale`") != std::string::npos);
  for (const std::uint32_t flag : {CUBINET_ATTENTION_POSITIONS, CUBINET_ATTENTION_LENGTHS_EXCLUDE_NEW}) {
    CHECK(refused([flag](auto& given) { given.flags = flag; }).find("`problem.flags`") != std::string::npos);
    cubinet_attention_problem appends = llama();
    appends.flags = flag | CUBINET_ATTENTION_APPEND;
    CHECK(problem_of(&appends)->append->lengths_exclude_new ==
          (flag == CUBINET_ATTENTION_LENGTHS_EXCLUDE_NEW));
  }
  CHECK(refused([](auto& given) {
          given.flags = CUBINET_ATTENTION_APPEND | CUBINET_ATTENTION_APPEND_ONLY;
        }).find("has both") != std::string::npos);
}

TEST_CASE("prompts and their KV without pages are described by a flag and a layout") {
  cubinet_attention_problem given = llama();
  CHECK_FALSE(problem_of(&given)->prefill);
  given.flags = CUBINET_ATTENTION_PREFILL;
  for (const auto& [number, layout] : {std::pair{CUBINET_KV_PAGED, QkvLayout::paged_kv},
                                       {CUBINET_KV_CONTIGUOUS, QkvLayout::contiguous_kv},
                                       {CUBINET_KV_SEQUENCES, QkvLayout::separate_qkv}}) {
    given.kv_layout = number;
    const auto problem = problem_of(&given);
    REQUIRE(problem);
    CHECK(problem->prefill);
    CHECK(problem->layout == layout);
  }
}

TEST_CASE("scales of KV heads are asked for by one of two flags") {
  cubinet_attention_problem given = llama();
  given.type_kv = CUBINET_TYPE_E4M3;
  CHECK(problem_of(&given)->kv_scales == KvScales::none);
  given.flags = CUBINET_ATTENTION_HEAD_SCALES;
  CHECK(problem_of(&given)->kv_scales == KvScales::head);
  given.flags = CUBINET_ATTENTION_SEQUENCE_SCALES;
  CHECK(problem_of(&given)->kv_scales == KvScales::sequence);
  cubinet_attention_tensors tensors = CUBINET_ATTENTION_TENSORS_INIT;
  tensors.k_head_scales.address = 0x100;
  tensors.v_head_scales.address = 0x200;
  tensors.v_head_scales.strides[0] = 9;
  const auto converted = tensors_of(&tensors, *problem_of(&given));
  REQUIRE(converted);
  CHECK(converted->k_head_scales.address == 0x100);
  CHECK(converted->v_head_scales.address == 0x200);
  CHECK(converted->v_head_scales.strides[0] == 9);
  tensors.k_head_scales.type = CUBINET_TYPE_BF16;
  CHECK_FALSE(tensors_of(&tensors, *problem_of(&given)));
  given.flags |= CUBINET_ATTENTION_HEAD_SCALES;
  CHECK(problem_of(&given).error().message.find("has both") != std::string::npos);
}

TEST_CASE("invariant numerics are asked for by a flag") {
  cubinet_attention_problem given = llama();
  CHECK(problem_of(&given)->numerics == AttentionNumerics::fast);
  given.flags = CUBINET_ATTENTION_INVARIANT;
  CHECK(problem_of(&given)->numerics == AttentionNumerics::invariant);
}

TEST_CASE("plan options may be absent") {
  CHECK(plan_options_of(nullptr)->backend == kAutomaticBackend);
  CHECK_FALSE(plan_options_of(nullptr)->rules);
  cubinet_plan_options given = CUBINET_PLAN_OPTIONS_INIT;
  given.backend = cubinet_str("templates");
  given.rules = cubinet_str("0.6.17");
  given.splits = 4;
  given.split_tokens = 256;
  given.flags = CUBINET_PLAN_EXISTING_KERNELS | CUBINET_PLAN_STARTS_EARLY;
  const auto options = plan_options_of(&given);
  REQUIRE(options);
  CHECK(options->backend == "templates");
  CHECK(options->rules == "0.6.17");
  CHECK(options->splits == 4U);
  CHECK(options->split_tokens == 256U);
  CHECK_FALSE(options->may_compile);
  CHECK(options->may_load);
  CHECK(options->starts_early);
  given.flags = CUBINET_PLAN_LOADED_KERNELS;
  CHECK_FALSE(plan_options_of(&given)->may_load);
  given.flags = 8;
  CHECK_FALSE(plan_options_of(&given));
}

TEST_CASE("each tensor reaches its member") {
  cubinet_attention_tensors given = CUBINET_ATTENTION_TENSORS_INIT;
  // The tensors follow struct_size as an array would.
  auto* const first = &given.q;
  const std::size_t count = (sizeof given - offsetof(cubinet_attention_tensors, q)) / sizeof(cubinet_tensor);
  for (std::size_t i = 0; i < count; ++i)
    first[i] = {i + 1, 2 * i, {static_cast<std::int64_t>(i), 0, 0}, 0, 0};
  const auto tensors = shared_tensors_of(&given, SharedPrefixProblem());
  REQUIRE(tensors);
  const AttentionTensors& t = tensors->own;
  std::size_t expected = 0;
  for (const DeviceTensor* tensor : {&t.q,
                                     &t.k,
                                     &t.v,
                                     &t.o,
                                     &t.page_table,
                                     &t.kv_lengths,
                                     &t.lse,
                                     &t.sinks,
                                     &t.mask,
                                     &t.q_offsets,
                                     &t.softmax_scale,
                                     &t.output_scale,
                                     &t.new_q,
                                     &t.new_k,
                                     &t.new_v,
                                     &t.positions,
                                     &t.cos_sin,
                                     &t.q_scale,
                                     &t.k_scale,
                                     &t.v_scale,
                                     &t.scratch,
                                     &t.counters,
                                     &t.kv_offsets,
                                     &tensors->prefix_page_table,
                                     &tensors->prefix_lengths,
                                     &tensors->group_offsets,
                                     &t.k_head_scales,
                                     &t.v_head_scales}) {
    CHECK(tensor->address == ++expected);
    CHECK(tensor->strides[0] == static_cast<std::int64_t>(expected - 1));
  }
  CHECK(expected == count);
}

TEST_CASE("a type that a tensor states has to be the one of the run") {
  cubinet_attention_tensors given = CUBINET_ATTENTION_TENSORS_INIT;
  given.q.type = CUBINET_TYPE_BF16;
  given.page_table.type = CUBINET_TYPE_INT32;
  CHECK(tensors_of(&given, AttentionProblem()));
  given.k.type = CUBINET_TYPE_FP16;
  CHECK(tensors_of(&given, AttentionProblem()).error().message == "`k.type` is fp16, and the run needs bf16");
  given.k.type = 1234;
  CHECK(tensors_of(&given, AttentionProblem()).error().message ==
        "`k.type` is no type, and the run needs bf16");
  given.k.type = 0;
  given.k.reserved = 1;
  CHECK_FALSE(tensors_of(&given, AttentionProblem()));
  cubinet_merge_tensors parts = CUBINET_MERGE_TENSORS_INIT;
  parts.second_lse.type = CUBINET_TYPE_BF16;
  CHECK(merge_tensors_of(&parts, {}).error().message.find("`second_lse.type`") == 0);
}

TEST_CASE("a problem with groups has shared prefixes, and their members are refused without groups") {
  cubinet_attention_problem given = llama();
  const auto plain = any_problem_of(&given);
  REQUIRE(plain);
  CHECK(std::get<AttentionProblem>(*plain) == *problem_of(&given));
  const std::vector<std::int32_t> lengths = {700, 0};
  given.prefix_groups = 2;
  given.prefix_len = 700;
  given.group_tokens = 3;
  given.prefix_lengths = lengths.data();
  const auto problem = any_problem_of(&given);
  REQUIRE_MESSAGE(problem, problem.error().to_line());
  const SharedPrefixProblem& shared = std::get<SharedPrefixProblem>(*problem);
  CHECK(shared.own == *problem_of(&given));
  CHECK(shared.groups == 2);
  CHECK(shared.prefix_len == 700);
  CHECK(shared.query_tokens == 0);
  CHECK(shared.group_tokens == 3);
  CHECK(shared.prefix_lengths == lengths);
  given.prefix_len = 699;
  CHECK(any_problem_of(&given).error().message.find("700") != std::string::npos);
  given.prefix_groups = 0;
  CHECK(any_problem_of(&given).error().message ==
        "`problem.prefix_lengths` is set for shared prefixes, and no group has one");
  given.prefix_lengths = nullptr;
  CHECK(any_problem_of(&given).error().message.find("`problem.group_tokens`") == 0);
  given.group_tokens = 0;
  CHECK(any_problem_of(&given).error().message.find("`problem.prefix_len`") == 0);
  given.prefix_len = 0;
  given.query_tokens = 1;
  CHECK(any_problem_of(&given).error().message.find("`problem.query_tokens`") == 0);
}

TEST_CASE("tensors of shared prefixes have the type int32") {
  cubinet_attention_tensors given = CUBINET_ATTENTION_TENSORS_INIT;
  CHECK(shared_tensors_of(&given, {}));
  given.group_offsets.type = CUBINET_TYPE_UINT32;
  CHECK(shared_tensors_of(&given, {}).error().message.find("`group_offsets.type` is uint32") == 0);
}
