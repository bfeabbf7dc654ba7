// SPDX-License-Identifier: Apache-2.0
#include "attention_arguments.hpp"

#include "arguments.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/session/checked_shared_prefix.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace cubinet::cli {
namespace {

constexpr std::int64_t kMost = kUnlimited;

AttentionMask mask_of(const std::string& name) {
  if (name == "dense") return AttentionMask::dense;
  return name == "custom" ? AttentionMask::custom : AttentionMask::causal;
}

// Checks a problem. Options that no kernel of any device can honour together are wrong usage, not a
// lack of this machine.
Result<void> check_usage(const AttentionProblem& problem) {
  auto checked = check_problem(problem);
  if (checked || checked.error().code != ErrorCode::unsupported) return checked;
  Error error = std::move(checked).error();
  error.code = ErrorCode::invalid_argument;
  return error;
}

KvScales kv_scales_of(const std::string& name) {
  if (name == "head") return KvScales::head;
  return name == "sequence" ? KvScales::sequence : KvScales::none;
}

QkvLayout layout_of(const AttentionArguments& arguments) {
  if (arguments.qkv_layout == "separate") return QkvLayout::separate_qkv;
  if (arguments.qkv_layout == "packed") return QkvLayout::packed_qkv;
  const bool pages = arguments.qkv_layout == "paged" && arguments.page_size != 0;
  return pages ? QkvLayout::paged_kv : QkvLayout::contiguous_kv;
}

std::uint32_t given_or(std::uint32_t value, std::uint32_t otherwise) {
  return value != 0 ? value : otherwise;
}

// Returns bf16 for narrow types of Q, because few kernels write narrow outputs.
DataType default_output(DataType q) {
  return bits_of(q) >= 16 ? q : DataType::bf16;
}

void add_append_arguments(CLI::App& verb, AttentionArguments& arguments) {
  CLI::Option* const append = verb.add_flag(
      "--append", arguments.append,
      "K, V and Q of the query tokens come as new rows: rotated, quantised and put into the cache first");
  verb.add_option("--rope", arguments.rope,
                  "with --append, what is rotated together: halves (default), interleaved or none")
      ->check(CLI::IsMember({"halves", "interleaved", "none"}))
      ->type_name("PAIRS")
      ->needs(append);
  add_integer(verb, "--rope-dim", arguments.rope_dim, 1, kMost,
              "with --append, columns that are rotated (default: all of Q and K)")
      ->needs(append);
  verb.add_flag("--lengths-exclude-new", arguments.lengths_exclude_new,
                "with --append, the lengths on the device do not include the new tokens")
      ->needs(append);
}

}  // namespace

void add_operation_argument(CLI::App& verb, AttentionArguments& arguments) {
  verb.add_option("--op", arguments.operation, "decode (default), prefill or mla-decode")
      ->check(CLI::IsMember(
          std::vector<std::string>(std::begin(kAttentionOperations), std::end(kAttentionOperations))))
      ->type_name("OPERATION");
}

void add_attention_arguments(CLI::App& verb, AttentionArguments& arguments) {
  add_integer(verb, "--batch", arguments.batch, 1, kMost, "Sequences (default: 1)");
  add_integer(verb, "--q-len", arguments.q_len, 1, kMost,
              "Query tokens of a sequence (default: 1; prefill: as --kv-len)");
  add_integer(verb, "--kv-len", arguments.kv_len, 1, kMost,
              "Tokens of the longest sequence, the query's included")
      ->required();
  add_integer(verb, "--heads-q", arguments.heads_q, 1, kMost, "Query heads")->required();
  add_integer(verb, "--heads-kv", arguments.heads_kv, 1, kMost,
              "KV heads; divide the query heads (default: as many; mla-decode: 1)");
  add_integer(verb, "--head-dim-qk", arguments.head_dim_qk, 1, kMost,
              "Elements of a row of Q and K (default: 128; mla-decode: 576)");
  add_integer(verb, "--head-dim-v", arguments.head_dim_v, 1, kMost,
              "Elements of a row of V (default: as Q and K; mla-decode: 512)");
  add_text(verb, "--dtype-q", arguments.dtype_q, "TYPE", "bf16 (default), fp16, fp32, e4m3, e2m1");
  add_text(verb, "--dtype-kv", arguments.dtype_kv, "TYPE", "of K and V (default: as Q)");
  add_text(verb, "--dtype-o", arguments.dtype_o, "TYPE",
           "of the output (default: bf16; fp16 and fp32 where Q is)");
  add_integer(verb, "--page-size", arguments.page_size, 0, kMost,
              "Tokens of a page (default: 64); 0: KV is contiguous");
  add_integer(verb, "--window", arguments.window, 1, kMost, "Newest tokens that a query sees (default: all)");
  verb.add_option("--mask", arguments.mask,
                  "causal (default), dense, or custom: a packed mask of the query tokens")
      ->check(CLI::IsMember({"causal", "dense", "custom"}))
      ->type_name("MASK");
  verb.add_flag("--sinks", arguments.sinks, "With attention sinks");
  verb.add_option("--layout", arguments.kv_order,
                  "of the pages: nhd (default), token by token; hnd, head by head")
      ->check(CLI::IsMember({"nhd", "hnd"}))
      ->type_name("LAYOUT");
  verb.add_option(
          "--qkv-layout", arguments.qkv_layout,
          "paged (default), contiguous (a cache a sequence), separate (Q, K and V of sequences side by "
          "side) or packed")
      ->check(CLI::IsMember({"paged", "contiguous", "separate", "packed"}))
      ->type_name("LAYOUT");
  verb.add_option("--page-tables", arguments.page_tables, "shared by K and V (default), or separate")
      ->check(CLI::IsMember({"shared", "separate"}))
      ->type_name("TABLES");
  verb.add_flag("--lse", arguments.lse, "With the log-sum-exp of each row");
  verb.add_flag("--ragged-q", arguments.ragged_q,
                "Sequences have at most --q-len query tokens, side by side");
  verb.add_option("--softmax-scale", arguments.softmax_scale,
                  "Of Q K^T (default: 1 / sqrt(head dim); mla-decode: 1 / sqrt(192))")
      ->type_name("X");
  verb.add_option("--soft-cap", arguments.soft_cap, "Logits x become X * tanh(x / X) (default: they do not)")
      ->type_name("X");
  verb.add_option("--output-scale", arguments.output_scale, "Of the output (default: 1)")->type_name("X");
  verb.add_flag("--scales-on-device", arguments.scales_on_device, "All scales are read from the device");
  verb.add_option("--kv-scales", arguments.kv_scales,
                  "of e4m3 K and V, beside those of the problem: none (default), one for each KV head "
                  "(head), or for each KV head of each sequence (sequence); runs have random ones")
      ->check(CLI::IsMember({"none", "head", "sequence"}))
      ->type_name("SCALES");
  verb.add_option("--numerics", arguments.numerics,
                  "fast (default), or invariant: a row has the same bits in every batch, chunk and stage")
      ->check(CLI::IsMember({"fast", "invariant"}))
      ->type_name("NUMERICS");
  add_integer(verb, "--shared-prefix", arguments.shared_prefix, 1, kMost,
              "Tokens that all sequences begin with, read once for all; part of --kv-len (default: none)");
  add_append_arguments(verb, arguments);
}

void add_device_arguments(CLI::App& verb, DeviceArguments& arguments) {
  add_text(verb, "--device", arguments.device, "DEVICE", "10.3 or sm_103; need not be here")->required();
  add_sm_count(verb, arguments);
}

void add_rules(CLI::App& verb, std::string& rules) {
  add_text(
      verb, "--rules", rules, "VERSION",
      "Select published kernels by the rules of this FlashInfer, 0.6.17 (default: the newest that has their "
      "header)");
}

CLI::Option* add_sm_count(CLI::App& verb, DeviceArguments& arguments) {
  return add_integer(verb, "--sm-count", arguments.sm_count, 1, kMost,
                     "Its multiprocessors (known by themselves: " + usual_devices() + ")");
}

// Returns the append of the options. Its rows have the type of Q if that has 16 bits, else bf16.
AttentionProblem::Append append_of(const AttentionArguments& arguments, const AttentionProblem& problem) {
  AttentionProblem::Append append;
  if (bits_of(problem.data_type_q) == 16) append.data_type = problem.data_type_q;
  if (arguments.rope != "none") append.rope_dim = given_or(arguments.rope_dim, problem.head_dim_qk);
  append.interleaved = arguments.rope == "interleaved";
  append.lengths_exclude_new = arguments.lengths_exclude_new;
  return append;
}

Result<DataType> parse_data_type_option(const std::string& name, const char* option) {
  if (const auto type = parse_data_type(name)) return *type;
  std::vector<std::string> names;
  for (const DataType type : all_data_types())
    names.emplace_back(to_string(type));
  return Error{ErrorCode::invalid_argument,
               fmt::format("{}: '{}' is no data type", option, name.substr(0, 40)),
               "write one of " + join(names)};
}

Result<AttentionProblem> attention_problem_of(const AttentionArguments& arguments) {
  const bool latent = arguments.operation == "mla-decode";
  AttentionProblem problem;
  problem.prefill = arguments.operation == "prefill";
  problem.batch = arguments.batch;
  problem.kv_len = arguments.kv_len;
  problem.q_len = given_or(arguments.q_len, problem.is_generation() ? 1 : problem.kv_len);
  problem.heads_q = arguments.heads_q;
  problem.heads_kv = given_or(arguments.heads_kv, latent ? 1 : problem.heads_q);
  problem.head_dim_qk = given_or(arguments.head_dim_qk, latent ? 576 : 128);
  problem.head_dim_v = given_or(arguments.head_dim_v, latent ? 512 : problem.head_dim_qk);
  if (latent && !problem.is_mla_generation()) {
    return Error{
        ErrorCode::invalid_argument,
        fmt::format("mla-decode has head dims 576/512, not {}/{}", problem.head_dim_qk, problem.head_dim_v),
        "leave --head-dim-qk and --head-dim-v out, or ask for decode"};
  }
  CUBINET_TRY_ASSIGN(problem.data_type_q, parse_data_type_option(arguments.dtype_q, "--dtype-q"));
  CUBINET_TRY_ASSIGN(problem.data_type_k,
                     parse_data_type_option(
                         arguments.dtype_kv.empty() ? arguments.dtype_q : arguments.dtype_kv, "--dtype-kv"));
  problem.data_type_v = problem.data_type_k;
  problem.data_type_o = default_output(problem.data_type_q);
  if (!arguments.dtype_o.empty()) {
    CUBINET_TRY_ASSIGN(problem.data_type_o, parse_data_type_option(arguments.dtype_o, "--dtype-o"));
  }
  problem.layout = layout_of(arguments);
  problem.tokens_per_page = arguments.page_size;
  problem.mask = mask_of(arguments.mask);
  problem.window = given_or(arguments.window, kUnlimited);
  problem.sinks = arguments.sinks;
  problem.kv_order = arguments.kv_order == "hnd" ? KvOrder::hnd : KvOrder::nhd;
  problem.separate_page_tables = arguments.page_tables == "separate";
  problem.lse = arguments.lse;
  problem.ragged_q = arguments.ragged_q;
  problem.softmax_scale = arguments.softmax_scale;
  problem.soft_cap = arguments.soft_cap;
  problem.output_scale = arguments.output_scale;
  problem.scales_on_device = arguments.scales_on_device;
  problem.kv_scales = kv_scales_of(arguments.kv_scales);
  if (arguments.numerics == "invariant") problem.numerics = AttentionNumerics::invariant;
  if (arguments.append) problem.append = append_of(arguments, problem);
  CUBINET_TRY(check_usage(problem));
  CUBINET_TRY(shared_prefix_of(arguments, problem));
  return problem;
}

Result<std::optional<SharedPrefixProblem>> shared_prefix_of(const AttentionArguments& arguments,
                                                            const AttentionProblem& problem) {
  if (arguments.shared_prefix == 0) return std::optional<SharedPrefixProblem>();
  CUBINET_TRY_ASSIGN(SharedPrefixProblem shared, one_prefix_problem(problem, arguments.shared_prefix));
  return std::optional(std::move(shared));
}

Result<DeviceFacts> device_facts_of(const DeviceArguments& arguments) {
  return DeviceFacts::named(arguments.device, arguments.sm_count);
}

}  // namespace cubinet::cli
