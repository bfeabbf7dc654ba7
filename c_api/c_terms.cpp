// SPDX-License-Identifier: Apache-2.0
#include "c_terms.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace cubinet::c_api {
namespace {

struct Term {
  std::string_view library;
  std::string_view c;
};

// Members that have another name in the header.
constexpr Term kMembers[] = {
    {"AttentionProblem::tokens_per_page", "problem.page_size"},
    {"AttentionProblem::data_type_q", "problem.type_q"},
    {"AttentionProblem::data_type_k", "problem.type_kv"},
    {"AttentionProblem::data_type_v", "problem.type_kv"},
    {"AttentionProblem::data_type_o", "problem.type_o"},
    {"AttentionProblem::ragged_q", "CUBINET_ATTENTION_RAGGED_Q"},
    {"AttentionProblem::lse", "CUBINET_ATTENTION_LSE"},
    {"AttentionProblem::sinks", "CUBINET_ATTENTION_SINKS"},
    {"AttentionProblem::scales_on_device", "CUBINET_ATTENTION_SCALES_ON_DEVICE"},
    {"AttentionProblem::numerics", "CUBINET_ATTENTION_INVARIANT"},
    {"AttentionProblem::kv_scales", "CUBINET_ATTENTION_HEAD_SCALES or CUBINET_ATTENTION_SEQUENCE_SCALES"},
    {"Append::data_type", "problem.append_type"},
    {"Append::interleaved", "CUBINET_ATTENTION_ROPE_INTERLEAVED"},
    {"Append::positions", "CUBINET_ATTENTION_POSITIONS"},
    {"Append::lengths_exclude_new", "CUBINET_ATTENTION_LENGTHS_EXCLUDE_NEW"},
    {"SharedPrefixProblem::groups", "problem.prefix_groups"},
    {"PlanOptions::may_compile", "CUBINET_PLAN_EXISTING_KERNELS"},
    {"PlanOptions::may_load", "CUBINET_PLAN_LOADED_KERNELS"},
    {"PlanOptions::starts_early", "CUBINET_PLAN_STARTS_EARLY"},
    {"PrebuildOptions::request", "options.problems"},
    {"HomeOptions::path", "home"},
    {"SessionOptions::site_homes", "site_home"},
    {"CompilerSearch::library", "nvrtc"},
    {"CompilerSearch::toolkit_roots", "toolkit"},
    {"CompilerSearch::wheel_roots", "cuda_wheels"},
    {"CompileOptions::include_directories", "include_directory"},
    {"CompileOptions::library_directories", "library_directory"},
    {"RuntimeOptions::module_limit", "module_limit"},
    {"Runtime::function()", "cubinet_function_get"},
    {"Runtime::release()", "cubinet_kernel_forget"},
    {"Runtime::freeze()", "cubinet_runtime_freeze"},
    {"Runtime::thaw()", "cubinet_runtime_thaw"},
    {"Runtime::trim()", "cubinet_runtime_trim"},
    {"Runtime::resolve()", "cubinet_kernel_from_spec"},
    {"Runtime::resolve", "cubinet_kernel_from_spec"},
    {"Device::make_current", "cuCtxSetCurrent"},
};

// Classes whose members have the same names in a structure, or are options of a configuration.
constexpr Term kClasses[] = {
    {"AttentionProblem", "problem."},
    {"Append", "problem."},
    {"Problem", "problem."},
    {"PlanOptions", "options."},
    {"PrebuildOptions", "options."},
    {"BundleOptions", "options."},
    {"LaunchConfig", "config."},
    {"SourceProgram", "source."},
    {"AttentionTensors", "tensors."},
    {"SharedPrefixProblem", "problem."},
    {"SessionOptions", ""},
    {"RuntimeOptions", ""},
    {"HomeOptions", ""},
    {"CompilerSearch", ""},
    {"CompileOptions", ""},
    {"DeviceFacts", ""},
};

bool is_name(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

// Returns the header's name of the qualified name, or an empty text if it has none.
std::string c_name_of(std::string_view qualified) {
  for (const Term& member : kMembers)
    if (member.library == qualified) return std::string(member.c);
  const std::size_t colons = qualified.find("::");
  for (const Term& each : kClasses) {
    if (each.library == qualified.substr(0, colons))
      return std::string(each.c) + std::string(qualified.substr(colons + 2));
  }
  return {};
}

}  // namespace

std::string in_c_terms(std::string text) {
  for (std::size_t colons = text.find("::"); colons != std::string::npos;
       colons = text.find("::", colons + 1)) {
    std::size_t begin = colons;
    while (begin > 0 && is_name(text[begin - 1]))
      --begin;
    std::size_t end = colons + 2;
    while (end < text.size() && is_name(text[end]))
      ++end;
    if (text.compare(end, 2, "()") == 0) end += 2;
    const std::string name = c_name_of(std::string_view(text).substr(begin, end - begin));
    if (name.empty()) continue;
    text.replace(begin, end - begin, name);
    colons = begin;
  }
  return text;
}

}  // namespace cubinet::c_api
