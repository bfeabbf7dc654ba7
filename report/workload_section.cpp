// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/report/kernel_list.hpp>
#include <cubinet/report/workload_section.hpp>
#include <cubinet/session/workload_coverage.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace cubinet {
namespace {

struct ServiceCounts {
  std::size_t served = 0;
  std::size_t compiled = 0;
  std::size_t missing = 0;

  void add(const EntryCoverage& covered) {
    ++(covered.served() ? served : covered.would_compile() ? compiled : missing);
  }
  std::size_t all() const { return served + compiled + missing; }
  Tone tone() const { return missing > 0 ? Tone::bad : compiled > 0 ? Tone::warning : Tone::good; }
};

std::string device_name(const WorkloadDevice& device) {
  if (device.sm_count == 0) return device.capability.to_string();
  return fmt::format("{}{}{}, {} SMs", device.name, device.name.empty() ? "" : ", ",
                     device.capability.to_string(), device.sm_count);
}

WorkloadRecording total_of(const Workload& workload) {
  WorkloadRecording total;
  for (const auto& [id, counters] : workload.recordings()) {
    total.hits += counters.hits;
    total.loads += counters.loads;
    total.compiled += counters.compiled;
    total.misses += counters.misses;
    total.failures += counters.failures;
  }
  return total;
}

Html workload_tiles(const Workload& workload, const ServiceCounts& counts) {
  std::size_t problems = 0;
  for (const WorkloadEntry& entry : workload.entries())
    problems += std::holds_alternative<WorkloadAttention>(entry.work) ? 1U : 0U;
  const WorkloadRecording total = total_of(workload);
  const double share =
      counts.all() == 0 ? 1 : static_cast<double>(counts.served) / static_cast<double>(counts.all());
  return fact_tiles({{"Served", format_percent(share),
                      fmt::format("{} of {}", counts.served, plural(counts.all(), "entry")), counts.tone()},
                     {"Would compile", format_count(counts.compiled),
                      counts.compiled > 0 ? "at their first request" : "none",
                      counts.compiled > 0 ? Tone::warning : Tone::good},
                     {"Not served", format_count(counts.missing),
                      counts.missing > 0 ? "neither a build nor a compiler" : "none",
                      counts.missing > 0 ? Tone::bad : Tone::good},
                     {"Needs", format_count(workload.size()),
                      fmt::format("{}, {}", plural(workload.size() - problems, "kernel"),
                                  plural(problems, "attention problem"))},
                     {"Recordings", format_count(workload.recordings().size()),
                      fmt::format("{}, {} compiled", plural(total.loads, "load"), total.compiled)}});
}

// The devices of one compute capability.
struct DeviceGroup {
  std::set<std::string> names;
  ServiceCounts counts;
};

Html chart_of_devices(const std::vector<EntryCoverage>& coverage) {
  std::map<ComputeCapability, DeviceGroup> groups;
  for (const EntryCoverage& covered : coverage) {
    DeviceGroup& group = groups[covered.device.capability];
    if (!covered.device.name.empty()) group.names.insert(covered.device.name);
    group.counts.add(covered);
  }
  std::vector<Bar> bars;
  for (const auto& [capability, group] : groups) {
    const ServiceCounts& counts = group.counts;
    const std::string names = join({group.names.begin(), group.names.end()});
    bars.push_back(
        {capability.to_string() + (names.empty() ? "" : " (" + names + ")"),
         static_cast<double>(counts.served) / static_cast<double>(counts.all()),
         {format_count(counts.served), format_count(counts.compiled), format_count(counts.missing)},
         counts.tone()});
  }
  if (bars.empty()) return {};
  return element("div", {{"class", "charts wide"}},
                 bar_chart("Device", {"served", "would compile", "not served"}, bars));
}

Html recordings_of(const Workload& workload) {
  if (workload.recordings().empty()) return {};
  DataTable table("Recordings", {{"Recording"},
                                 {"Hits", true},
                                 {"Loads", true},
                                 {"Compiled", true},
                                 {"Misses", true},
                                 {"Failures", true}});
  const auto number = [](std::uint64_t value) {
    return DataTable::Cell(format_count(value), static_cast<double>(value));
  };
  for (const auto& [id, counters] : workload.recordings()) {
    table.add({element("code", shown_name(id)), number(counters.hits), number(counters.loads),
               number(counters.compiled), number(counters.misses), number(counters.failures)});
  }
  return table.html();
}

std::string details_of(const AttentionProblem& problem) {
  return fmt::format("types q {}, kv {}, o {}; pages of {}", to_string(problem.data_type_q),
                     to_string(problem.data_type_k), to_string(problem.data_type_o), problem.tokens_per_page);
}

Html work_of(const WorkloadEntry& entry) {
  if (const auto* attention = std::get_if<WorkloadAttention>(&entry.work))
    return element("b", name_html(entry.to_string())) +
           element("small", name_html(details_of(attention->problem)));
  return spec_html(std::get<KernelSpec>(entry.work));
}

Html service_of(const EntryCoverage& covered) {
  if (covered.served()) return badge(Tone::good, "served");
  if (covered.would_compile()) return badge(Tone::warning, "would compile");
  return badge(Tone::bad, "not served");
}

// Returns the kernels of an entry with the store of each, or the reason why one is missing.
Html kernels_of_entry(const EntryCoverage& covered) {
  Html shown;
  for (const KernelCoverage& kernel : covered.kernels) {
    const std::string target = ImageTarget(kernel.target).to_string();
    const Html place = kernel.record == nullptr ? Html("no build for " + target)
                                                : Html(target + " in ") + name_html(kernel.place);
    shown += element("div", spec_html(kernel.spec) + element("small", {{"class", "place"}}, place));
  }
  if (covered.missing) {
    shown += element("div", element("span", name_html(covered.missing->message)) +
                                element("small", name_html(covered.missing->remedy)));
  }
  return shown;
}

// Returns the position of an entry in the table: those that need attention come first.
int urgency_of(const EntryCoverage& covered) {
  return covered.served() ? 2 : covered.would_compile() ? 1 : 0;
}

Html entry_table(const Workload& workload, std::vector<EntryCoverage> coverage) {
  DataTable table("Kernels and problems",
                  {{"Kernel or problem"}, {"Device"}, {"Service"}, {"Kernels"}, {"First use", true}},
                  "entries", "Entries that are not served come first, then in order of first use.");
  std::stable_sort(coverage.begin(), coverage.end(),
                   [](const auto& a, const auto& b) { return urgency_of(a) < urgency_of(b); });
  const std::vector<WorkloadEntry> entries = workload.entries();
  for (const EntryCoverage& covered : coverage) {
    const WorkloadEntry& entry = entries[covered.entry];
    table.add({work_of(entry),
               name_html(device_name(covered.device)),
               {service_of(covered), static_cast<double>(urgency_of(covered))},
               kernels_of_entry(covered),
               {format_count(entry.first_use), static_cast<double>(entry.first_use)}});
  }
  return table.html();
}

Html answer_of(const ServiceCounts& counts, const std::string& stores) {
  if (counts.all() == 0) return notice(Tone::plain, "The workload has no entries.");
  if (counts.tone() == Tone::good)
    return notice(Tone::good, Html("Every entry is served without compiling, by ") + stores + ".");
  const std::string all = plural(counts.all(), "entry");
  Html answer;
  if (counts.missing > 0) {
    answer += notice(
        Tone::bad, Html(fmt::format("{} of {} can neither be compiled nor served by ", counts.missing, all)) +
                       stores + ".");
  }
  if (counts.compiled > 0) {
    answer += notice(Tone::warning,
                     Html(fmt::format("{} of {} would be compiled at the first request: no build is in ",
                                      counts.compiled, all)) +
                         stores + ".");
  }
  return answer;
}

}  // namespace

Section workload_section(const std::string& name, const Workload& workload, Runtime& runtime,
                         const TargetPolicy& targets, const std::string& stores) {
  const std::vector<EntryCoverage> coverage = coverage_of(runtime, targets, workload);
  ServiceCounts counts;
  for (const EntryCoverage& covered : coverage)
    counts.add(covered);
  Section section{"Workload", name, {}};
  section.content += workload_tiles(workload, counts);
  section.content += answer_of(counts, shown_name(stores));
  for (const Error& error : workload.rejected())
    section.content += notice(Tone::warning, Html("Left out: ") + name_html(error.message));
  section.content += chart_of_devices(coverage);
  section.content += recordings_of(workload);
  section.content += entry_table(workload, coverage);
  return section;
}

}  // namespace cubinet
