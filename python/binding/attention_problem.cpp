// SPDX-License-Identifier: Apache-2.0
#include "attention_problem.hpp"

#include "arguments.hpp"
#include "conversions.hpp"
#include "errors.hpp"
#include "text.hpp"

#include <cubinet/dlpack/element_types.hpp>

#include <limits>
#include <string_view>

namespace cubinet_python {
namespace {

namespace nb = nanobind;

std::string quoted(const char* name) {
  return std::string("'") + name + "'";
}

std::uint32_t count_of(const char* name, nb::handle value) {
  const std::int64_t number = argument_integer(quoted(name), value);
  if (number < 0 || number > std::numeric_limits<std::uint32_t>::max())
    refuse(quoted(name) + " is " + std::to_string(number), "pass a count of 32 bits");
  return static_cast<std::uint32_t>(number);
}

// A text that stands for a constant of the C library.
struct Choice {
  const char* name;
  std::int32_t value;
};

template <std::size_t count>
std::int32_t choice_of(const char* name, nb::handle value, const Choice (&choices)[count]) {
  const std::string text = argument_text(quoted(name), value);
  std::string known;
  for (const Choice& choice : choices) {
    if (text == choice.name) return choice.value;
    known += (known.empty() ? "\"" : ", \"") + std::string(choice.name) + "\"";
  }
  refuse(quoted(name) + " is \"" + text + "\"", "use one of " + known);
}

constexpr Choice kMasks[] = {
    {"dense", CUBINET_MASK_DENSE}, {"causal", CUBINET_MASK_CAUSAL}, {"custom", CUBINET_MASK_CUSTOM}};
constexpr Choice kLayouts[] = {
    {"paged", CUBINET_KV_PAGED}, {"contiguous", CUBINET_KV_CONTIGUOUS}, {"sequences", CUBINET_KV_SEQUENCES}};
constexpr Choice kNumerics[] = {{"fast", 0}, {"invariant", CUBINET_ATTENTION_INVARIANT}};
constexpr Choice kKvScales[] = {
    {"none", 0}, {"head", CUBINET_ATTENTION_HEAD_SCALES}, {"sequence", CUBINET_ATTENTION_SEQUENCE_SCALES}};
constexpr Choice kOrders[] = {{"nhd", CUBINET_KV_NHD}, {"hnd", CUBINET_KV_HND}};
constexpr Choice kProblemFlags[] = {{"ragged_q", CUBINET_ATTENTION_RAGGED_Q},
                                    {"lse", CUBINET_ATTENTION_LSE},
                                    {"sinks", CUBINET_ATTENTION_SINKS},
                                    {"scales_on_device", CUBINET_ATTENTION_SCALES_ON_DEVICE},
                                    {"append", CUBINET_ATTENTION_APPEND},
                                    {"append_only", CUBINET_ATTENTION_APPEND_ONLY},
                                    {"rope_interleaved", CUBINET_ATTENTION_ROPE_INTERLEAVED},
                                    {"positions", CUBINET_ATTENTION_POSITIONS},
                                    {"lengths_exclude_new", CUBINET_ATTENTION_LENGTHS_EXCLUDE_NEW},
                                    {"prefill", CUBINET_ATTENTION_PREFILL}};

template <std::size_t count>
std::uint32_t flags_of(const nb::dict& fields, const Choice (&flags)[count]) {
  std::uint32_t all = 0;
  for (const Choice& flag : flags)
    if (argument_flag(quoted(flag.name), fields[flag.name])) all |= static_cast<std::uint32_t>(flag.value);
  return all;
}

// Reads lengths that are known, `count` of them, into `lengths`. Returns null for None.
const std::int32_t* read_lengths(const nb::dict& fields, const char* name, std::uint32_t count,
                                 const char* counted, std::vector<std::int32_t>& lengths) {
  if (fields[name].is_none()) return nullptr;
  for (const nb::handle given : fields[name]) {
    const std::int64_t length = argument_integer(quoted(name), given);
    if (length < std::numeric_limits<std::int32_t>::min() ||
        length > std::numeric_limits<std::int32_t>::max())
      refuse(quoted(name) + " has " + std::to_string(length), "pass lengths of 32 bits");
    lengths.push_back(static_cast<std::int32_t>(length));
  }
  if (lengths.size() != count) {
    refuse(quoted(name) + " has " + std::to_string(lengths.size()) + " lengths, and " + counted + " is " +
               std::to_string(count),
           "pass one length for each");
  }
  return lengths.data();
}

}  // namespace

ProblemValues::ProblemValues(const nb::dict& problem, const nb::dict& options) {
  read_problem(problem);
  read_options(options);
}

void ProblemValues::read_problem(const nb::dict& fields) {
  cubinet_attention_problem& p = problem_;
  for (const auto& [name, member] : {std::pair{"batch", &p.batch},
                                     {"q_len", &p.q_len},
                                     {"kv_len", &p.kv_len},
                                     {"heads_q", &p.heads_q},
                                     {"heads_kv", &p.heads_kv},
                                     {"head_dim_qk", &p.head_dim_qk},
                                     {"head_dim_v", &p.head_dim_v},
                                     {"page_size", &p.page_size},
                                     {"window", &p.window},
                                     {"rope_dim", &p.rope_dim},
                                     {"prefix_groups", &p.prefix_groups},
                                     {"prefix_len", &p.prefix_len},
                                     {"query_tokens", &p.query_tokens},
                                     {"group_tokens", &p.group_tokens}})
    *member = count_of(name, fields[name]);
  for (const auto& [name, member] : {std::pair{"type_q", &p.type_q},
                                     {"type_kv", &p.type_kv},
                                     {"type_o", &p.type_o},
                                     {"append_type", &p.append_type}})
    *member = element_type(argument_text(quoted(name), fields[name]), name);
  for (const auto& [name, member] : {std::pair{"softmax_scale", &p.softmax_scale},
                                     {"soft_cap", &p.soft_cap},
                                     {"output_scale", &p.output_scale},
                                     {"q_scale", &p.q_scale},
                                     {"k_scale", &p.k_scale},
                                     {"v_scale", &p.v_scale}})
    *member = argument_number(quoted(name), fields[name]);
  p.mask = choice_of("mask", fields["mask"], kMasks);
  p.kv_order = choice_of("kv_order", fields["kv_order"], kOrders);
  p.kv_layout = choice_of("kv_layout", fields["kv_layout"], kLayouts);
  p.flags = flags_of(fields, kProblemFlags) |
            static_cast<std::uint32_t>(choice_of("numerics", fields["numerics"], kNumerics)) |
            static_cast<std::uint32_t>(choice_of("kv_scales", fields["kv_scales"], kKvScales));
  p.kv_lengths = read_lengths(fields, "kv_lengths", p.batch, "the batch", kv_lengths_);
  p.prefix_lengths =
      read_lengths(fields, "prefix_lengths", p.prefix_groups, "the number of groups", prefix_lengths_);
}

void ProblemValues::read_options(const nb::dict& fields) {
  backend_ = argument_text("'backend'", fields["backend"]);
  options_.backend = to_c(backend_);
  rules_ = argument_text("'rules'", fields["rules"]);
  options_.rules = to_c(rules_);
  options_.splits = count_of("splits", fields["splits"]);
  options_.split_tokens = count_of("split_tokens", fields["split_tokens"]);
  constexpr Choice kFlags[] = {{"existing_kernels", CUBINET_PLAN_EXISTING_KERNELS},
                               {"starts_early", CUBINET_PLAN_STARTS_EARLY},
                               {"loaded_kernels", CUBINET_PLAN_LOADED_KERNELS}};
  options_.flags = flags_of(fields, kFlags);
}

std::int32_t element_type(const std::string& name, const char* argument) {
  const std::int32_t type = cubinet::dlpack::type_named(name);
  if (type == 0) {
    refuse(std::string("'") + argument + "' is \"" + name + "\"",
           "use one of " + cubinet::dlpack::type_names());
  }
  return type;
}

}  // namespace cubinet_python
