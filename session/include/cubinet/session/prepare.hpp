// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/callback.hpp>
#include <cubinet/session.hpp>
#include <cubinet/session/workload.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// The completion of one entry of a workload. `entry` is empty if only time has passed.
struct PrepareProgress {
  std::size_t done = 0;
  std::size_t total = 0;
  std::string entry = {};    // WorkloadEntry::to_string()
  std::string outcome = {};  // "loaded" or "failed: REASON"
};

struct PrepareOptions {
  int device = 0;
  unsigned jobs = 0;                  // entries at a time; 0: as processors and memory allow
  std::uint64_t memory = UINT64_MAX;  // limit for all compilations, in bytes, each counted as 256 MiB
  // Called after each entry and several times a second in between. Any thread may call it; calls do
  // not overlap.
  Callback<void(const PrepareProgress&)> progress = {};
  // Called often until it returns true; calls do not overlap. Then no further entry begins, and
  // no further attention problem is bound.
  Callback<bool()> cancelled = {};
};

struct PrepareResult {
  struct Failure {
    std::string entry;  // WorkloadEntry::to_string()
    Error error;
  };

  std::size_t loaded = 0;    // entries that the process cache has now
  std::size_t compiled = 0;  // kernels that the Runtime compiled meanwhile, for whatever request
  // Entries that are not loaded, in order of first use: an unknown kernel, a source or an image
  // that the stores lack (not_found), a kernel of another capability (unsupported).
  std::vector<Failure> failed = {};
  std::vector<Error> rejected = {};  // Workload::rejected()
  bool interrupted = false;          // by PrepareOptions::cancelled
  double seconds = 0;
  std::optional<Error> error = {};  // the reason why the workload is not complete
};

// Finds, fetches or compiles the kernels of a workload and loads them, in order of first use and in
// parallel. Each attention problem is planned anew for the device, whichever device recorded it. A
// kernel is loaded only on a device of a capability that recorded it. Errors are a part of the
// result: the rest is prepared. What is loaded already costs a look-up.
//
// All requests have the label of the calling thread (CallerLabel).
//
// Several threads may prepare at the same time. A call from a callback of a running prepare()
// (progress, cancelled, observer or log) returns busy. Returns unavailable if there is no such
// device.
Result<PrepareResult> prepare(const Session& session, const Workload& workload,
                              const PrepareOptions& options = {});

// Returns the JSON of a result, which the C library and the Python package pass on.
std::string to_json(const PrepareResult& result);

}  // namespace cubinet
