// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/merge.hpp>
#include <cubinet/attention/operation.hpp>
#include <cubinet/attention/workspace.hpp>
#include <cubinet/cubinet.h>
#include <cubinet/loader/function.hpp>
#include <cubinet/session.hpp>
#include <cubinet/session/session_options.hpp>
#include <cubinet/spec/kernel_spec.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>

namespace cubinet::c_api {

// The reference count of a handle that may be shared.
class Counted {
 public:
  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  // Returns true for the last reference.
  bool release() { return references_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

 private:
  std::atomic<std::uint64_t> references_{1};
};

template <class Handle>
Handle* retain(Handle* handle) {
  if (handle != nullptr) handle->references.retain();
  return handle;
}

template <class Handle>
void release(Handle* handle) {
  if (handle != nullptr && handle->references.release()) delete handle;
}

}  // namespace cubinet::c_api

// The C library's handles. Each owns what it depends on.

struct cubinet_config {
  cubinet::SessionOptions options;
};

struct cubinet_runtime {
  std::shared_ptr<cubinet::Session> session;
  cubinet::c_api::Counted references = {};
};

struct cubinet_spec {
  cubinet::KernelSpec spec;
};

struct cubinet_kernel {
  std::shared_ptr<cubinet::Session> session;
  std::shared_ptr<const cubinet::Kernel> kernel;
  cubinet::c_api::Counted references = {};
};

struct cubinet_function {
  cubinet::Function function;
  cubinet::c_api::Counted references = {};
};

struct cubinet_attention {
  std::variant<cubinet::BoundAttention, cubinet::SharedPrefixAttention> bound;
  cubinet::c_api::Counted references = {};
};

struct cubinet_merge {
  cubinet::AttentionMerge::Problem problem;
  cubinet::AttentionMerge bound;
  cubinet::c_api::Counted references = {};
};

struct cubinet_workspace {
  cubinet::AttentionWorkspace workspace;
};
