// SPDX-License-Identifier: Apache-2.0
#include "request_counters.hpp"

namespace cubinet {
namespace {

void add_to(std::atomic<std::uint64_t>& counter, std::uint64_t count) {
  counter.fetch_add(count, std::memory_order_relaxed);
}

std::uint64_t value_of(const std::atomic<std::uint64_t>& counter) {
  return counter.load(std::memory_order_relaxed);
}

}  // namespace

std::atomic<std::uint64_t>& RequestCounters::of(KernelSource source) {
  switch (source) {
    case KernelSource::process:
      break;
    case KernelSource::memory:
      return memory_hits_;
    case KernelSource::registry:
      return registry_hits_;
    case KernelSource::bundle:
      return bundle_hits_;
    case KernelSource::compiled:
      return compiled_;
    case KernelSource::imported:
      return imported_hits_;
    case KernelSource::server:
      return server_hits_;
  }
  return failures;
}

void RequestCounters::count(const KernelEvent& event, bool missed) {
  request_seconds_.add(event.total_seconds);
  find_seconds_.add_if_any(event.find_seconds);
  compile_seconds_.add_if_any(event.compile_seconds);
  load_seconds_.add_if_any(event.load_seconds);
  wait_seconds.add_if_any(event.wait_seconds);
  if (!event.source) return add_to(missed ? misses_ : failures, 1);
  add_to(of(*event.source), 1);
}

void RequestCounters::count(const TrimmedModules& trimmed) {
  add_to(trims_, 1);
  add_to(trimmed_modules_, trimmed.modules);
  add_to(trimmed_bytes_, trimmed.bytes);
}

Runtime::Counters RequestCounters::read() const {
  Runtime::Counters counters;
  counters.process_hits = process_hits.sum();
  counters.memory_hits = value_of(memory_hits_);
  counters.registry_hits = value_of(registry_hits_);
  counters.bundle_hits = value_of(bundle_hits_);
  counters.compiled = value_of(compiled_);
  counters.imported_hits = value_of(imported_hits_);
  counters.server_hits = value_of(server_hits_);
  counters.misses = value_of(misses_);
  counters.failures = value_of(failures);
  counters.trims = value_of(trims_);
  counters.trimmed_modules = value_of(trimmed_modules_);
  counters.trimmed_bytes = value_of(trimmed_bytes_);
  counters.request_seconds = request_seconds_.read();
  counters.find_seconds = find_seconds_.read();
  counters.compile_seconds = compile_seconds_.read();
  counters.load_seconds = load_seconds_.read();
  counters.wait_seconds = wait_seconds.read();
  return counters;
}

}  // namespace cubinet
