// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "target_options.hpp"

#include <cubinet/base/result.hpp>
#include <cubinet/selection/attention_problem.hpp>

#include <CLI/App.hpp>

#include <cstdint>
#include <string>

namespace cubinet::cli {

// An attention problem and a device that need not be here, as options say them. A value of 0 or "" is an
// option that was not given.
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
  std::string dtype_kv = "bf16";
  std::string dtype_o = "bf16";
  std::uint32_t page_size = 64;
  std::uint32_t window = 0;
  std::string mask = "causal";
  bool sinks = false;
  std::string device;
  std::uint32_t sm_count = 0;
};

void add_attention_arguments(CLI::App& verb, AttentionArguments& arguments);

// A data type by name; the error names the option.
Result<DataType> parse_data_type_option(const std::string& name, const char* option);

// The problem, checked. invalid_argument names what is wrong.
Result<AttentionProblem> attention_problem_of(const AttentionArguments& arguments);
// invalid_argument where the number of multiprocessors was not given and is not known.
Result<DeviceFacts> device_facts_of(const AttentionArguments& arguments);

}  // namespace cubinet::cli
