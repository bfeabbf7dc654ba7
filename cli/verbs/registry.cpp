// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "describe.hpp"
#include "record_arguments.hpp"
#include "registry_imports.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>

#include <fmt/format.h>

namespace cubinet::cli {
namespace {

struct NoOptions {};
struct ListOptions {
  RecordArguments filter;
  bool imports = false;
};
struct ShowOptions {
  std::string kernel;
  std::uint64_t import = 0;
};

// Returns the home's own builds that pass the filter, and imported ones that the filter names. A
// null home has none.
Result<CubinRecords> chosen_records(Home* home, const RecordArguments& filter) {
  CubinRecords listed;
  if (home != nullptr) {
    CUBINET_TRY_ASSIGN(listed, home->list());
  }
  if (filter.kernels.empty() && filter.keys.empty()) {
    std::erase_if(listed, [](const auto& record) { return record->origin == CubinOrigin::imported; });
  }
  return select_records(filter, std::move(listed));
}

// Parses the number of `list --imports 2`, which is in the position of a kernel's name.
Result<std::uint64_t> import_number(const RecordArguments& filter) {
  if (filter.kernels.size() > 1 ||
      !(filter.templates.empty() && filter.targets.empty() && filter.keys.empty())) {
    return Error{ErrorCode::invalid_argument,
                 "--imports takes one number at most, and no --template, --target or --key",
                 "leave them out, or --imports"};
  }
  if (filter.kernels.empty()) return std::uint64_t{0};
  CUBINET_TRY_ASSIGN(const std::int64_t number,
                     parse_integer(filter.kernels.front(), "an import's number", 1, INT64_MAX));
  return static_cast<std::uint64_t>(number);
}

Result<ExitStatus> list(const Context& context, const ListOptions& options) {
  CUBINET_TRY_ASSIGN(const auto registry, context.open_existing_registry());
  CUBINET_TRY_ASSIGN(const std::string place, context.place_of(registry.get()));
  if (options.imports) {
    CUBINET_TRY_ASSIGN(const std::uint64_t number, import_number(options.filter));
    return list_imports(context, registry.get(), number);
  }
  CUBINET_TRY_ASSIGN(const auto records, chosen_records(registry.get(), options.filter));
  nlohmann::json described = nlohmann::json::array();
  HomeStats stats;
  if (registry != nullptr) {
    CUBINET_TRY_ASSIGN(stats, registry->stats());
  }
  for (const auto& record : records) {
    described.push_back(describe(*record));
    described.back()["pinned"] =
        std::binary_search(stats.pins.begin(), stats.pins.end(), record->identity.key());
  }
  if (records.empty()) {
    const auto& names = options.filter.kernels;
    context.console().message(
        names.empty() ? LogLevel::info : LogLevel::warning,
        names.empty() ? "no entry"
                      : fmt::format("no entry of {}: searched for a key, and for the name of a template, "
                                    "publisher or function",
                                    printable(join(names, ", "))));
  } else {
    context.console().text(record_table(records).to_string());
  }
  nlohmann::json pins = nlohmann::json::array();
  for (const KernelKey key : stats.pins)
    pins.push_back(key.to_string());
  if (!pins.empty())
    context.console().text(fmt::format("pinned: {}", fmt::join(pins.get<std::vector<std::string>>(), ", ")));
  context.console().document({{"home", place}, {"entries", std::move(described)}, {"pins", std::move(pins)}});
  return ExitStatus::done;
}

std::string indented(const std::string& text) {
  std::string result;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    result += fmt::format("\n    {}", rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return result;
}

std::string show_text(const CubinRecord& record) {
  std::string text = fmt::format(
      "{} for {}\n  key          {}\n  build        {}\n  origin       {}\n  sha256       {}\n  size         "
      "{} bytes\n"
      "  interface    {}\n  compiler     {}\n  options      {}",
      kernel_title(record), record.target_name(), record.identity.key().to_string(),
      record.fingerprint.to_string(), describe_origin(record), record.digest.to_hex(), record.size,
      record.interface_version, printable(record.compiler), printable(record.options));
  const std::vector<std::string> names = kernel_names(record);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const EntryPoint& entry_point = record.entry_points[i];
    // The record has no block or argument size if the launch states them.
    const auto known = [](bool said, const std::string& what) { return said ? what + ", " : ""; };
    const std::string symbol =
        names[i] == entry_point.symbol ? "" : " (" + printable(entry_point.symbol) + ")";
    text += fmt::format("\n  kernel       {}{}: {}{}{} bytes of shared memory", printable(names[i]), symbol,
                        known(entry_point.threads != 0, describe_block(entry_point) + " threads"),
                        known(entry_point.parameter_bytes != 0,
                              fmt::format("{} bytes of arguments", entry_point.parameter_bytes)),
                        entry_point.dynamic_shared_bytes);
  }
  for (const auto& [name, symbol] : record.globals)
    text += fmt::format("\n  variable     {}: {}", printable(name), printable(symbol));
  if (!record.warnings.empty()) text += "\n  warnings" + indented(record.warnings);
  return text;
}

Result<ExitStatus> show(const Context& context, const ShowOptions& options) {
  if (options.kernel.empty() == (options.import == 0)) {
    return Error{ErrorCode::invalid_argument, "name either a kernel or an import",
                 "give a KEY or NAME, or --import N"};
  }
  CUBINET_TRY_ASSIGN(const auto registry, context.open_existing_registry());
  CUBINET_TRY_ASSIGN(const std::string place, context.place_of(registry.get()));
  if (options.import != 0) return list_imports(context, registry.get(), options.import);
  RecordArguments filter;
  filter.kernels = {options.kernel};
  CUBINET_TRY_ASSIGN(const auto records, chosen_records(registry.get(), filter));
  if (records.empty()) {
    return context.fail(Error{ErrorCode::not_found,
                              fmt::format("the home holds no kernel of the key or name '{}'", options.kernel),
                              "`cubinet registry list` prints the keys that it holds"},
                        ExitStatus::negative);
  }
  CUBINET_TRY(check_one_kernel(options.kernel, records));
  nlohmann::json described = nlohmann::json::array();
  for (const auto& record : records) {
    described.push_back(describe_fully(*record));
    context.console().text(show_text(*record));
  }
  context.console().document({{"home", place}, {"entries", std::move(described)}});
  return ExitStatus::done;
}

Result<ExitStatus> verify(const Context& context, const NoOptions& /*options*/) {
  CUBINET_TRY_ASSIGN(const auto registry, context.open_existing_registry());
  CUBINET_TRY_ASSIGN(const std::string place, context.place_of(registry.get()));
  VerifyReport report;
  if (registry != nullptr) {
    CUBINET_TRY_ASSIGN(report, registry->verify());
  }
  nlohmann::json findings = nlohmann::json::array();
  for (const StoreFinding& finding : report.findings) {
    findings.push_back(describe(finding));
    context.console().text(fmt::format("{}: {}: {}", to_string(finding.kind), printable(finding.file),
                                       printable(finding.reason)));
  }
  context.console().text(fmt::format(
      "{}: {}, {}, {}", printable(place), plural(report.entries, "entry"), format_bytes(report.bytes),
      report.findings.empty() ? "all sound" : plural(report.findings.size(), "finding")));
  context.console().document({{"home", place},
                              {"entries", report.entries},
                              {"bytes", report.bytes},
                              {"findings", std::move(findings)}});
  return report.findings.empty() ? ExitStatus::done : ExitStatus::negative;
}

Result<ExitStatus> repair(const Context& context, const NoOptions& /*options*/) {
  CUBINET_TRY_ASSIGN(const auto registry, context.open_registry(HomeOptions::Access::read_write));
  CUBINET_TRY_ASSIGN(const VerifyReport report, registry->repair());
  nlohmann::json findings = nlohmann::json::array();
  const auto print = [&](const std::vector<StoreFinding>& list, const char* what) {
    for (const StoreFinding& finding : list) {
      findings.push_back(describe(finding));
      context.console().text(
          fmt::format("{}: {}: {}", what, printable(finding.file), printable(finding.reason)));
    }
  };
  print(report.set_aside, "set aside");
  print(report.findings, "cannot be read");
  const std::string& place = registry->description().place;
  context.console().text(fmt::format("{}: {} indexed", printable(place), plural(report.entries, "entry")));
  context.console().document({{"home", place},
                              {"indexed", report.entries},
                              {"set_aside", report.set_aside.size()},
                              {"unreadable", report.findings.size()},
                              {"findings", std::move(findings)}});
  return report.findings.empty() ? ExitStatus::done : ExitStatus::negative;
}

void add_plain(CLI::App& registry, Action& chosen, const char* name, const char* help,
               Result<ExitStatus> (*perform)(const Context&, const NoOptions&)) {
  CLI::App* verb = registry.add_subcommand(name, help);
  verb->footer(fmt::format(
      "Example:\n  cubinet registry {}\n  cubinet registry {} --home /var/cache/cubinet --json", name, name));
  choose<NoOptions>(*verb, chosen, std::make_shared<NoOptions>(), perform);
}

void add_list_verb(CLI::App& registry, Action& chosen) {
  CLI::App* verb = registry.add_subcommand("list", "Print the entries of the home");
  auto options = std::make_shared<ListOptions>();
  verb->add_option("KERNEL", options->filter.kernels,
                   "Keys or names, NAME@PIN for one pin or version; of imports too. With --imports a number")
      ->type_name("");
  add_record_arguments(*verb, options->filter);
  verb->add_flag("--imports", options->imports,
                 "The imported folders instead; their functions with -v or for one NUMBER");
  verb->footer(R"(Examples:
  cubinet registry list --template attention_decode --target sm_90a,sm_100f
  cubinet registry list --imports 2)");
  choose<ListOptions>(*verb, chosen, options, list);
}

void add_show_verb(CLI::App& registry, Action& chosen) {
  CLI::App* verb =
      registry.add_subcommand("show", "Print all that is known of a kernel; status 1 when it is not there");
  auto options = std::make_shared<ShowOptions>();
  verb->add_option("KERNEL", options->kernel,
                   "A key, as `key` and `registry list` print it, or a name; NAME@PIN for one pin or version")
      ->type_name("");
  add_integer(*verb, "--import", options->import, 1, INT64_MAX, "The import of this number");
  verb->footer("Example:\n  cubinet registry show 0123456789abcdef");
  choose<ShowOptions>(*verb, chosen, options, show);
}

}  // namespace

void add_registry(CLI::App& root, Action& chosen) {
  CLI::App* registry = root.add_subcommand("registry", "Look into the local home, check it, tidy it");
  registry->require_subcommand(0, 1);
  add_list_verb(*registry, chosen);
  add_show_verb(*registry, chosen);
  add_plain(*registry, chosen, "verify", "Check every entry, change nothing; status 1 when one is damaged",
            verify);
  add_registry_stats(*registry, chosen);
  add_registry_add(*registry, chosen);
  add_plain(*registry, chosen, "repair", "Set aside what verify finds damaged, and make the index anew",
            repair);
  add_registry_remove(*registry, chosen);
  add_registry_refresh(*registry, chosen);
  add_registry_gc(*registry, chosen);
  add_registry_pin(*registry, chosen);
  add_registry_limit(*registry, chosen);
  registry->footer(R"(Examples:
  cubinet registry list
  cubinet registry verify
  cubinet registry gc --max-bytes 2G --dry-run)");
}

}  // namespace cubinet::cli
