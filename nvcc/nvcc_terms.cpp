// SPDX-License-Identifier: Apache-2.0
#include "nvcc_terms.hpp"

#include <array>
#include <utility>

namespace cubinet::nvcc {
namespace {

constexpr auto kNvccTerms = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"`CompileOptions::include_directories`", "-I"},
    {"`CompilerSearch::bundled_headers`", "CUBINET_HOME"},
    {"`CompilerSearch::toolkit_roots`", "CUDA_HOME"},
    {"`CompilerSearch::wheel_roots`", "CUBINET_CUDA_WHEELS"},
    {"`HomeOptions::path`", "CUBINET_HOME"},
    {"`SessionOptions::bundles`", "CUBINET_NVCC_BUNDLES"},
    {"`SessionOptions::compile`", "CUBINET_COMPILE"},
    {"`SessionOptions::home`", "CUBINET_HOME"},
    {"`SessionOptions::site_homes`", "CUBINET_SITE_HOMES"},
    {"`report_compilers()`", "`cubinet doctor`"},
});

}  // namespace

std::string in_nvcc_terms(std::string_view text) {
  std::string said(text);
  for (const auto& [api, term] : kNvccTerms) {
    for (std::size_t at = said.find(api); at != std::string::npos; at = said.find(api, at + term.size()))
      said.replace(at, api.size(), term);
  }
  return said;
}

}  // namespace cubinet::nvcc
