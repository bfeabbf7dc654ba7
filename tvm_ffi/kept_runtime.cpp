// SPDX-License-Identifier: Apache-2.0
#include "kept_runtime.hpp"

#include "function.hpp"

#include <cubinet/base/fork_guard.hpp>
#include <cubinet/dlpack/attention_roles.hpp>

#include <fmt/format.h>

#include <atomic>
#include <bit>

namespace cubinet::tvm_ffi {
namespace {

// The runtimes of the process by their numbers. A call of this convention has no object that could
// own one. Never destroyed, so that a call in a thread that outlives main() finds it.
struct Runtimes {
  ForkGuard fork_guard;
  std::shared_mutex mutex;
  std::map<std::int64_t, std::shared_ptr<KeptRuntime>> kept;
  std::atomic<std::int64_t> last = 0;
};

// A forked child has a table of its own, because a thread that does not exist there may hold the
// lock of its parent's. The numbers of the parent name nothing in it.
Runtimes& runtimes() {
  static std::atomic<Runtimes*> table = new Runtimes();
  Runtimes* known = table.load();
  if (known->fork_guard.in_original_process()) return *known;
  auto own = std::make_unique<Runtimes>();
  own->last = known->last.load();
  if (table.compare_exchange_strong(known, own.get())) return *own.release();
  return *known;
}

Error unknown_runtime(std::int64_t number) {
  return {ErrorCode::invalid_argument, fmt::format("'runtime' is {}, which is no open runtime", number),
          "pass what cubinet_open returned"};
}

}  // namespace

PlanKey key_of(const cubinet_attention_problem& p, const cubinet_plan_options& options, std::int32_t device) {
  return {p.batch,
          p.q_len,
          p.kv_len,
          p.heads_q,
          p.heads_kv,
          p.head_dim_qk,
          p.head_dim_v,
          p.type_q,
          p.type_kv,
          p.type_o,
          p.page_size,
          p.kv_order,
          p.kv_layout,
          p.mask,
          p.window,
          p.flags,
          p.append_type,
          p.rope_dim,
          std::bit_cast<std::int64_t>(p.softmax_scale),
          std::bit_cast<std::int64_t>(p.soft_cap),
          std::bit_cast<std::int64_t>(p.output_scale),
          options.splits,
          options.flags,
          device};
}

Result<std::shared_ptr<const Plan>> KeptRuntime::plan(const cubinet_attention_problem& problem,
                                                      const cubinet_plan_options& options,
                                                      std::int32_t device) {
  const PlanKey key = key_of(problem, options, device);
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = plans_.find(key); found != plans_.end()) return found->second;
  }
  // Two threads may bind one problem at a time. They get the same kernels, and the first is kept.
  auto made = std::make_shared<Plan>();
  cubinet_attention* bound = nullptr;
  CUBINET_TRY(call_c([&](cubinet_error** error) {
    return cubinet_attention_bind(runtime_.get(), &problem, &options, device, &bound, error);
  }));
  made->attention.reset(bound);
  cubinet_attention_info info = CUBINET_ATTENTION_INFO_INIT;
  CUBINET_TRY(call_c([&](cubinet_error** error) { return cubinet_attention_get_info(bound, &info, error); }));
  made->roles = dlpack::attention_roles(problem);
  made->scratch_bytes = info.scratch_bytes;
  made->counter_bytes = info.counter_bytes;
  const std::unique_lock lock(mutex_);
  return plans_.emplace(key, std::move(made)).first->second;
}

Result<const cubinet_workspace*> KeptRuntime::workspace(const Plan& plan, std::int32_t device, void* stream) {
  const auto holds = [&](const Workspace& each) {
    return each.scratch_bytes >= plan.scratch_bytes && each.counter_bytes >= plan.counter_bytes;
  };
  {
    const std::shared_lock lock(mutex_);
    if (const auto kept = workspaces_.find({device, stream}); kept != workspaces_.end()) {
      for (const Workspace& each : kept->second)
        if (holds(each)) return each.handle.get();
    }
  }
  cubinet_workspace* created = nullptr;
  CUBINET_TRY(call_c([&](cubinet_error** error) {
    return cubinet_workspace_create(plan.attention.get(), &created, error);
  }));
  const std::unique_lock lock(mutex_);
  std::vector<Workspace>& kept = workspaces_[{device, stream}];
  return kept.emplace_back(Workspace{plan.scratch_bytes, plan.counter_bytes, WorkspaceHandle(created)})
      .handle.get();
}

std::int64_t keep(std::shared_ptr<KeptRuntime> runtime) {
  Runtimes& all = runtimes();
  const std::unique_lock lock(all.mutex);
  all.kept.emplace(++all.last, std::move(runtime));
  return all.last;
}

Result<std::shared_ptr<KeptRuntime>> runtime_of(std::int64_t number) {
  Runtimes& all = runtimes();
  const std::shared_lock lock(all.mutex);
  const auto found = all.kept.find(number);
  if (found == all.kept.end()) return unknown_runtime(number);
  return found->second;
}

Result<void> drop(std::int64_t number) {
  Runtimes& all = runtimes();
  std::shared_ptr<KeptRuntime> dropped;  // ends after the lock is released
  const std::unique_lock lock(all.mutex);
  const auto found = all.kept.find(number);
  if (found == all.kept.end()) return unknown_runtime(number);
  dropped = std::move(found->second);
  all.kept.erase(found);
  return {};
}

}  // namespace cubinet::tvm_ffi
