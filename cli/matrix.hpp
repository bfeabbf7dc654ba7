// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/kernel_templates/template_catalog.hpp>
#include <cubinet/spec/image_target.hpp>
#include <cubinet/spec/kernel_key.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet::cli {

// A matrix file, as `prebuild` reads it:
//   {"kernels": [{"template": NAME, "parameters": {NAME: [VALUE, ...], ...}, "targets": [TARGET, ...]}, ...]}
// Each element stands for the product of all its lists. A value may stand without its list.
struct MatrixElement {
  std::string template_name;
  std::map<std::string, std::vector<ParameterValue>> parameters;
  std::vector<ImageTarget> targets;
};

// invalid_argument says where: "FILE: kernels[2].targets: …", or "FILE:12: …" with the line of a syntax
// error.
Result<std::vector<MatrixElement>> parse_matrix(std::string_view text, std::string_view origin);

struct MatrixKernel {
  KernelSpec given;  // as the matrix gives it, without defaults: for messages
  KernelSpec spec;   // resolved
  ImageTarget target;
  KernelIdentity identity;

  std::string to_string() const;  // "rms_norm(hidden_size=4096) for sm_90a"
};

struct MatrixRefusal {
  KernelSpec spec;  // as the matrix gives it
  ImageTarget target;
  Error error;
};

struct MatrixExpansion {
  std::vector<MatrixKernel> kernels;   // each identity once, in the matrix's order
  std::vector<MatrixRefusal> refused;  // combinations that their template refuses, by name
};

// The I-th of N equal parts of a matrix: kernels in the order of their keys, every N-th of them. The parts
// are the same whatever the order of the matrix, and together all of it.
struct MatrixShard {
  std::uint64_t index = 1;  // from 1
  std::uint64_t count = 1;

  static Result<MatrixShard> parse(std::string_view text);  // "2/8"
  std::string to_string() const;
};
// In the order of the kernels given.
std::vector<MatrixKernel> take_shard(std::vector<MatrixKernel> kernels, MatrixShard shard);

// No matrix may stand for more combinations: a slip of the pen must not fill the memory.
inline constexpr std::uint64_t kMaximumCombinations = 100'000;

// Every combination, resolved and checked against its target; an unknown template or parameter is an error,
// not a refusal. `options` are a part of each request.
Result<MatrixExpansion> expand_matrix(const std::vector<MatrixElement>& elements,
                                      const TemplateCatalog& catalog, const CompilerOptions& options = {});

}  // namespace cubinet::cli
