// SPDX-License-Identifier: Apache-2.0
#include "attention_values.hpp"

#include "structures.hpp"

#include <fmt/format.h>

#include <initializer_list>

namespace cubinet::c_api {
namespace {

// The constants of the header have the numbers of the C++ enumerations; those of types, where 0 is
// none, are one higher.
static_assert(CUBINET_TYPE_FP16 == static_cast<int>(DataType::fp16) + 1);
static_assert(CUBINET_TYPE_BF16 == static_cast<int>(DataType::bf16) + 1);
static_assert(CUBINET_TYPE_FP32 == static_cast<int>(DataType::fp32) + 1);
static_assert(CUBINET_TYPE_E4M3 == static_cast<int>(DataType::e4m3) + 1);
static_assert(CUBINET_TYPE_INT32 == static_cast<int>(DataType::int32) + 1);
static_assert(CUBINET_TYPE_UINT32 == static_cast<int>(DataType::uint32) + 1);
static_assert(CUBINET_MASK_DENSE == static_cast<int>(AttentionMask::dense));
static_assert(CUBINET_MASK_CAUSAL == static_cast<int>(AttentionMask::causal));
static_assert(CUBINET_MASK_CUSTOM == static_cast<int>(AttentionMask::custom));
static_assert(CUBINET_KV_NHD == static_cast<int>(KvOrder::nhd));
static_assert(CUBINET_KV_HND == static_cast<int>(KvOrder::hnd));

constexpr std::uint32_t kProblemFlags =
    CUBINET_ATTENTION_RAGGED_Q | CUBINET_ATTENTION_LSE | CUBINET_ATTENTION_SINKS |
    CUBINET_ATTENTION_SCALES_ON_DEVICE | CUBINET_ATTENTION_APPEND | CUBINET_ATTENTION_APPEND_ONLY |
    CUBINET_ATTENTION_ROPE_INTERLEAVED | CUBINET_ATTENTION_POSITIONS | CUBINET_ATTENTION_LENGTHS_EXCLUDE_NEW |
    CUBINET_ATTENTION_PREFILL | CUBINET_ATTENTION_INVARIANT | CUBINET_ATTENTION_HEAD_SCALES |
    CUBINET_ATTENTION_SEQUENCE_SCALES;
constexpr std::uint32_t kPlanFlags =
    CUBINET_PLAN_EXISTING_KERNELS | CUBINET_PLAN_STARTS_EARLY | CUBINET_PLAN_LOADED_KERNELS;
constexpr cubinet_attention_problem kDefaultProblem = CUBINET_ATTENTION_PROBLEM_INIT;
constexpr cubinet_plan_options kDefaultOptions = CUBINET_PLAN_OPTIONS_INIT;
constexpr cubinet_attention_tensors kNoTensors = CUBINET_ATTENTION_TENSORS_INIT;
constexpr cubinet_merge_problem kDefaultMerge = CUBINET_MERGE_PROBLEM_INIT;
constexpr cubinet_merge_tensors kNoMergeTensors = CUBINET_MERGE_TENSORS_INIT;

Result<DataType> type_of(std::int32_t type, std::string_view member) {
  switch (type) {
    case CUBINET_TYPE_FP16:
    case CUBINET_TYPE_BF16:
    case CUBINET_TYPE_FP32:
    case CUBINET_TYPE_E4M3:
      return static_cast<DataType>(type - 1);
    default:
      return Error{ErrorCode::invalid_argument, fmt::format("`problem.{}` is {}", member, type),
                   "use CUBINET_TYPE_FP16, _BF16, _FP32 or _E4M3"};
  }
}

Result<void> set_types(const cubinet_attention_problem& given, AttentionProblem& problem) {
  CUBINET_TRY_ASSIGN(problem.data_type_q, type_of(given.type_q, "type_q"));
  CUBINET_TRY_ASSIGN(problem.data_type_k, type_of(given.type_kv, "type_kv"));
  problem.data_type_v = problem.data_type_k;
  CUBINET_TRY_ASSIGN(problem.data_type_o, type_of(given.type_o, "type_o"));
  if (given.kv_order != CUBINET_KV_NHD && given.kv_order != CUBINET_KV_HND) {
    return Error{ErrorCode::invalid_argument, fmt::format("`problem.kv_order` is {}", given.kv_order),
                 "use CUBINET_KV_NHD or CUBINET_KV_HND"};
  }
  problem.kv_order = static_cast<KvOrder>(given.kv_order);
  if (given.mask != CUBINET_MASK_DENSE && given.mask != CUBINET_MASK_CAUSAL &&
      given.mask != CUBINET_MASK_CUSTOM) {
    return Error{ErrorCode::invalid_argument, fmt::format("`problem.mask` is {}", given.mask),
                 "use a CUBINET_MASK_ constant"};
  }
  problem.mask = static_cast<AttentionMask>(given.mask);
  return {};
}

Result<QkvLayout> layout_of(std::int32_t layout) {
  switch (layout) {
    case CUBINET_KV_PAGED:
      return QkvLayout::paged_kv;
    case CUBINET_KV_CONTIGUOUS:
      return QkvLayout::contiguous_kv;
    case CUBINET_KV_SEQUENCES:
      return QkvLayout::separate_qkv;
    default:
      return Error{ErrorCode::invalid_argument, fmt::format("`problem.kv_layout` is {}", layout),
                   "use CUBINET_KV_PAGED, CUBINET_KV_CONTIGUOUS or CUBINET_KV_SEQUENCES"};
  }
}

Result<KvScales> kv_scales_of(std::uint32_t flags) {
  const bool head = (flags & CUBINET_ATTENTION_HEAD_SCALES) != 0;
  const bool sequence = (flags & CUBINET_ATTENTION_SEQUENCE_SCALES) != 0;
  if (head && sequence) {
    return Error{ErrorCode::invalid_argument,
                 "`problem.flags` has both CUBINET_ATTENTION_HEAD_SCALES and "
                 "CUBINET_ATTENTION_SEQUENCE_SCALES",
                 "set one of them"};
  }
  return head ? KvScales::head : sequence ? KvScales::sequence : KvScales::none;
}

// Returns invalid_argument for a setting of an append that is not requested: it would have no
// effect.
Result<void> check_no_append(const cubinet_attention_problem& given) {
  const char* member = nullptr;
  if (given.append_type != kDefaultProblem.append_type) member = "append_type";
  if (given.rope_dim != 0) member = "rope_dim";
  if (given.q_scale != 1) member = "q_scale";
  if (given.k_scale != 1) member = "k_scale";
  if (given.v_scale != 1) member = "v_scale";
  if ((given.flags & (CUBINET_ATTENTION_ROPE_INTERLEAVED | CUBINET_ATTENTION_POSITIONS |
                      CUBINET_ATTENTION_LENGTHS_EXCLUDE_NEW)) != 0)
    member = "flags";
  if (member == nullptr) return {};
  return Error{ErrorCode::invalid_argument,
               fmt::format("`problem.{}` is set for an append, and none is requested", member),
               "add CUBINET_ATTENTION_APPEND or CUBINET_ATTENTION_APPEND_ONLY to `problem.flags`"};
}

Result<void> set_append(const cubinet_attention_problem& given, AttentionProblem& problem) {
  const bool only = (given.flags & CUBINET_ATTENTION_APPEND_ONLY) != 0;
  const bool attends = (given.flags & CUBINET_ATTENTION_APPEND) != 0;
  if (only && attends) {
    return Error{ErrorCode::invalid_argument,
                 "`problem.flags` has both CUBINET_ATTENTION_APPEND and CUBINET_ATTENTION_APPEND_ONLY",
                 "set one of them"};
  }
  if (!only && !attends) return check_no_append(given);
  AttentionProblem::Append append;
  CUBINET_TRY_ASSIGN(append.data_type, type_of(given.append_type, "append_type"));
  append.rope_dim = given.rope_dim;
  append.interleaved = (given.flags & CUBINET_ATTENTION_ROPE_INTERLEAVED) != 0;
  append.positions = (given.flags & CUBINET_ATTENTION_POSITIONS) != 0;
  append.lengths_exclude_new = (given.flags & CUBINET_ATTENTION_LENGTHS_EXCLUDE_NEW) != 0;
  append.attends = attends;
  append.q_scale = given.q_scale;
  append.k_scale = given.k_scale;
  append.v_scale = given.v_scale;
  problem.append = append;
  return {};
}

// Returns invalid_argument for a setting of shared prefixes without groups, which would have no
// effect.
Result<void> check_no_prefix(const cubinet_attention_problem& given) {
  const char* member = nullptr;
  if (given.prefix_len != 0) member = "prefix_len";
  if (given.query_tokens != 0) member = "query_tokens";
  if (given.group_tokens != 0) member = "group_tokens";
  if (given.prefix_lengths != nullptr) member = "prefix_lengths";
  if (member == nullptr) return {};
  return Error{ErrorCode::invalid_argument,
               fmt::format("`problem.{}` is set for shared prefixes, and no group has one", member),
               "set `problem.prefix_groups`"};
}

// A tensor of a run, and the type that it must have.
struct TypedTensor {
  const char* name;
  const cubinet_tensor* tensor;
  DataType type;
};

Result<void> check_types(std::initializer_list<TypedTensor> tensors) {
  for (const TypedTensor& each : tensors) {
    if (each.tensor->reserved != 0) return check_reserved(each.tensor->reserved, each.name);
    const std::int32_t wanted = static_cast<std::int32_t>(each.type) + 1;
    if (each.tensor->type == 0 || each.tensor->type == wanted) continue;
    const auto all = all_data_types();
    const auto given = static_cast<std::size_t>(each.tensor->type) - 1;
    return Error{ErrorCode::invalid_argument,
                 fmt::format("`{}.type` is {}, and the run needs {}", each.name,
                             given < all.size() ? to_string(static_cast<DataType>(given)) : "no type",
                             to_string(each.type)),
                 "pass a tensor of that type"};
  }
  return {};
}

Result<void> check_tensor_types(const cubinet_attention_tensors& given, const AttentionProblem& problem) {
  const DataType appended = problem.append ? problem.append->data_type : problem.data_type_q;
  return check_types({{"q", &given.q, problem.data_type_q},
                      {"k", &given.k, problem.data_type_k},
                      {"v", &given.v, problem.data_type_v},
                      {"o", &given.o, problem.data_type_o},
                      {"page_table", &given.page_table, DataType::int32},
                      {"kv_lengths", &given.kv_lengths, DataType::int32},
                      {"lse", &given.lse, DataType::fp32},
                      {"sinks", &given.sinks, DataType::fp32},
                      {"mask", &given.mask, DataType::uint32},
                      {"q_offsets", &given.q_offsets, DataType::int32},
                      {"kv_offsets", &given.kv_offsets, DataType::int32},
                      {"softmax_scale", &given.softmax_scale, DataType::fp32},
                      {"output_scale", &given.output_scale, DataType::fp32},
                      {"k_head_scales", &given.k_head_scales, DataType::fp32},
                      {"v_head_scales", &given.v_head_scales, DataType::fp32},
                      {"new_q", &given.new_q, appended},
                      {"new_k", &given.new_k, appended},
                      {"new_v", &given.new_v, appended},
                      {"positions", &given.positions, DataType::int32},
                      {"cos_sin", &given.cos_sin, DataType::fp32},
                      {"q_scale", &given.q_scale, DataType::fp32},
                      {"k_scale", &given.k_scale, DataType::fp32},
                      {"v_scale", &given.v_scale, DataType::fp32}});
}

DeviceTensor tensor_of(const cubinet_tensor& tensor) {
  return {tensor.address, tensor.bytes, {tensor.strides[0], tensor.strides[1], tensor.strides[2]}};
}

}  // namespace

Result<AttentionProblem> problem_of(const cubinet_attention_problem* problem) {
  CUBINET_TRY_ASSIGN(const auto given, read_structure(problem, kDefaultProblem, "problem"));
  CUBINET_TRY(check_flags(given.flags, kProblemFlags, "problem.flags"));
  AttentionProblem converted;
  converted.batch = given.batch;
  converted.q_len = given.q_len;
  converted.kv_len = given.kv_len;
  converted.heads_q = given.heads_q;
  converted.heads_kv = given.heads_kv;
  converted.head_dim_qk = given.head_dim_qk;
  converted.head_dim_v = given.head_dim_v;
  converted.tokens_per_page = given.page_size;
  CUBINET_TRY(set_types(given, converted));
  CUBINET_TRY_ASSIGN(converted.layout, layout_of(given.kv_layout));
  CUBINET_TRY(check_reserved(given.reserved, "problem.reserved"));
  converted.prefill = (given.flags & CUBINET_ATTENTION_PREFILL) != 0;
  if ((given.flags & CUBINET_ATTENTION_INVARIANT) != 0) converted.numerics = AttentionNumerics::invariant;
  if (given.window != 0) converted.window = given.window;
  converted.ragged_q = (given.flags & CUBINET_ATTENTION_RAGGED_Q) != 0;
  converted.lse = (given.flags & CUBINET_ATTENTION_LSE) != 0;
  converted.sinks = (given.flags & CUBINET_ATTENTION_SINKS) != 0;
  converted.scales_on_device = (given.flags & CUBINET_ATTENTION_SCALES_ON_DEVICE) != 0;
  CUBINET_TRY_ASSIGN(converted.kv_scales, kv_scales_of(given.flags));
  if (given.softmax_scale != 0) converted.softmax_scale = given.softmax_scale;
  if (given.soft_cap != 0) converted.soft_cap = given.soft_cap;
  converted.output_scale = given.output_scale;
  CUBINET_TRY(set_append(given, converted));
  CUBINET_TRY(check_problem(converted));  // before the lengths are read, because it limits the batch
  if (given.kv_lengths == nullptr) return converted;
  converted.kv_lengths.assign(given.kv_lengths, given.kv_lengths + given.batch);
  CUBINET_TRY(check_problem(converted));
  return converted;
}

Result<std::variant<AttentionProblem, SharedPrefixProblem>> any_problem_of(
    const cubinet_attention_problem* problem) {
  CUBINET_TRY_ASSIGN(AttentionProblem own, problem_of(problem));
  CUBINET_TRY_ASSIGN(const auto given, read_structure(problem, kDefaultProblem, "problem"));
  if (given.prefix_groups == 0) {
    CUBINET_TRY(check_no_prefix(given));
    return std::variant<AttentionProblem, SharedPrefixProblem>(std::move(own));
  }
  SharedPrefixProblem converted;
  converted.own = std::move(own);
  converted.groups = given.prefix_groups;
  converted.prefix_len = given.prefix_len;
  converted.query_tokens = given.query_tokens;
  converted.group_tokens = given.group_tokens;
  CUBINET_TRY(check_shared_prefix(converted));  // before the lengths are read, because it limits the groups
  if (given.prefix_lengths != nullptr) {
    converted.prefix_lengths.assign(given.prefix_lengths, given.prefix_lengths + given.prefix_groups);
    CUBINET_TRY(check_shared_prefix(converted));
  }
  return std::variant<AttentionProblem, SharedPrefixProblem>(std::move(converted));
}

Result<PlanOptions> plan_options_of(const cubinet_plan_options* options) {
  PlanOptions converted;
  if (options == nullptr) return converted;
  CUBINET_TRY_ASSIGN(const auto given, read_structure(options, kDefaultOptions, "options"));
  CUBINET_TRY(check_flags(given.flags, kPlanFlags, "options.flags"));
  CUBINET_TRY(check_reserved(given.reserved, "options.reserved"));
  CUBINET_TRY_ASSIGN(std::string backend, text_of(given.backend, "options.backend"));
  if (!backend.empty()) converted.backend = std::move(backend);
  CUBINET_TRY_ASSIGN(std::string rules, text_of(given.rules, "options.rules"));
  if (!rules.empty()) converted.rules = std::move(rules);
  if (given.splits != 0) converted.splits = given.splits;
  if (given.split_tokens != 0) converted.split_tokens = given.split_tokens;
  converted.may_compile = (given.flags & CUBINET_PLAN_EXISTING_KERNELS) == 0;
  converted.may_load = (given.flags & CUBINET_PLAN_LOADED_KERNELS) == 0;
  converted.starts_early = (given.flags & CUBINET_PLAN_STARTS_EARLY) != 0;
  return converted;
}

Result<AttentionMerge::Problem> merge_problem_of(const cubinet_merge_problem* problem) {
  CUBINET_TRY_ASSIGN(const auto given, read_structure(problem, kDefaultMerge, "problem"));
  AttentionMerge::Problem converted;
  converted.heads = given.heads;
  converted.head_dim = given.head_dim;
  CUBINET_TRY_ASSIGN(converted.data_type, type_of(given.type, "type"));
  CUBINET_TRY_ASSIGN(converted.data_type_o, type_of(given.type_o, "type_o"));
  converted.output_scale = given.output_scale;
  return converted;
}

Result<AttentionMerge::Tensors> merge_tensors_of(const cubinet_merge_tensors* tensors,
                                                 const AttentionMerge::Problem& problem) {
  CUBINET_TRY_ASSIGN(const auto given, read_structure(tensors, kNoMergeTensors, "tensors"));
  CUBINET_TRY(check_types({{"first_o", &given.first_o, problem.data_type},
                           {"first_lse", &given.first_lse, DataType::fp32},
                           {"second_o", &given.second_o, problem.data_type},
                           {"second_lse", &given.second_lse, DataType::fp32},
                           {"o", &given.o, problem.data_type_o},
                           {"lse", &given.lse, DataType::fp32}}));
  return AttentionMerge::Tensors{{tensor_of(given.first_o), tensor_of(given.first_lse)},
                                 {tensor_of(given.second_o), tensor_of(given.second_lse)},
                                 {tensor_of(given.o), tensor_of(given.lse)}};
}

Result<AttentionTensors> tensors_of(const cubinet_attention_tensors* tensors,
                                    const AttentionProblem& problem) {
  CUBINET_TRY_ASSIGN(const auto given, read_structure(tensors, kNoTensors, "tensors"));
  CUBINET_TRY(check_tensor_types(given, problem));
  AttentionTensors converted;
  converted.q = tensor_of(given.q);
  converted.k = tensor_of(given.k);
  converted.v = tensor_of(given.v);
  converted.o = tensor_of(given.o);
  converted.page_table = tensor_of(given.page_table);
  converted.kv_lengths = tensor_of(given.kv_lengths);
  converted.lse = tensor_of(given.lse);
  converted.sinks = tensor_of(given.sinks);
  converted.mask = tensor_of(given.mask);
  converted.q_offsets = tensor_of(given.q_offsets);
  converted.kv_offsets = tensor_of(given.kv_offsets);
  converted.softmax_scale = tensor_of(given.softmax_scale);
  converted.output_scale = tensor_of(given.output_scale);
  converted.k_head_scales = tensor_of(given.k_head_scales);
  converted.v_head_scales = tensor_of(given.v_head_scales);
  converted.new_q = tensor_of(given.new_q);
  converted.new_k = tensor_of(given.new_k);
  converted.new_v = tensor_of(given.new_v);
  converted.positions = tensor_of(given.positions);
  converted.cos_sin = tensor_of(given.cos_sin);
  converted.q_scale = tensor_of(given.q_scale);
  converted.k_scale = tensor_of(given.k_scale);
  converted.v_scale = tensor_of(given.v_scale);
  converted.scratch = tensor_of(given.scratch);
  converted.counters = tensor_of(given.counters);
  return converted;
}

Result<SharedPrefixAttention::Tensors> shared_tensors_of(const cubinet_attention_tensors* tensors,
                                                         const SharedPrefixProblem& problem) {
  CUBINET_TRY_ASSIGN(AttentionTensors own, tensors_of(tensors, problem.own));
  CUBINET_TRY_ASSIGN(const auto given, read_structure(tensors, kNoTensors, "tensors"));
  CUBINET_TRY(check_types({{"prefix_page_table", &given.prefix_page_table, DataType::int32},
                           {"prefix_lengths", &given.prefix_lengths, DataType::int32},
                           {"group_offsets", &given.group_offsets, DataType::int32}}));
  return SharedPrefixAttention::Tensors{own, tensor_of(given.prefix_page_table),
                                        tensor_of(given.prefix_lengths), tensor_of(given.group_offsets)};
}

}  // namespace cubinet::c_api
