// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/kernel_templates/template_catalog.hpp>
#include <cubinet/session/prebuild.hpp>
#include <cubinet/spec/image_target.hpp>
#include <cubinet/spec/kernel_key.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// An element of a matrix:
//   {"kernels": [{"template": NAME, "parameters": {NAME: [VALUE, ...], ...},
//                 "targets": [TARGET, ...]}, ...]}
// It denotes the product of all its lists. A single value needs no list.
struct MatrixElement {
  std::string template_name;
  std::map<std::string, std::vector<ParameterValue>> parameters;
  std::vector<ImageTarget> targets;
};

// Parses a matrix. The message of invalid_argument begins with the location: "FILE:
// kernels[2].targets: …", or "FILE:12: …" with the line of a syntax error.
Result<std::vector<MatrixElement>> parse_matrix(std::string_view text, std::string_view origin);

struct MatrixKernel {
  KernelSpec given;  // as the matrix gives it, without defaults: for messages
  KernelSpec spec;   // resolved
  ImageTarget target;
  KernelIdentity identity;
};

struct MatrixExpansion {
  std::vector<MatrixKernel> kernels;             // each identity once, in the order of the matrix
  std::vector<PrebuildResult::Failure> refused;  // combinations that their template refuses
};

// Returns the kernels of one part of a matrix, in their order.
std::vector<MatrixKernel> take_shard(std::vector<MatrixKernel> kernels, MatrixShard shard);

// The most combinations of one matrix. A typing error must not fill the memory.
inline constexpr std::uint64_t kMaximumCombinations = 100'000;

// Returns every combination, resolved and checked against its target. An unknown template or
// parameter is an error, not a refusal. `options` are a part of each request.
Result<MatrixExpansion> expand_matrix(const std::vector<MatrixElement>& elements,
                                      const TemplateCatalog& catalog, const CompilerOptions& options = {});

}  // namespace cubinet
