// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/backend.hpp>
#include <cubinet/kernel_templates/template_catalog.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

// The kernels of the bundle in the Python package: their choice, and plans over them.
namespace cubinet::test {

// A device that the bundle serves, and the target of its builds for the device.
struct BuiltinDevice {
  SmTarget target;
  DeviceFacts facts;
};

// The A100, H200, B200 and RTX PRO 6000, whose plans the bundle serves without a compilation.
std::vector<BuiltinDevice> builtin_devices();

// The types, dims and windows of the problems that the bundle serves.
struct BuiltinType {
  DataType kv = DataType::bf16;  // Q and O are bf16
  std::uint32_t head_dim = 128;  // 576: latent attention, whose V has 512 columns
  bool windows = false;

  bool latent() const { return head_dim == 576; }
};
std::vector<BuiltinType> builtin_types(SmTarget target);
// Tokens of a page.
inline constexpr std::uint32_t kBuiltinPages[] = {16, 64, 256};
// Returns those that the decode templates have.
std::vector<std::uint32_t> existing_pages();

// Heads of Q and KV of a model, on one GPU.
struct ModelHeads {
  std::uint32_t q = 1;
  std::uint32_t kv = 1;
};
// Returns the heads of known models divided among 1, 2, 4 and 8 GPUs, each once. A GPU has at least
// one KV head.
std::vector<ModelHeads> model_heads(const BuiltinType& type);

// Returns a problem of a known model: batches to 256, KV to 131,072 tokens, 1 to 8 query tokens,
// sequences of equal lengths, which are known or not, and with an append or without.
AttentionProblem random_problem(std::mt19937& random, const BuiltinType& type, std::uint32_t page);

// A set of kernels for targets. Every kernel is complete.
class KernelSet {
 public:
  explicit KernelSet(TemplateCatalog catalog) : catalog_(std::move(catalog)) {}

  void add(const KernelSpec& spec, SmTarget target);
  bool has(const KernelSpec& spec, SmTarget target) const;
  std::size_t size() const;
  std::size_t size(SmTarget target) const;
  // Returns the rows of the kernels as a device would find them if all were built.
  AvailableKernels available(const BuiltinDevice& device) const;
  // Returns the matrix of `cubinet prebuild` that names the kernels. Equal sets have equal texts.
  std::string matrix() const;

  friend bool operator==(const KernelSet& a, const KernelSet& b) { return a.kernels_ == b.kernels_; }

 private:
  KernelSpec resolved(const KernelSpec& spec) const;
  KernelSpec without_defaults(const KernelSpec& spec) const;

  TemplateCatalog catalog_;
  std::map<SmTarget, std::map<std::string, KernelSpec>> kernels_;  // by target and text
};

// Chooses the kernels: plans random problems for each device and adds the kernels of the best plan
// where those chosen before are not within kChosenFactor of it. The factor is below
// kExistingBuildFactor, so that problems between the planned ones are served too.
inline constexpr double kChosenFactor = 1.02;
KernelSet choose_builtin_kernels();

}  // namespace cubinet::test
