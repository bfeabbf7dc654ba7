// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/report/benchmark_results.hpp>
#include <cubinet/session/session_options.hpp>
#include <cubinet/session/workload.hpp>

#include <memory>
#include <string>
#include <variant>

namespace cubinet {

// A subject of a report, opened and read.
struct HomeSubject {
  std::shared_ptr<Home> home;
};
struct BundleSubject {
  std::shared_ptr<Store> store;  // the bundle, or the server that it is read from
  std::shared_ptr<Bundle> bundle;
};
struct WorkloadSubject {
  std::string file;
  Workload workload;
};
struct BenchmarkSubject {
  std::string file;
  BenchmarkResults results;
};
using Subject = std::variant<HomeSubject, BundleSubject, WorkloadSubject, BenchmarkSubject>;

// The most bytes of a file with results of a benchmark.
inline constexpr std::uint64_t kMaximumResultsBytes = std::uint64_t{64} << 20;

// Opens what a place names: a home by its folder, a server by its reference, a file by its first
// bytes. Errors are those of html_report().
Result<Subject> open_subject(const SessionOptions& session, const std::string& place);

// Returns the store of a subject; nullptr if it has none.
std::shared_ptr<Store> store_of(const Subject& subject);

}  // namespace cubinet
