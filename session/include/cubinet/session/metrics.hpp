// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/session.hpp>

#include <span>
#include <string>
#include <vector>

namespace cubinet {

// The counters and the state of a Session at one time, for monitoring (docs/observability.md). A
// plain value.
struct Metrics {
  Runtime::Counters counters;
  ModuleMemory memory;  // of all devices
  bool recording = false;
  bool frozen = false;
  // The requests that the frozen Runtime refused, and those that a substitute served, since the
  // last freeze (Runtime::refusals()).
  std::uint64_t refused = 0;
  std::uint64_t fallbacks = 0;
  // One for each of `counters.stores`: Runtime::stores(), then Runtime::caches(), whose kind is
  // "cache".
  std::vector<StoreDescription> stores = {};

  // Reads a session. Does not block and contacts no server. Returns unsupported in a forked child.
  static Result<Metrics> of(const Session& session);
};

// A constant label of every sample, for example "model" and "llama".
struct MetricLabel {
  std::string name;
  std::string value;
};

// Returns the metrics as a JSON object: "requests" by outcome, "seconds" by phase with "count",
// "sum" and cumulative "buckets", "modules", "trims", "stores" and the state.
std::string to_json(const Metrics& metrics);

// Returns the metrics in the text format 0.0.4 of Prometheus, with these labels in every sample.
// The number of samples does not depend on the kernels. Values are escaped; control characters and
// bytes that are not UTF-8 are written as \xNN. Returns invalid_argument for more than 16 labels, a
// name that is given twice, is used by a metric or is not [a-zA-Z_][a-zA-Z0-9_]*, and a value of
// more than 256 bytes.
Result<std::string> to_prometheus(const Metrics& metrics, std::span<const MetricLabel> labels = {});

}  // namespace cubinet
