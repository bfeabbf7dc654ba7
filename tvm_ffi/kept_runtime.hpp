// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/cubinet.h>
#include <cubinet/dlpack/tensor_role.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

namespace cubinet::tvm_ffi {

template <class Handle, void (*release)(Handle*)>
struct Releaser {
  void operator()(Handle* handle) const { release(handle); }
};
using RuntimeHandle = std::unique_ptr<cubinet_runtime, Releaser<cubinet_runtime, cubinet_runtime_release>>;
using AttentionHandle =
    std::unique_ptr<cubinet_attention, Releaser<cubinet_attention, cubinet_attention_release>>;
using WorkspaceHandle =
    std::unique_ptr<cubinet_workspace, Releaser<cubinet_workspace, cubinet_workspace_release>>;

// A plan whose kernels are loaded, and the tensors of its runs.
struct Plan {
  AttentionHandle attention;
  std::vector<dlpack::TensorRole> roles;
  std::uint64_t scratch_bytes = 0;
  std::uint64_t counter_bytes = 0;
};

// The name of a plan: the device, and the members of problem and options that the functions set.
using PlanKey = std::array<std::int64_t, 24>;
PlanKey key_of(const cubinet_attention_problem& problem, const cubinet_plan_options& options,
               std::int32_t device);

// A runtime with the plans and workspaces of the calls that named it. Plans and workspaces are kept
// until the runtime is closed, because a CUDA graph may use them. Thread-safe.
class KeptRuntime {
 public:
  explicit KeptRuntime(RuntimeHandle runtime) : runtime_(std::move(runtime)) {}

  // Returns the plan of a problem. The first call plans, compiles what is missing, and loads.
  Result<std::shared_ptr<const Plan>> plan(const cubinet_attention_problem& problem,
                                           const cubinet_plan_options& options, std::int32_t device);
  // Returns a workspace for the plan's runs on this stream, which runs of other plans share.
  Result<const cubinet_workspace*> workspace(const Plan& plan, std::int32_t device, void* stream);

 private:
  struct Workspace {
    std::uint64_t scratch_bytes;
    std::uint64_t counter_bytes;
    WorkspaceHandle handle;
  };

  RuntimeHandle runtime_;
  std::shared_mutex mutex_;  // guards the two maps
  std::map<PlanKey, std::shared_ptr<const Plan>> plans_;
  std::map<std::pair<std::int32_t, void*>, std::vector<Workspace>> workspaces_;
};

// Keeps a runtime for the process. Returns its number, which is never used again.
std::int64_t keep(std::shared_ptr<KeptRuntime> runtime);
// Returns the runtime of a number. Returns invalid_argument if there is none or it was closed.
Result<std::shared_ptr<KeptRuntime>> runtime_of(std::int64_t number);
// Forgets a runtime. It ends with the last call that uses it.
Result<void> drop(std::int64_t number);

}  // namespace cubinet::tvm_ffi
