// SPDX-License-Identifier: Apache-2.0
#include "attention_arguments.hpp"

#include "tool_terms.hpp"

#include <CLI/CLI.hpp>
#include <doctest/doctest.h>

#include <functional>

using namespace cubinet;
using namespace cubinet::cli;

namespace {

AttentionArguments minimal() {
  AttentionArguments arguments;
  arguments.kv_len = 4096;
  arguments.heads_q = 32;
  return arguments;
}

}  // namespace

TEST_CASE("what is not given has the defaults of the operation") {
  AttentionArguments arguments = minimal();
  auto problem = attention_problem_of(arguments);
  REQUIRE(problem);
  CHECK(problem->is_generation());
  CHECK(problem->batch == 1);
  CHECK(problem->q_len == 1);
  CHECK(problem->heads_kv == 32);
  CHECK(problem->head_dim_qk == 128);
  CHECK(problem->head_dim_v == 128);
  CHECK(problem->tokens_per_page == 64);
  CHECK(problem->window == kUnlimited);
  CHECK(problem->mask == AttentionMask::causal);
  arguments.operation = "prefill";
  problem = attention_problem_of(arguments);
  REQUIRE(problem);
  CHECK_FALSE(problem->is_generation());
  CHECK(problem->q_len == 4096);
  arguments.operation = "mla-decode";
  problem = attention_problem_of(arguments);
  REQUIRE(problem);
  CHECK(problem->is_mla_generation());
  CHECK(problem->heads_kv == 1);
}

TEST_CASE("the error of a problem names the options of the line") {
  const auto message = [](const std::function<void(AttentionArguments&)>& change) {
    AttentionArguments arguments = minimal();
    change(arguments);
    const auto problem = attention_problem_of(arguments);
    REQUIRE_FALSE(problem);
    return in_tool_terms(problem.error().message);
  };
  CHECK(message([](AttentionArguments& a) { a.page_size = 3; }) ==
        "--page-size is 3: it must be a power of two or a multiple of 8, up to 2^20");
  CHECK(message([](AttentionArguments& a) { a.heads_kv = 5; }) ==
        "--heads-q is 32: it must be a multiple of --heads-kv, 5");
  CHECK(message([](AttentionArguments& a) { a.batch = 70'000; }) ==
        "--batch is 70000: it must be from 1 to 65535");
  CHECK(message([](AttentionArguments& a) { a.head_dim_v = 12; }) ==
        "--head-dim-v is 12: it must be a multiple of 8 from 8 to 1024");
  CHECK(message([](AttentionArguments& a) {
          a.output_scale = 1e-50;
        }).starts_with("--output-scale is 1e-50: "));
  CHECK(message([](AttentionArguments& a) {
          a.kv_scales = "head";
        }).starts_with("scales of KV heads (--kv-scales) need K and V of e4m3"));
  AttentionArguments contrary = minimal();
  contrary.kv_scales = "head";  // of K and V of bf16
  CHECK(attention_problem_of(contrary).error().code == ErrorCode::invalid_argument);
  AttentionArguments huge = minimal();
  huge.operation = "prefill";
  huge.batch = 65'535;
  huge.q_len = huge.kv_len = 1U << 30U;
  const auto too_large = attention_problem_of(huge);
  REQUIRE_FALSE(too_large);
  CHECK(in_tool_terms(too_large.error().message)
            .starts_with("q has --batch 65535 x --q-len 1073741824 x --heads-q 32 x "));
  CHECK(in_tool_terms(too_large.error().remedy) == "reduce --batch or --q-len");
}

TEST_CASE("scales of KV heads are an option of K and V of e4m3") {
  for (const auto& [name, scales] :
       {std::pair{"none", KvScales::none}, {"head", KvScales::head}, {"sequence", KvScales::sequence}}) {
    AttentionArguments arguments = minimal();
    CLI::App app;
    add_attention_arguments(app, arguments);
    app.parse(std::string("--kv-len 500 --heads-q 12 --dtype-kv e4m3 --kv-scales ") + name);
    const auto problem = attention_problem_of(arguments);
    REQUIRE(problem);
    CHECK(problem->kv_scales == scales);
  }
}

TEST_CASE("every option reaches the problem") {
  AttentionArguments arguments = minimal();
  DeviceArguments described;
  CLI::App app;
  add_operation_argument(app, arguments);
  add_attention_arguments(app, arguments);
  add_device_arguments(app, described);
  app.parse(
      "--op decode --batch 3 --q-len 2 --kv-len 500 --heads-q 12 --heads-kv 4 --head-dim-qk 64 --head-dim-v "
      "256 "
      "--dtype-q e4m3 --dtype-kv e2m1 --dtype-o fp16 --page-size 32 --window 100 --mask causal --sinks "
      "--layout hnd --numerics invariant "
      "--device sm_103 --sm-count 152");
  const auto problem = attention_problem_of(arguments);
  REQUIRE(problem);
  CHECK(problem->batch == 3);
  CHECK(problem->q_len == 2);
  CHECK(problem->kv_len == 500);
  CHECK(problem->heads_q == 12);
  CHECK(problem->heads_kv == 4);
  CHECK(problem->head_dim_qk == 64);
  CHECK(problem->head_dim_v == 256);
  CHECK(problem->data_type_q == DataType::e4m3);
  CHECK(problem->data_type_k == DataType::e2m1);
  CHECK(problem->data_type_v == DataType::e2m1);
  CHECK(problem->data_type_o == DataType::fp16);
  CHECK(problem->tokens_per_page == 32);
  CHECK(problem->window == 100);
  CHECK(problem->sinks);
  CHECK(problem->kv_order == KvOrder::hnd);
  CHECK(problem->is_invariant());
  const auto device = device_facts_of(described);
  REQUIRE(device);
  CHECK(device->capability == ComputeCapability{10, 3});
  CHECK(device->sm_count == 152);
}

TEST_CASE("a shared prefix is a part of the problem in all verbs") {
  AttentionArguments arguments = minimal();
  CHECK_FALSE(*shared_prefix_of(arguments, *attention_problem_of(arguments)));
  CLI::App app;
  add_attention_arguments(app, arguments);
  app.parse("--batch 3 --kv-len 500 --heads-q 32 --shared-prefix 400");
  const auto problem = attention_problem_of(arguments);
  REQUIRE(problem);
  CHECK(problem->kv_len == 500);
  const auto shared = shared_prefix_of(arguments, *problem);
  REQUIRE(shared);
  CHECK((*shared)->prefix_len == 400);
  CHECK((*shared)->own.kv_len == 100);
  CHECK((*shared)->own.batch == 3);
  arguments.window = 10;  // no kernel serves it, which is not the line's error
  CHECK(attention_problem_of(arguments));
  arguments.shared_prefix = 500;
  const auto none_own = attention_problem_of(arguments);
  REQUIRE_FALSE(none_own);
  CHECK(in_tool_terms(none_own.error().message) ==
        "a shared prefix of 500 tokens leaves no room in --kv-len, 500, for the own tokens, which include "
        "the query tokens (--q-len, 1)");
  CHECK(none_own.error().remedy == "share at most 499 tokens");
}

TEST_CASE("how rows are rotated is said of an append alone") {
  for (const char* option : {"--rope interleaved", "--rope-dim 64", "--lengths-exclude-new"}) {
    AttentionArguments arguments;
    CLI::App app;
    add_attention_arguments(app, arguments);
    CHECK_THROWS_AS(app.parse(std::string("--kv-len 4096 --heads-q 32 ") + option), CLI::RequiresError);
  }
}

TEST_CASE("an append is of rows as Q, or of bf16 where Q has eight bits, rotated in all columns") {
  AttentionArguments arguments = minimal();
  REQUIRE(attention_problem_of(arguments));
  CHECK_FALSE(attention_problem_of(arguments)->append);
  CLI::App app;
  add_attention_arguments(app, arguments);
  app.parse("--kv-len 4096 --heads-q 32 --dtype-q fp16 --dtype-kv e4m3 --append");
  auto problem = attention_problem_of(arguments);
  REQUIRE(problem);
  REQUIRE(problem->append);
  CHECK(problem->append->data_type == DataType::fp16);
  CHECK(problem->append->rope_dim == 128);
  CHECK_FALSE(problem->append->interleaved);
  CHECK_FALSE(problem->append->lengths_exclude_new);
  app.parse("--kv-len 4096 --heads-q 32 --dtype-q e4m3 --append --rope interleaved --rope-dim 64");
  problem = attention_problem_of(arguments);
  REQUIRE(problem);
  CHECK(problem->append->data_type == DataType::bf16);
  CHECK(problem->append->rope_dim == 64);
  CHECK(problem->append->interleaved);
  app.parse("--kv-len 4096 --heads-q 32 --append --rope none --lengths-exclude-new");
  problem = attention_problem_of(arguments);
  REQUIRE(problem);
  CHECK(problem->append->rope_dim == 0);
  CHECK(problem->append->lengths_exclude_new);
}

TEST_CASE("a page size of zero is contiguous KV") {
  AttentionArguments arguments = minimal();
  arguments.page_size = 0;
  CHECK(attention_problem_of(arguments)->layout == QkvLayout::contiguous_kv);
}

TEST_CASE("types that are not given follow those of Q, but for outputs of eight bits and fewer") {
  AttentionArguments arguments = minimal();
  arguments.dtype_q = "fp16";
  CHECK(attention_problem_of(arguments)->data_type_k == DataType::fp16);
  CHECK(attention_problem_of(arguments)->data_type_v == DataType::fp16);
  CHECK(attention_problem_of(arguments)->data_type_o == DataType::fp16);
  arguments.dtype_q = "e4m3";
  CHECK(attention_problem_of(arguments)->data_type_k == DataType::e4m3);
  CHECK(attention_problem_of(arguments)->data_type_o == DataType::bf16);
}

TEST_CASE("multiprocessors are known for few devices and asked for otherwise") {
  const auto multiprocessors = [](const char* device) {
    const auto facts = device_facts_of({device, 0});
    REQUIRE(facts);
    return facts->sm_count;
  };
  CHECK(multiprocessors("10.0") == 148);
  CHECK(multiprocessors("sm_90") == 132);
  CHECK(multiprocessors("8.0") == 108);
  CHECK(in_tool_terms(device_facts_of({"12.0", 0}).error().remedy) == "set --sm-count");
}

TEST_CASE("latent attention has head dims of its own") {
  AttentionArguments arguments = minimal();
  arguments.operation = "mla-decode";
  arguments.head_dim_qk = 128;
  CHECK(attention_problem_of(arguments).error().code == ErrorCode::invalid_argument);
}
