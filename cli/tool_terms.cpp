// SPDX-License-Identifier: Apache-2.0
#include "tool_terms.hpp"

#include <algorithm>
#include <iterator>

namespace cubinet::cli {
namespace {

struct Term {
  std::string_view api;   // as a message of the library writes it, without the backticks
  std::string_view tool;  // replaces it together with the backticks
};

// scripts/check_layout.py requires a line for each API name that a message of the library contains.
constexpr Term kTerms[] = {
    {"Append::positions", "positions"},  // no verb has an option for it
    {"AttentionMerge::Problem::data_type", "--dtype"},
    {"AttentionMerge::Problem::data_type_o", "--dtype-o"},
    {"AttentionMerge::Problem::head_dim", "--head-dim"},
    {"AttentionMerge::Problem::heads", "--heads"},
    {"AttentionMerge::Problem::output_scale", "--output-scale"},
    {"AttentionProblem::Append::data_type", "--dtype-q"},
    {"AttentionProblem::Append::rope_dim", "--rope-dim"},
    {"AttentionProblem::batch", "--batch"},
    {"AttentionProblem::chunk", "chunk"},  // no verb has an option for it
    {"AttentionProblem::head_dim_qk", "--head-dim-qk"},
    {"AttentionProblem::head_dim_v", "--head-dim-v"},
    {"AttentionProblem::heads_kv", "--heads-kv"},
    {"AttentionProblem::heads_q", "--heads-q"},
    {"AttentionProblem::kv_len", "--kv-len"},
    {"AttentionProblem::kv_lengths", "--kv-lengths"},
    {"AttentionProblem::kv_order", "--layout"},
    {"AttentionProblem::kv_scales", "--kv-scales"},
    {"AttentionProblem::lse", "--lse"},
    {"AttentionProblem::mask", "--mask"},
    {"AttentionProblem::numerics", "--numerics"},
    {"AttentionProblem::output_scale", "--output-scale"},
    {"AttentionProblem::q_len", "--q-len"},
    {"AttentionProblem::ragged_q", "--ragged-q"},
    {"AttentionProblem::soft_cap", "--soft-cap"},
    {"AttentionProblem::softmax_scale", "--softmax-scale"},
    {"AttentionProblem::tokens_per_page", "--page-size"},
    {"AttentionProblem::top_k", "top_k"},  // no verb has an option for it
    {"AttentionProblem::window", "--window"},
    {"BenchmarkCase::goals", "--goal"},
    {"BenchmarkCase::kv_lengths", "--kv-lengths"},
    {"BenchmarkCase::q_lengths", "--q-lengths"},
    {"BenchmarkOptions::peer_folder", "--peer-inputs"},
    {"BenchmarkOptions::peers", "--peer"},
    {"BenchmarkOptions::rounds", "--iterations"},
    {"BundleOptions::channel", "--channel"},
    {"BundleOptions::created", "--created"},
    {"BundleOptions::expires", "--expires"},
    {"CompileOptions::include_directories", "-I"},
    {"CompileOptions::library_directories", "-L"},
    {"CompilerSearch::bundled_headers", "--home"},
    {"CompilerSearch::library", "--nvrtc"},
    {"CompilerSearch::toolkit_roots", "CUDA_HOME"},
    {"CompilerSearch::wheel_roots", "CUBINET_CUDA_WHEELS"},
    {"Device::make_current", "Device::make_current"},  // no verb uses a context of others
    {"DeviceFacts::sm_count", "--sm-count"},
    {"Home::repair()", "`cubinet registry repair`"},
    {"Home::set_limit()", "`cubinet registry limit`"},
    {"HomeOptions::path", "--home or CUBINET_HOME"},
    {"HttpSettings::authorities_file", "--ca"},
    {"HttpSettings::client_certificate", "--cert"},
    {"HttpSettings::client_key", "--cert-key"},
    {"HttpSettings::offline", "--offline"},
    {"HttpSettings::plain_http", "--plain-http"},
    {"HttpSettings::proxy", "HTTPS_PROXY"},
    {"KernelKey::to_string()", "`cubinet key`"},
    {"KeySetTurn::first", "`cubinet trust update KEYSET --first`"},
    {"KeySetTurn::next", "`cubinet trust update` without --first"},
    {"MirrorFoldersOptions::lists", "--checksums sha256:DIGEST, several by --checksums FILE"},
    {"PinOptions::manifest", "--manifest"},
    {"PlanOptions::may_compile", "PlanOptions::may_compile"},  // verbs plan and bind with one Runtime
    {"PlanOptions::rules", "--rules"},
    {"Runtime::resolve()", "cubinet"},
    {"PrebuildOptions::matrix", "MATRIX"},
    {"PrebuildOptions::request", "--device and --problems"},
    {"PrebuildOptions::skip_refused", "--skip-refused"},
    {"PrebuildOptions::workload", "--workload"},
    {"Runtime::resolve(name, image)", "`cubinet registry add FILE --name NAME`"},
    {"Runtime::release()", "Runtime::release()"},  // no verb keeps a plan
    // No verb has a limit, looks up without loading or trims.
    {"Runtime::function()", "Runtime::function()"},
    {"Runtime::trim()", "Runtime::trim()"},
    {"Runtime::freeze()", "Runtime::freeze()"},  // no verb freezes
    {"Runtime::thaw()", "Runtime::thaw()"},
    {"RuntimeOptions::module_limit", "RuntimeOptions::module_limit"},
    {"Runtime::rows()", "Runtime::rows()"},  // no verb keeps a plan
    {"RuntimeOptions::compile", "`cubinet compile`"},
    {"RuntimeOptions::templates", "--template-file"},
    {"SecretKey::generate()", "`cubinet trust keygen`"},
    {"SecretKey::parse()", "--password-file, or --cache-key-password for the key of a cache"},
    {"ServerAccess::password", "--password-file"},
    {"ServerAccess::token", "the login of docker"},
    {"ServerAccess::user", "--user"},
    {"SessionOptions::builtin_bundle", "CUBINET_BUILTIN_BUNDLE"},
    {"SessionOptions::bundles", "--bundle"},
    {"SessionOptions::compile", "CUBINET_COMPILE"},
    {"SessionOptions::home", "--home or CUBINET_HOME"},
    {"SessionOptions::site_homes", "--site-home or CUBINET_SITE_HOMES"},
    // --shared-prefix has one group.
    {"SharedPrefixProblem::group_tokens", "group_tokens"},
    {"SharedPrefixProblem::groups", "groups"},
    {"SharedPrefixProblem::prefix_len", "--shared-prefix"},
    {"SharedPrefixProblem::prefix_lengths", "prefix_lengths"},
    {"SharedPrefixProblem::query_tokens", "query_tokens"},
    {"SourceProgram::globals", "--global"},
    {"SourceProgram::preludes", "--prelude"},
    {"Store::list()", "`cubinet registry list`"},
    {"import_artifacts()", "`cubinet import-artifacts`"},
    {"import_sources()", "`cubinet import-sources`"},
    {"materialize_cache()", "`cubinet materialize`"},
    {"pin_channel()", "`cubinet channel pin`"},
    {"report_cubin()", "`cubinet inspect`"},
    {"TuneOptions::table_file", "`cubinet tune --output`"},
    {"prebuild()", "`cubinet prebuild`"},
    {"report_compilers()", "`cubinet doctor`"},
    {"tune_attention()", "`cubinet tune`"},
    {"unpin_channel()", "`cubinet channel unpin`"},
};

}  // namespace

std::string in_tool_terms(std::string_view text) {
  std::string said;
  while (true) {
    const std::size_t begin = text.find('`');
    const std::size_t end = begin == std::string_view::npos ? begin : text.find('`', begin + 1);
    if (end == std::string_view::npos) return said.append(text);
    const std::string_view name = text.substr(begin + 1, end - begin - 1);
    const auto* const term = std::find_if(std::begin(kTerms), std::end(kTerms),
                                          [&](const Term& each) { return each.api == name; });
    if (term == std::end(kTerms)) {
      said.append(text.substr(0, begin + 1));
      text.remove_prefix(begin + 1);
      continue;
    }
    said.append(text.substr(0, begin)).append(term->tool);
    text.remove_prefix(end + 1);
  }
}

}  // namespace cubinet::cli
