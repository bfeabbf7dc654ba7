// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "describe.hpp"
#include "record_filter.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>

#include <fmt/format.h>

namespace cubinet::cli {
namespace {

struct NoOptions {};
struct ShowOptions {
  std::string key;
};

Result<ExitStatus> list(const Context& context, const RecordFilter& filter) {
  CUBINET_TRY_ASSIGN(const auto registry, context.open_registry(RegistryOptions::Access::read_only));
  CUBINET_TRY_ASSIGN(auto listed, registry->list());
  CUBINET_TRY_ASSIGN(const auto records, select_records(filter, std::move(listed)));
  nlohmann::json described = nlohmann::json::array();
  for (const auto& record : records)
    described.push_back(describe(*record));
  if (records.empty()) {
    context.console().message(LogLevel::info, "no entry");
  } else {
    context.console().text(record_table(records).to_string());
  }
  context.console().document({{"home", registry->home().string()}, {"entries", std::move(described)}});
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
      spec_of(record).to_string(), record.target_name(), record.identity.key().to_string(),
      record.fingerprint.to_string(), describe_origin(record), record.digest.to_hex(), record.size,
      record.interface_version, printable(record.compiler), printable(record.options));
  for (const EntryPoint& entry_point : record.entry_points) {
    text += fmt::format("\n  kernel       {}: {} threads, {} bytes of shared memory, {} bytes of arguments",
                        printable(entry_point.name), entry_point.threads, entry_point.dynamic_shared_bytes,
                        entry_point.parameter_bytes);
  }
  if (!record.warnings.empty()) text += "\n  warnings" + indented(record.warnings);
  return text;
}

Result<ExitStatus> show(const Context& context, const ShowOptions& options) {
  CUBINET_TRY_ASSIGN(const KernelKey key, KernelKey::parse(options.key));
  CUBINET_TRY_ASSIGN(const auto registry, context.open_registry(RegistryOptions::Access::read_only));
  CUBINET_TRY_ASSIGN(const auto records, registry->find_key(key));
  if (records.empty()) {
    return context.fail(Error{ErrorCode::not_found, "the home holds no kernel of the key " + key.to_string(),
                              "`cubinet registry list` prints the keys that it holds"},
                        ExitStatus::negative);
  }
  nlohmann::json described = nlohmann::json::array();
  for (const auto& record : records) {
    described.push_back(describe_fully(*record));
    context.console().text(show_text(*record));
  }
  context.console().document({{"home", registry->home().string()}, {"entries", std::move(described)}});
  return ExitStatus::done;
}

Result<ExitStatus> verify(const Context& context, const NoOptions& /*options*/) {
  CUBINET_TRY_ASSIGN(const auto registry, context.open_registry(RegistryOptions::Access::read_only));
  CUBINET_TRY_ASSIGN(const VerifyReport report, registry->verify());
  nlohmann::json findings = nlohmann::json::array();
  for (const RegistryFinding& finding : report.findings) {
    findings.push_back(describe(finding));
    context.console().text(fmt::format("{}: {}: {}", to_string(finding.kind),
                                       printable(finding.file.string()), printable(finding.reason)));
  }
  context.console().text(
      fmt::format("{}: {}, {}, {}", printable(registry->home().string()), plural(report.entries, "entry"),
                  format_bytes(report.bytes),
                  report.findings.empty() ? "all sound" : plural(report.findings.size(), "finding")));
  context.console().document({{"home", registry->home().string()},
                              {"entries", report.entries},
                              {"bytes", report.bytes},
                              {"findings", std::move(findings)}});
  return report.findings.empty() ? ExitStatus::done : ExitStatus::negative;
}

Result<ExitStatus> rebuild(const Context& context, const NoOptions& /*options*/) {
  CUBINET_TRY_ASSIGN(const auto registry, context.open_registry(RegistryOptions::Access::read_write));
  CUBINET_TRY_ASSIGN(const std::uint64_t indexed, registry->rebuild());
  context.console().text(
      fmt::format("{}: {} indexed", printable(registry->home().string()), plural(indexed, "entry")));
  context.console().document({{"home", registry->home().string()}, {"indexed", indexed}});
  return ExitStatus::done;
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
  auto filter = std::make_shared<RecordFilter>();
  add_record_filter(*verb, *filter);
  verb->footer("Example:\n  cubinet registry list --template attention_decode --target sm_90a,sm_100f");
  choose<RecordFilter>(*verb, chosen, filter, list);
}

void add_show_verb(CLI::App& registry, Action& chosen) {
  CLI::App* verb =
      registry.add_subcommand("show", "Print all that is known of a kernel; status 1 when it is not there");
  auto options = std::make_shared<ShowOptions>();
  verb->add_option("KEY", options->key, "16 hexadecimal digits, as `key` and `registry list` print them")
      ->required()
      ->type_name("");
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
  add_plain(*registry, chosen, "rebuild", "Derive the index anew from the record files", rebuild);
  add_registry_prune(*registry, chosen);
  registry->footer(R"(Examples:
  cubinet registry list
  cubinet registry verify
  cubinet registry prune --stale --dry-run)");
}

}  // namespace cubinet::cli
