// SPDX-License-Identifier: Apache-2.0
#include "observe/metric_table.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/session/metrics.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace cubinet {
namespace {

constexpr std::size_t kMaximumLabels = 16;
constexpr std::size_t kMaximumValueBytes = 256;
// The labels of the metrics below.
constexpr std::array<std::string_view, 7> kOwnLabels = {"kind",  "le",    "outcome", "phase",
                                                        "place", "state", "store"};

// Returns a text in a form that a label's value may have between quotes.
std::string escaped(std::string_view text) {
  std::string value;
  for (const char c : printable(text, kMaximumValueBytes)) {
    if (c == '\\' || c == '"') value += '\\';
    value += c;
  }
  return value;
}

bool is_label_name(std::string_view name) {
  const bool begins = !name.empty() && (name.front() < '0' || name.front() > '9');
  return begins && !name.starts_with("__") && name.size() <= kMaximumValueBytes &&
         std::all_of(name.begin(), name.end(), is_word_character);
}

Result<void> check_labels(std::span<const MetricLabel> labels) {
  if (labels.size() > kMaximumLabels) {
    return Error{ErrorCode::invalid_argument, fmt::format("{} labels are given", labels.size()),
                 fmt::format("pass at most {}", kMaximumLabels)};
  }
  std::set<std::string_view> names(kOwnLabels.begin(), kOwnLabels.end());
  for (const MetricLabel& label : labels) {
    const std::string shown = printable(label.name, kQuotedBytes);
    if (!is_label_name(label.name))
      return Error{ErrorCode::invalid_argument, fmt::format("'{}' is no name of a label", shown),
                   "use letters, digits and underscores, and begin with a letter"};
    if (!names.insert(label.name).second)
      return Error{ErrorCode::invalid_argument,
                   fmt::format("the label '{}' is given twice, or is one of the metrics'", shown),
                   "choose another name; the metrics use " +
                       join(std::vector<std::string>(kOwnLabels.begin(), kOwnLabels.end()))};
    if (label.value.size() > kMaximumValueBytes)
      return Error{ErrorCode::invalid_argument,
                   fmt::format("the value of the label '{}' has {} bytes", shown, label.value.size()),
                   fmt::format("pass at most {} bytes", kMaximumValueBytes)};
  }
  return {};
}

// Writes the samples. Each begins with a metric's name and ends with the constant labels.
class Writer {
 public:
  explicit Writer(std::span<const MetricLabel> labels) {
    for (const MetricLabel& label : labels)
      constant_.push_back(fmt::format("{}=\"{}\"", label.name, escaped(label.value)));
  }
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  template <class Number>
  void sample(Number value, std::vector<std::string> labels = {}, std::string_view suffix = "") {
    labels.insert(labels.end(), constant_.begin(), constant_.end());
    const std::string all = labels.empty() ? "" : "{" + join(labels, ",") + "}";
    text += fmt::format("{}{}{} {}\n", name_, suffix, all, value);
  }
  template <class Number>
  void single(std::string_view name, std::string_view type, std::string_view help, Number value) {
    family(name, type, help);
    sample(value);
  }
  void histogram(const TimedPhase& phase) {
    const std::string label = fmt::format("phase=\"{}\"", phase.name);
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < DurationHistogram::kBounds.size(); ++i) {
      below += phase.histogram->buckets[i];
      sample(below, {label, fmt::format("le=\"{}\"", DurationHistogram::kBounds[i])}, "_bucket");
    }
    below += phase.histogram->buckets.back();
    sample(below, {label, "le=\"+Inf\""}, "_bucket");
    sample(phase.histogram->seconds, {label}, "_sum");
    sample(below, {label}, "_count");
  }

  std::string text;

 private:
  std::vector<std::string> constant_;
  std::string name_;
};

void write_stores(Writer& writer, const Metrics& metrics) {
  struct Family {
    const char* name;
    const char* help;
    std::uint64_t StoreUses::*count;
  };
  constexpr Family kFamilies[] = {
      {"cubinet_store_lookups_total", "Look-ups of a kernel in a store.", &StoreUses::asked},
      {"cubinet_store_finds_total", "Look-ups that found builds.", &StoreUses::found},
      {"cubinet_store_loads_total", "Images that were taken from a store.", &StoreUses::used},
      {"cubinet_store_fetched_bytes_total", "Bytes received over a network.", &StoreUses::bytes}};
  for (const Family& family : kFamilies) {
    writer.family(family.name, "counter", family.help);
    for (std::size_t i = 0; i < metrics.stores.size() && i < metrics.counters.stores.size(); ++i) {
      const StoreDescription& store = metrics.stores[i];
      writer.sample(metrics.counters.stores[i].*family.count,
                    {fmt::format("store=\"{}\"", i), fmt::format("kind=\"{}\"", escaped(store.kind)),
                     fmt::format("place=\"{}\"", escaped(store.place))});
    }
  }
}

void write_modules(Writer& writer, const Metrics& metrics) {
  writer.family("cubinet_modules", "gauge", "Loaded modules by state.");
  for (const ModuleState& state : states_of(metrics.memory))
    writer.sample(state.modules, {fmt::format("state=\"{}\"", state.name)});
  writer.family("cubinet_module_bytes", "gauge", "Bytes of the loaded modules on the devices by state.");
  for (const ModuleState& state : states_of(metrics.memory))
    writer.sample(state.bytes, {fmt::format("state=\"{}\"", state.name)});
  const Runtime::Counters& counters = metrics.counters;
  writer.single("cubinet_loaded_bytes_total", "counter", "Bytes of the images that were loaded.",
                counters.bytes_loaded);
  writer.single("cubinet_trims_total", "counter", "Trims.", counters.trims);
  writer.single("cubinet_trimmed_modules_total", "counter", "Modules that trims have unloaded.",
                counters.trimmed_modules);
  writer.single("cubinet_trimmed_bytes_total", "counter", "Bytes that trims have freed.",
                counters.trimmed_bytes);
}

}  // namespace

Result<std::string> to_prometheus(const Metrics& metrics, std::span<const MetricLabel> labels) {
  CUBINET_TRY(check_labels(labels));
  Writer writer(labels);
  writer.family("cubinet_requests_total", "counter", "Requests for kernels by outcome.");
  for (const CountedOutcome& outcome : outcomes_of(metrics.counters))
    writer.sample(outcome.count, {fmt::format("outcome=\"{}\"", outcome.name)});
  writer.family("cubinet_request_seconds", "histogram",
                "Durations of the requests that missed the process cache, and of their phases.");
  for (const TimedPhase& phase : phases_of(metrics.counters))
    writer.histogram(phase);
  write_modules(writer, metrics);
  write_stores(writer, metrics);
  writer.single("cubinet_refused_requests_total", "counter", "Requests that the frozen runtime refused.",
                metrics.refused);
  writer.single("cubinet_fallback_requests_total", "counter", "Requests that a substitute served.",
                metrics.fallbacks);
  writer.single("cubinet_frozen", "gauge", "1 while only loaded kernels are served.", metrics.frozen ? 1 : 0);
  writer.single("cubinet_recording", "gauge", "1 while a workload is recorded.", metrics.recording ? 1 : 0);
  return std::move(writer.text);
}

}  // namespace cubinet
