// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/json_object.hpp>
#include <cubinet/session/workload.hpp>

#include <nlohmann/json.hpp>

#include <limits>
#include <optional>
#include <type_traits>

namespace cubinet {

// Writes the fields that visit_fields() names into a JSON object. Absent optional fields are left
// out.
struct FieldWriter {
  nlohmann::json object = nlohmann::json::object();

  template <class Value>
  void operator()(const char* name, const Value& value) {
    if constexpr (std::is_enum_v<Value>) {
      object[name] = to_string(value);
    } else {
      object[name] = value;
    }
  }
  template <class Value>
  void operator()(const char* name, const std::optional<Value>& value) {
    if (value) (*this)(name, *value);
  }
};

inline std::string_view to_string(KvOrder order) {
  return order == KvOrder::nhd ? "nhd" : "hnd";
}

// Return the last value of an enumeration, whose values are contiguous from 0.
constexpr DataType last_of(DataType) {
  return DataType::uint64;
}
constexpr QkvLayout last_of(QkvLayout) {
  return QkvLayout::contiguous_kv;
}
constexpr AttentionMask last_of(AttentionMask) {
  return AttentionMask::custom;
}
constexpr SparseAttention last_of(SparseAttention) {
  return SparseAttention::dynamic_token;
}
constexpr KvOrder last_of(KvOrder) {
  return KvOrder::hnd;
}
constexpr AttentionNumerics last_of(AttentionNumerics) {
  return AttentionNumerics::invariant;
}

constexpr KvScales last_of(KvScales) {
  return KvScales::sequence;
}

// Reads the fields that visit_fields() names from a JSON object. Keeps the first error.
class FieldReader {
 public:
  explicit FieldReader(JsonObject& object) : object_(object) {}

  template <class Value>
  void operator()(const char* name, Value& value) {
    if (error_) return;
    const auto member = object_.get(name);
    if (!member) {
      error_ = member.error();
    } else if (!read(**member, value)) {
      error_ = object_.error_at(name, "'" + std::string(name) + "' has a wrong value");
    }
  }
  template <class Value>
  void operator()(const char* name, std::optional<Value>& value) {
    if (!error_ && object_.has(name)) (*this)(name, value.emplace());
  }
  Result<void> result() const {
    if (error_) return *error_;
    return {};
  }

 private:
  static bool read(const JsonValue& json, bool& value) {
    if (json.is_flag()) value = json.flag();
    return json.is_flag();
  }
  static bool read(const JsonValue& json, double& value) {
    if (json.is_number()) value = json.number();
    return json.is_number();
  }
  static bool read(const JsonValue& json, std::string& value) {
    if (json.is_text()) value = json.text();
    return json.is_text();
  }
  template <class Item, std::size_t count>
  static bool read(const JsonValue& json, std::array<Item, count>& value) {
    if (!json.is_list() || json.items().size() != count) return false;
    for (std::size_t i = 0; i < count; ++i)
      if (!read(json.items()[i], value[i])) return false;
    return true;
  }
  template <class Value>
  static bool read(const JsonValue& json, Value& value) {
    if constexpr (std::is_enum_v<Value>) {
      const auto last = static_cast<unsigned>(last_of(Value()));
      for (unsigned i = 0; json.is_text() && i <= last; ++i) {
        if (to_string(static_cast<Value>(i)) != json.text()) continue;
        value = static_cast<Value>(i);
        return true;
      }
      return false;
    } else {
      const auto number = json.integer();
      if (!number || *number < 0) return false;
      if (static_cast<std::uint64_t>(*number) > std::numeric_limits<Value>::max()) return false;
      value = static_cast<Value>(*number);
      return true;
    }
  }

  JsonObject& object_;
  std::optional<Error> error_;
};

// Name the fields in the order of their declarations.

template <class Visitor>
void visit_fields(Visitor& field, AttentionProblem& problem) {
  field("prefill", problem.prefill);
  field("batch", problem.batch);
  field("q_len", problem.q_len);
  field("kv_len", problem.kv_len);
  field("heads_q", problem.heads_q);
  field("heads_kv", problem.heads_kv);
  field("head_dim_qk", problem.head_dim_qk);
  field("head_dim_v", problem.head_dim_v);
  field("dtype_q", problem.data_type_q);
  field("dtype_k", problem.data_type_k);
  field("dtype_v", problem.data_type_v);
  field("dtype_o", problem.data_type_o);
  field("layout", problem.layout);
  field("page_size", problem.tokens_per_page);
  field("mask", problem.mask);
  field("window", problem.window);
  field("chunk", problem.chunk);
  field("sparse", problem.sparse);
  field("top_k", problem.top_k);
  field("skips_softmax", problem.skips_softmax);
  field("sinks", problem.sinks);
  field("sage_block", problem.sage_block);
  field("kv_order", problem.kv_order);
  field("separate_page_tables", problem.separate_page_tables);
  field("ragged_q", problem.ragged_q);
  field("lse", problem.lse);
  field("softmax_scale", problem.softmax_scale);
  field("soft_cap", problem.soft_cap);
  field("output_scale", problem.output_scale);
  field("scales_on_device", problem.scales_on_device);
  std::optional<KvScales> kv_scales;
  if (problem.kv_scales != KvScales::none) kv_scales = problem.kv_scales;
  field("kv_scales", kv_scales);
  if (kv_scales) problem.kv_scales = *kv_scales;
  std::optional<AttentionNumerics> numerics;
  if (problem.is_invariant()) numerics = problem.numerics;
  field("numerics", numerics);
  if (numerics) problem.numerics = *numerics;
}

template <class Visitor>
void visit_fields(Visitor& field, AttentionProblem::Append& append) {
  field("dtype", append.data_type);
  field("rope_dim", append.rope_dim);
  field("interleaved", append.interleaved);
  field("positions", append.positions);
  field("lengths_exclude_new", append.lengths_exclude_new);
  field("attends", append.attends);
  field("q_scale", append.q_scale);
  field("k_scale", append.k_scale);
  field("v_scale", append.v_scale);
}

template <class Visitor>
void visit_fields(Visitor& field, PlanOptions& options) {
  field("backend", options.backend);
  field("may_compile", options.may_compile);
  field("starts_early", options.starts_early);
  field("splits", options.splits);
  field("split_tokens", options.split_tokens);
  field("rules", options.rules);
  field("uses_tuning", options.uses_tuning);
}

template <class Visitor>
void visit_fields(Visitor& field, WorkloadRecording& recording) {
  field("hits", recording.hits);
  field("loads", recording.loads);
  field("compiled", recording.compiled);
  field("misses", recording.misses);
  field("failures", recording.failures);
}

}  // namespace cubinet
