// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/base/units.hpp>
#include <cubinet/cubin_registry/record_names.hpp>
#include <cubinet/report/kernel_list.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace cubinet {
namespace {

constexpr std::size_t kBarsOfChart = 12;
constexpr std::int64_t kDay = 86'400;

std::string origin_of(const CubinRecord& record) {
  switch (record.origin) {
    case CubinOrigin::bundle:
      return fmt::format("bundle, version {}", record.version);
    case CubinOrigin::imported:
      return fmt::format("import {}", record.version);
    case CubinOrigin::compiled:
      break;
  }
  const KernelMaker maker = record.identity.kernel().maker();
  if (maker == KernelMaker::tool) return "adopted";
  return maker == KernelMaker::function ? "added" : "compiled";
}

// Builds that share a property.
struct Group {
  std::size_t count = 0;
  std::uint64_t bytes = 0;
};

// Returns a chart of groups in this order. The bars show the bytes.
Html chart_of(std::string_view title, const std::vector<std::pair<std::string, Group>>& groups) {
  std::uint64_t largest = 1;
  for (const auto& group : groups)
    largest = std::max(largest, group.second.bytes);
  std::vector<Bar> bars;
  for (const auto& [name, group] : groups) {
    bars.push_back({name,
                    static_cast<double>(group.bytes) / static_cast<double>(largest),
                    {format_count(group.count), format_bytes(group.bytes)}});
  }
  return bar_chart(title, {"builds", "size"}, bars);
}

// Returns a chart of the largest groups, the smaller ones added up.
Html chart_by_size(std::string_view title, const std::map<std::string, Group>& groups) {
  std::vector<std::pair<std::string, Group>> sorted(groups.begin(), groups.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  if (sorted.size() > kBarsOfChart) {
    Group others;
    const std::size_t count = sorted.size() - kBarsOfChart + 1;
    for (std::size_t i = kBarsOfChart - 1; i < sorted.size(); ++i) {
      others.count += sorted[i].second.count;
      others.bytes += sorted[i].second.bytes;
    }
    sorted.resize(kBarsOfChart - 1);
    sorted.emplace_back(fmt::format("{} others", count), others);
  }
  return chart_of(title, sorted);
}

std::string period_of(const ListedKernel& kernel, std::int64_t now) {
  if (!kernel.last_used) return "never";
  const std::int64_t age = now - std::min(*kernel.last_used, now);
  if (age < kDay) return "last day";
  if (age < 7 * kDay) return "last week";
  if (age < 30 * kDay) return "last month";
  return "earlier";
}

Html chart_of_use(const std::vector<ListedKernel>& kernels, std::int64_t now) {
  std::vector<std::pair<std::string, Group>> periods = {
      {"last day", {}}, {"last week", {}}, {"last month", {}}, {"earlier", {}}, {"never", {}}};
  for (const ListedKernel& kernel : kernels) {
    const std::string period = period_of(kernel, now);
    for (auto& [name, group] : periods) {
      if (name != period) continue;
      ++group.count;
      group.bytes += kernel.judged.record->size;
    }
  }
  return chart_of("Last used", periods);
}

template <class NameOf>
std::map<std::string, Group> grouped(const std::vector<ListedKernel>& kernels, const NameOf& name_of) {
  std::map<std::string, Group> groups;
  for (const ListedKernel& kernel : kernels) {
    Group& group = groups[shown_name(name_of(*kernel.judged.record))];
    ++group.count;
    group.bytes += kernel.judged.record->size;
  }
  return groups;
}

Html status_of(const ListedKernel& kernel) {
  const JudgedBuild& judged = kernel.judged;
  Html shown;
  if (judged.status) {
    switch (*judged.status) {
      case BuildStatus::current:
        shown = badge(Tone::good, "current");
        break;
      case BuildStatus::shipped:
        shown = badge(Tone::good, "usable");
        break;
      case BuildStatus::unchecked:
        shown = badge(Tone::plain, "not checked");
        break;
      case BuildStatus::stale:
        shown = badge(Tone::bad, "stale");
        break;
      case BuildStatus::foreign:
        shown = badge(Tone::bad, "foreign");
        break;
    }
  } else {
    shown = judged.verdict.empty() ? badge(Tone::plain, "kept") : badge(Tone::warning, "unknown");
  }
  if (kernel.pinned) shown += badge(Tone::plain, "pinned");
  const bool explains = judged.outdated() || (!judged.status && !judged.verdict.empty());
  if (explains) shown += element("small", shown_name(judged.verdict));
  return shown;
}

Html kernel_name(const CubinRecord& record) {
  const KernelSpec spec = spec_of(record);
  if (spec.maker != KernelMaker::source || record.entry_points.empty()) return spec_html(spec);
  return element("b", name_html(join(kernel_names(record)))) +
         element("small", name_html("of " + spec.to_string()));
}

}  // namespace

Html spec_html(const KernelSpec& spec) {
  std::string details;
  for (const auto& [name, value] : spec.parameters)
    details += (details.empty() ? "" : ", ") + name + "=" + to_string(value);
  for (const std::string& flag : compiler_flags(spec.options))
    details += (details.empty() ? "" : " ") + flag;
  Html shown = element("b", name_html(spec.name));
  if (!details.empty()) shown += element("small", name_html(details));
  return shown;
}

Html kernel_charts(const std::vector<ListedKernel>& kernels, const KernelListOptions& options) {
  if (kernels.empty()) return {};
  Html charts =
      chart_by_size("Template", grouped(kernels, [](const auto& record) { return spec_of(record).name; }));
  charts +=
      chart_by_size("Target", grouped(kernels, [](const auto& record) { return record.target_name(); }));
  if (options.shows_use) {
    charts += chart_of_use(kernels, options.now);
    charts += chart_by_size("Origin", grouped(kernels, origin_of));
  }
  return element("div", {{"class", "charts"}}, charts);
}

Html kernel_table(const std::vector<ListedKernel>& kernels, const KernelListOptions& options) {
  if (kernels.empty()) return notice(Tone::plain, "There are no builds.");
  std::vector<DataTable::Column> columns = {{"Kernel"}, {"Target"}, {"Size", true}, {"Status"}};
  if (options.shows_use) columns.push_back({"Last used", true});
  columns.insert(columns.end(), {{"Origin"}, {"Key"}, {"SHA-256"}});
  DataTable table("Builds", columns, options.shows_use ? "kernels used" : "kernels");
  for (const ListedKernel& kernel : kernels) {
    const CubinRecord& record = *kernel.judged.record;
    std::vector<DataTable::Cell> cells = {kernel_name(record),
                                          record.target_name(),
                                          {format_bytes(record.size), static_cast<double>(record.size)},
                                          status_of(kernel)};
    if (options.shows_use) {
      cells.push_back(kernel.last_used ? DataTable::Cell(format_age(*kernel.last_used, options.now),
                                                         static_cast<double>(*kernel.last_used))
                                       : DataTable::Cell("never", 0));
    }
    cells.insert(cells.end(),
                 {shown_name(origin_of(record)), element("code", record.identity.key().to_string()),
                  element("code", record.digest.to_hex())});
    table.add(cells);
  }
  return table.html();
}

}  // namespace cubinet
