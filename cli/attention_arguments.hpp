// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "target_options.hpp"

#include <cubinet/attention/problem.hpp>
#include <cubinet/attention/shared_prefix.hpp>
#include <cubinet/base/result.hpp>

#include <CLI/App.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace cubinet::cli {

// The options that describe an attention problem. A value of 0 or "" is an option that was not
// given.
struct AttentionArguments {
  std::string operation = "decode";
  std::uint32_t batch = 1;
  std::uint32_t q_len = 0;
  std::uint32_t kv_len = 0;
  std::uint32_t heads_q = 0;
  std::uint32_t heads_kv = 0;
  std::uint32_t head_dim_qk = 0;
  std::uint32_t head_dim_v = 0;
  std::string dtype_q = "bf16";
  std::string dtype_kv;
  std::string dtype_o;
  std::uint32_t page_size = 64;
  std::uint32_t window = 0;
  std::string mask = "causal";
  std::string kv_order;
  std::string qkv_layout = "paged";
  std::string page_tables = "shared";
  bool sinks = false;
  bool lse = false;
  bool ragged_q = false;
  std::optional<double> softmax_scale;
  std::optional<double> soft_cap;
  double output_scale = 1;
  bool scales_on_device = false;
  std::string kv_scales = "none";
  std::string numerics = "fast";
  bool append = false;
  std::string rope = "halves";
  std::uint32_t rope_dim = 0;
  bool lengths_exclude_new = false;
  std::uint32_t shared_prefix = 0;  // tokens of kv_len; 0: none
};

// The options that describe a device, which need not be present.
struct DeviceArguments {
  std::string device;
  std::uint32_t sm_count = 0;
};

// Adds all options except the operation. The operation is an option of one command and the name of
// another.
void add_attention_arguments(CLI::App& verb, AttentionArguments& arguments);
void add_operation_argument(CLI::App& verb, AttentionArguments& arguments);
void add_device_arguments(CLI::App& verb, DeviceArguments& arguments);
// Adds --rules, PlanOptions::rules.
void add_rules(CLI::App& verb, std::string& rules);
CLI::Option* add_sm_count(CLI::App& verb, DeviceArguments& arguments);
inline constexpr const char* kAttentionOperations[] = {"decode", "prefill", "mla-decode"};

// Returns the data type. The message of invalid_argument names the option and the possible values.
Result<DataType> parse_data_type_option(const std::string& name, const char* option);
// Returns the checked problem. The message of invalid_argument names the wrong option.
// The KV of the problem includes a shared prefix, which shared_prefix_of() separates.
Result<AttentionProblem> attention_problem_of(const AttentionArguments& arguments);
// Returns the same problem with its shared prefix, or nullopt if it has none.
Result<std::optional<SharedPrefixProblem>> shared_prefix_of(const AttentionArguments& arguments,
                                                            const AttentionProblem& problem);
// Returns invalid_argument if the number of SMs was not given and is not known.
Result<DeviceFacts> device_facts_of(const DeviceArguments& arguments);

}  // namespace cubinet::cli
