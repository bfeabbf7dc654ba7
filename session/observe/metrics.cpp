// SPDX-License-Identifier: Apache-2.0
#include "observe/metric_table.hpp"

#include <cubinet/session/json.hpp>
#include <cubinet/session/metrics.hpp>

namespace cubinet {
namespace {

nlohmann::json histogram_json(const DurationHistogram& histogram) {
  nlohmann::json buckets = nlohmann::json::array();
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < DurationHistogram::kBounds.size(); ++i) {
    below += histogram.buckets[i];
    buckets.push_back({DurationHistogram::kBounds[i], below});
  }
  return {{"count", histogram.count()}, {"sum", histogram.seconds}, {"buckets", std::move(buckets)}};
}

nlohmann::json store_json(const StoreDescription& store, const StoreUses& uses) {
  return {{"kind", store.kind},  {"place", store.place}, {"asked", uses.asked},
          {"found", uses.found}, {"used", uses.used},    {"fetched_bytes", uses.bytes}};
}

}  // namespace

Result<Metrics> Metrics::of(const Session& session) {
  Metrics metrics;
  CUBINET_TRY_ASSIGN(metrics.memory, session.runtime().memory());
  metrics.counters = session.runtime().counters();
  metrics.recording = session.recording();
  CUBINET_TRY_ASSIGN(const Refusals refusals, session.runtime().refusals());
  metrics.frozen = refusals.frozen;
  metrics.fallbacks = refusals.fallbacks;
  metrics.refused = refusals.others;
  for (const Refusal& refusal : refusals.entries)
    metrics.refused += refusal.count;
  for (const auto& store : session.runtime().stores())
    metrics.stores.push_back(store->description());
  for (const auto& cache : session.runtime().caches())
    metrics.stores.push_back({.kind = "cache", .place = cache->place(), .remote = true});
  return metrics;
}

std::vector<CountedOutcome> outcomes_of(const Runtime::Counters& counters) {
  return {{"process", counters.process_hits},   {"memory", counters.memory_hits},
          {"registry", counters.registry_hits}, {"bundle", counters.bundle_hits},
          {"imported", counters.imported_hits}, {"server", counters.server_hits},
          {"compiled", counters.compiled},      {"miss", counters.misses},
          {"failure", counters.failures}};
}

std::vector<TimedPhase> phases_of(const Runtime::Counters& counters) {
  return {{"request", &counters.request_seconds},
          {"find", &counters.find_seconds},
          {"compile", &counters.compile_seconds},
          {"load", &counters.load_seconds},
          {"wait", &counters.wait_seconds}};
}

std::vector<ModuleState> states_of(const ModuleMemory& memory) {
  return {{"in_use", memory.modules - memory.idle_modules - memory.retired_modules,
           memory.bytes - memory.idle_bytes - memory.retired_bytes},
          {"idle", memory.idle_modules, memory.idle_bytes},
          {"retired", memory.retired_modules, memory.retired_bytes}};
}

std::string to_json(const Metrics& metrics) {
  const Runtime::Counters& counters = metrics.counters;
  nlohmann::json document;
  for (const CountedOutcome& outcome : outcomes_of(counters))
    document["requests"][outcome.name] = outcome.count;
  for (const TimedPhase& phase : phases_of(counters))
    document["seconds"][phase.name] = histogram_json(*phase.histogram);
  for (const ModuleState& state : states_of(metrics.memory))
    document["modules"][state.name] = {{"count", state.modules}, {"bytes", state.bytes}};
  document["bytes_loaded"] = counters.bytes_loaded;
  document["trims"] = {
      {"count", counters.trims}, {"modules", counters.trimmed_modules}, {"bytes", counters.trimmed_bytes}};
  document["recording"] = metrics.recording;
  document["frozen"] = metrics.frozen;
  document["refused"] = metrics.refused;
  document["fallbacks"] = metrics.fallbacks;
  document["stores"] = nlohmann::json::array();
  for (std::size_t i = 0; i < metrics.stores.size() && i < counters.stores.size(); ++i)
    document["stores"].push_back(store_json(metrics.stores[i], counters.stores[i]));
  return json_text(document);
}

}  // namespace cubinet
