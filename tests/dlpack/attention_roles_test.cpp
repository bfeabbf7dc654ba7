// SPDX-License-Identifier: Apache-2.0
#include <cubinet/dlpack/attention_roles.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string_view>

using namespace cubinet::dlpack;

namespace {

const TensorRole& role(const std::vector<TensorRole>& roles, std::string_view name) {
  for (const TensorRole& each : roles)
    if (name == each.name) return each;
  FAIL("there is no role ", std::string(name));
  return roles.front();
}

cubinet_attention_problem small() {
  cubinet_attention_problem problem = CUBINET_ATTENTION_PROBLEM_INIT;
  problem.batch = 3;
  problem.kv_len = 100;
  problem.heads_q = 8;
  problem.heads_kv = 2;
  return problem;
}

}  // namespace

TEST_CASE("each tensor of the structures has one role at its own place") {
  const auto covers = [](const std::vector<TensorRole>& roles, std::size_t bytes) {
    std::set<std::size_t> offsets;
    for (const TensorRole& each : roles)
      offsets.insert(each.offset);
    CHECK(offsets.size() == roles.size());
    CHECK(roles.size() == (bytes - sizeof(std::size_t)) / sizeof(cubinet_tensor));
  };
  covers(attention_roles(small()), sizeof(cubinet_attention_tensors));
  covers(merge_roles(cubinet_merge_problem(CUBINET_MERGE_PROBLEM_INIT)), sizeof(cubinet_merge_tensors));
}

TEST_CASE("the shapes follow the problem") {
  cubinet_attention_problem problem = small();
  auto roles = attention_roles(problem);
  CHECK(shape_text(role(roles, "q")) == "[batch=3, q_len=1, heads_q=8, head_dim=128]");
  CHECK(role(roles, "q").optional_dimension == 1);
  CHECK(shape_text(role(roles, "k")) == "[pages>=1, page_size=64, heads_kv=2, head_dim=128]");
  CHECK(shape_text(role(roles, "page_table")) == "[batch=3, pages>=2]");
  CHECK_FALSE(role(roles, "lse").is_used);
  CHECK_FALSE(role(roles, "new_k").is_used);
  problem.kv_order = CUBINET_KV_HND;
  problem.flags = CUBINET_ATTENTION_RAGGED_Q | CUBINET_ATTENTION_LSE | CUBINET_ATTENTION_APPEND;
  roles = attention_roles(problem);
  CHECK(shape_text(role(roles, "q")) == "[tokens>=1, heads_q=8, head_dim=128]");
  CHECK(shape_text(role(roles, "k")) == "[pages>=1, heads_kv=2, page_size=64, head_dim=128]");
  CHECK(role(roles, "k").axes[1] == 2);
  CHECK(shape_text(role(roles, "q_offsets")) == "[batch + 1=4]");
  CHECK(role(roles, "lse").is_required);
  CHECK(shape_text(role(roles, "new_k")) == "[tokens>=1, heads_kv=2, head_dim=128]");
}

TEST_CASE("latent attention needs no second pool, and scales are read from the device on request") {
  cubinet_attention_problem problem = small();
  problem.head_dim_qk = 576;
  problem.head_dim_v = 512;
  CHECK_FALSE(role(attention_roles(problem), "v").is_required);
  CHECK(role(attention_roles(small()), "v").is_required);
  CHECK_FALSE(role(attention_roles(problem), "softmax_scale").is_used);
  problem.flags = CUBINET_ATTENTION_SCALES_ON_DEVICE;
  CHECK(role(attention_roles(problem), "softmax_scale").is_used);
}

TEST_CASE("scales of KV heads are those of all sequences or rows of each") {
  cubinet_attention_problem problem = small();
  CHECK_FALSE(role(attention_roles(problem), "k_head_scales").is_used);
  problem.flags = CUBINET_ATTENTION_HEAD_SCALES;
  for (const char* name : {"k_head_scales", "v_head_scales"}) {
    CHECK(role(attention_roles(problem), name).is_used);
    CHECK(role(attention_roles(problem), name).is_required);
    CHECK(shape_text(role(attention_roles(problem), name)) == "[heads_kv=2]");
  }
  problem.flags = CUBINET_ATTENTION_SEQUENCE_SCALES;
  for (const char* name : {"k_head_scales", "v_head_scales"}) {
    CHECK(shape_text(role(attention_roles(problem), name)) == "[batch=3, heads_kv=2]");
    CHECK(role(attention_roles(problem), name).kind == RoleKind::table);
  }
}

TEST_CASE("KV without pages has no page table, and offsets if sequences follow each other") {
  cubinet_attention_problem problem = small();
  problem.flags = CUBINET_ATTENTION_PREFILL;
  problem.kv_layout = CUBINET_KV_CONTIGUOUS;
  auto roles = attention_roles(problem);
  CHECK(shape_text(role(roles, "k")) == "[batch=3, kv_len=100, heads_kv=2, head_dim=128]");
  CHECK_FALSE(role(roles, "page_table").is_used);
  CHECK_FALSE(role(roles, "kv_offsets").is_used);
  problem.kv_layout = CUBINET_KV_SEQUENCES;
  roles = attention_roles(problem);
  CHECK(shape_text(role(roles, "v")) == "[tokens>=1, heads_kv=2, head_dim=128]");
  CHECK_FALSE(role(roles, "page_table").is_used);
  CHECK(shape_text(role(roles, "kv_offsets")) == "[batch + 1=4]");
  CHECK(role(attention_roles(small()), "page_table").is_used);
}

TEST_CASE("tensors of shared prefixes are required with groups alone") {
  cubinet_attention_problem problem = small();
  for (const char* name : {"prefix_page_table", "prefix_lengths", "group_offsets"})
    CHECK_FALSE(role(attention_roles(problem), name).is_used);
  problem.prefix_groups = 2;
  problem.prefix_len = 65;
  const auto roles = attention_roles(problem);
  CHECK(shape_text(role(roles, "prefix_page_table")) == "[prefix_groups=2, pages>=2]");
  CHECK(shape_text(role(roles, "prefix_lengths")) == "[prefix_groups=2]");
  CHECK(shape_text(role(roles, "group_offsets")) == "[prefix_groups + 1=3]");
  for (const char* name : {"prefix_page_table", "prefix_lengths", "group_offsets"}) {
    CHECK(role(roles, name).is_used);
    CHECK(role(roles, name).is_required);
  }
}
