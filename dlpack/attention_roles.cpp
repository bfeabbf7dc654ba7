// SPDX-License-Identifier: Apache-2.0
// The shapes of the tensors of a run, as AttentionTensors (docs/attention.md) states them.
#include <cubinet/dlpack/attention_roles.hpp>

#include <cstddef>

namespace cubinet::dlpack {
namespace {

using Dimension = TensorRole::Dimension;

constexpr std::int64_t kAny = TensorRole::kAny;
constexpr std::uint32_t kLatentColumns = 576;  // 512 latent columns and 64 of RoPE

// The values that the roles of one problem share.
struct Shapes {
  const cubinet_attention_problem& problem;
  bool ragged = (problem.flags & CUBINET_ATTENTION_RAGGED_Q) != 0;

  // [batch, q_len, heads, columns], or [tokens, heads, columns] with ragged Q.
  void set_rows(TensorRole& role, const char* heads_name, std::uint32_t heads, std::uint32_t columns) const {
    if (ragged) {
      role.dimensions = {{"tokens", kAny, 1}, {heads_name, heads}, {"head_dim", columns}};
      role.axes = {-1, 0, 1};
      return;
    }
    role.dimensions = {
        {"batch", problem.batch}, {"q_len", problem.q_len}, {heads_name, heads}, {"head_dim", columns}};
    if (problem.q_len == 1) role.optional_dimension = 1;
  }
  // The same without columns, contiguous.
  void set_values(TensorRole& role, const char* last_name, std::int64_t last) const {
    if (ragged) {
      role.dimensions = {{"tokens", kAny, 1}, {last_name, last}};
      return;
    }
    role.dimensions = {{"batch", problem.batch}, {"q_len", problem.q_len}, {last_name, last}};
    if (problem.q_len == 1) role.optional_dimension = 1;
  }
  // K or V.
  void set_kv(TensorRole& role, std::uint32_t columns) const {
    const Dimension heads = {"heads_kv", problem.heads_kv};
    if (problem.kv_layout == CUBINET_KV_PAGED) {
      set_cache(role, columns);
    } else if (problem.kv_layout == CUBINET_KV_SEQUENCES) {
      role.dimensions = {{"tokens", kAny, 1}, heads, {"head_dim", columns}};
      role.axes = {-1, 0, 1};
    } else {
      role.dimensions = {{"batch", problem.batch}, {"kv_len", problem.kv_len}, heads, {"head_dim", columns}};
    }
  }
  void set_cache(TensorRole& role, std::uint32_t columns) const {
    const Dimension pages = {"pages", kAny, 1};
    const Dimension tokens = {"page_size", problem.page_size};
    const Dimension heads = {"heads_kv", problem.heads_kv};
    if (problem.kv_order == CUBINET_KV_HND) {
      role.dimensions = {pages, heads, tokens, {"head_dim", columns}};
      role.axes = {0, 2, 1};
    } else {
      role.dimensions = {pages, tokens, heads, {"head_dim", columns}};
    }
  }
};

TensorRole role_of(const char* name, std::size_t offset, RoleKind kind, std::int32_t type, bool used,
                   bool required) {
  TensorRole role;
  role.name = name;
  role.offset = offset;
  role.kind = kind;
  role.type = type;
  role.is_used = used;
  role.is_required = required;
  return role;
}

#define CUBINET_OFFSET(member) #member, offsetof(cubinet_attention_tensors, member)

void add_attention(std::vector<TensorRole>& roles, const Shapes& shapes) {
  const cubinet_attention_problem& problem = shapes.problem;
  const bool attends = (problem.flags & CUBINET_ATTENTION_APPEND_ONLY) == 0;
  TensorRole q = role_of(CUBINET_OFFSET(q), RoleKind::rows, problem.type_q, true, attends);
  shapes.set_rows(q, "heads_q", problem.heads_q, problem.head_dim_qk);
  TensorRole o = role_of(CUBINET_OFFSET(o), RoleKind::rows, problem.type_o, attends, true);
  shapes.set_rows(o, "heads_q", problem.heads_q, problem.head_dim_v);
  TensorRole lse = role_of(CUBINET_OFFSET(lse), RoleKind::dense, CUBINET_TYPE_FP32,
                           (problem.flags & CUBINET_ATTENTION_LSE) != 0, true);
  shapes.set_values(lse, "heads_q", problem.heads_q);
  TensorRole sinks = role_of(CUBINET_OFFSET(sinks), RoleKind::dense, CUBINET_TYPE_FP32,
                             (problem.flags & CUBINET_ATTENTION_SINKS) != 0, true);
  sinks.dimensions = {{"heads_q", problem.heads_q}};
  TensorRole mask = role_of(CUBINET_OFFSET(mask), RoleKind::dense, CUBINET_TYPE_UINT32,
                            problem.mask == CUBINET_MASK_CUSTOM, true);
  shapes.set_values(mask, "words", (std::int64_t{problem.q_len} + 31) / 32);
  TensorRole offsets =
      role_of(CUBINET_OFFSET(q_offsets), RoleKind::dense, CUBINET_TYPE_INT32, shapes.ragged, true);
  offsets.dimensions = {{"batch + 1", std::int64_t{problem.batch} + 1}};
  for (TensorRole* role : {&q, &o, &lse, &sinks, &mask, &offsets})
    roles.push_back(*role);
  const bool scales = (problem.flags & CUBINET_ATTENTION_SCALES_ON_DEVICE) != 0;
  roles.push_back(
      role_of(CUBINET_OFFSET(softmax_scale), RoleKind::scalar, CUBINET_TYPE_FP32, scales, attends));
  roles.push_back(
      role_of(CUBINET_OFFSET(output_scale), RoleKind::scalar, CUBINET_TYPE_FP32, scales, attends));
}

// The scales of KV heads, of which those of sequences may be rows of a larger tensor.
void add_head_scales(std::vector<TensorRole>& roles, const cubinet_attention_problem& problem) {
  const bool of_sequences = (problem.flags & CUBINET_ATTENTION_SEQUENCE_SCALES) != 0;
  const bool used = of_sequences || (problem.flags & CUBINET_ATTENTION_HEAD_SCALES) != 0;
  const RoleKind kind = of_sequences ? RoleKind::table : RoleKind::dense;
  TensorRole k = role_of(CUBINET_OFFSET(k_head_scales), kind, CUBINET_TYPE_FP32, used, true);
  if (of_sequences) k.dimensions.push_back({"batch", problem.batch});
  k.dimensions.push_back({"heads_kv", problem.heads_kv});
  TensorRole v = role_of(CUBINET_OFFSET(v_head_scales), kind, CUBINET_TYPE_FP32, used, true);
  v.dimensions = k.dimensions;
  roles.push_back(k);
  roles.push_back(v);
}

void add_cache(std::vector<TensorRole>& roles, const Shapes& shapes) {
  const cubinet_attention_problem& problem = shapes.problem;
  const bool latent = problem.head_dim_qk == kLatentColumns;
  TensorRole k = role_of(CUBINET_OFFSET(k), RoleKind::rows, problem.type_kv, true, true);
  shapes.set_kv(k, problem.head_dim_qk);
  // Latent attention has one pool: V is the first columns of its rows.
  TensorRole v = role_of(CUBINET_OFFSET(v), RoleKind::rows, problem.type_kv, true, !latent);
  shapes.set_kv(v, latent ? problem.head_dim_qk : problem.head_dim_v);
  const bool paged = problem.kv_layout == CUBINET_KV_PAGED;
  TensorRole table = role_of(CUBINET_OFFSET(page_table), RoleKind::table, CUBINET_TYPE_INT32, paged, true);
  const std::int64_t page = problem.page_size == 0 ? 1 : problem.page_size;
  table.dimensions = {{"batch", problem.batch}, {"pages", kAny, (problem.kv_len + page - 1) / page}};
  TensorRole lengths = role_of(CUBINET_OFFSET(kv_lengths), RoleKind::dense, CUBINET_TYPE_INT32, true, true);
  lengths.dimensions = {{"batch", problem.batch}};
  TensorRole offsets = role_of(CUBINET_OFFSET(kv_offsets), RoleKind::dense, CUBINET_TYPE_INT32,
                               problem.kv_layout == CUBINET_KV_SEQUENCES, true);
  offsets.dimensions = {{"batch + 1", std::int64_t{problem.batch} + 1}};
  for (TensorRole* role : {&k, &v, &table, &lengths, &offsets})
    roles.push_back(*role);
}

void add_append(std::vector<TensorRole>& roles, const Shapes& shapes) {
  const cubinet_attention_problem& problem = shapes.problem;
  const bool appends = (problem.flags & (CUBINET_ATTENTION_APPEND | CUBINET_ATTENTION_APPEND_ONLY)) != 0;
  TensorRole q = role_of(CUBINET_OFFSET(new_q), RoleKind::rows, problem.append_type, appends, false);
  shapes.set_rows(q, "heads_q", problem.heads_q, problem.head_dim_qk);
  TensorRole k = role_of(CUBINET_OFFSET(new_k), RoleKind::rows, problem.append_type, appends, true);
  shapes.set_rows(k, "heads_kv", problem.heads_kv, problem.head_dim_qk);
  TensorRole v = role_of(CUBINET_OFFSET(new_v), RoleKind::rows, problem.append_type, appends, true);
  shapes.set_rows(v, "heads_kv", problem.heads_kv, problem.head_dim_v);
  const bool states_positions = (problem.flags & CUBINET_ATTENTION_POSITIONS) != 0;
  TensorRole positions = role_of(CUBINET_OFFSET(positions), RoleKind::dense, CUBINET_TYPE_INT32,
                                 appends && states_positions, true);
  if (shapes.ragged) {
    positions.dimensions = {{"tokens", kAny, 1}};
  } else {
    positions.dimensions = {{"batch", problem.batch}, {"q_len", problem.q_len}};
    if (problem.q_len == 1) positions.optional_dimension = 1;
  }
  TensorRole table = role_of(CUBINET_OFFSET(cos_sin), RoleKind::dense, CUBINET_TYPE_FP32,
                             appends && problem.rope_dim != 0, true);
  table.dimensions = {{"positions", kAny, states_positions ? 1 : std::int64_t{problem.kv_len}},
                      {"rope_dim", problem.rope_dim}};
  for (TensorRole* role : {&q, &k, &v, &positions, &table})
    roles.push_back(*role);
  const bool scales = appends && (problem.flags & CUBINET_ATTENTION_SCALES_ON_DEVICE) != 0;
  const bool q_is_scaled = scales && problem.type_q == CUBINET_TYPE_E4M3;
  const bool kv_is_scaled = scales && problem.type_kv == CUBINET_TYPE_E4M3;
  roles.push_back(role_of(CUBINET_OFFSET(q_scale), RoleKind::scalar, CUBINET_TYPE_FP32, q_is_scaled, true));
  roles.push_back(role_of(CUBINET_OFFSET(k_scale), RoleKind::scalar, CUBINET_TYPE_FP32, kv_is_scaled, true));
  roles.push_back(role_of(CUBINET_OFFSET(v_scale), RoleKind::scalar, CUBINET_TYPE_FP32, kv_is_scaled, true));
}

void add_prefixes(std::vector<TensorRole>& roles, const cubinet_attention_problem& problem) {
  const bool shared = problem.prefix_groups != 0;
  const std::int64_t groups = problem.prefix_groups;
  const std::int64_t page = problem.page_size == 0 ? 1 : problem.page_size;
  TensorRole table =
      role_of(CUBINET_OFFSET(prefix_page_table), RoleKind::table, CUBINET_TYPE_INT32, shared, true);
  table.dimensions = {{"prefix_groups", groups}, {"pages", kAny, (problem.prefix_len + page - 1) / page}};
  TensorRole lengths =
      role_of(CUBINET_OFFSET(prefix_lengths), RoleKind::dense, CUBINET_TYPE_INT32, shared, true);
  lengths.dimensions = {{"prefix_groups", groups}};
  TensorRole offsets =
      role_of(CUBINET_OFFSET(group_offsets), RoleKind::dense, CUBINET_TYPE_INT32, shared, true);
  offsets.dimensions = {{"prefix_groups + 1", groups + 1}};
  for (TensorRole* role : {&table, &lengths, &offsets})
    roles.push_back(*role);
}

}  // namespace

std::vector<TensorRole> attention_roles(const cubinet_attention_problem& problem) {
  const Shapes shapes{problem};
  std::vector<TensorRole> roles;
  add_attention(roles, shapes);
  add_cache(roles, shapes);
  add_head_scales(roles, problem);
  add_append(roles, shapes);
  add_prefixes(roles, problem);
  roles.push_back(role_of(CUBINET_OFFSET(scratch), RoleKind::bytes, 0, true, false));
  roles.push_back(role_of(CUBINET_OFFSET(counters), RoleKind::bytes, 0, true, false));
  return roles;
}

#undef CUBINET_OFFSET

std::vector<TensorRole> merge_roles(const cubinet_merge_problem& problem) {
  std::vector<TensorRole> roles;
  const auto add = [&](const char* name, std::size_t offset, RoleKind kind, std::int32_t type,
                       bool required) {
    TensorRole role = role_of(name, offset, kind, type, true, required);
    role.dimensions = {{"tokens", kAny, 0}, {"heads", problem.heads}};
    if (kind == RoleKind::rows) {
      role.dimensions.push_back({"head_dim", problem.head_dim});
      role.axes = {-1, 0, 1};
    }
    roles.push_back(role);
  };
  add("first_o", offsetof(cubinet_merge_tensors, first_o), RoleKind::rows, problem.type, true);
  add("first_lse", offsetof(cubinet_merge_tensors, first_lse), RoleKind::dense, CUBINET_TYPE_FP32, true);
  add("second_o", offsetof(cubinet_merge_tensors, second_o), RoleKind::rows, problem.type, true);
  add("second_lse", offsetof(cubinet_merge_tensors, second_lse), RoleKind::dense, CUBINET_TYPE_FP32, true);
  add("o", offsetof(cubinet_merge_tensors, o), RoleKind::rows, problem.type_o, true);
  add("lse", offsetof(cubinet_merge_tensors, lse), RoleKind::dense, CUBINET_TYPE_FP32, false);
  return roles;
}

}  // namespace cubinet::dlpack
