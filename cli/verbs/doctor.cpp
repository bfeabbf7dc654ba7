// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "describe.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/session/compiler_report.hpp>
#include <cubinet/session/open_stores.hpp>
#include <cubinet/trust/key_set.hpp>

#include <CLI/Version.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace cubinet::cli {
namespace {

struct DoctorOptions {
  std::vector<std::string> required;
};

// The findings about one part of the environment: lines for people, an object for programs, and the
// problem, if there is one.
struct Finding {
  std::string part;
  std::vector<std::pair<std::string, std::string>> lines;
  nlohmann::json described = nlohmann::json::object();
  std::optional<Error> problem;
};

std::string cuda_version(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Finding examine_driver(const Context& context) {
  Finding finding;
  finding.part = "driver";
  const auto driver = Driver::open({}, context.console().log_sink());
  if (!driver) {
    finding.problem = driver.error();
    finding.lines.emplace_back("driver", "none");
    return finding;
  }
  finding.lines.emplace_back(
      "driver", fmt::format("CUDA {}, {}", cuda_version((*driver)->version()), (*driver)->library_path()));
  finding.described = {{"version", cuda_version((*driver)->version())},
                       {"library", (*driver)->library_path()},
                       {"devices", nlohmann::json::array()}};
  for (const DeviceProperties& device : (*driver)->devices()) {
    const auto targets = targets_for(device.capability);
    std::vector<std::string> names;
    for (const SmTarget target : targets)
      names.push_back(target.to_string());
    finding.lines.emplace_back(
        fmt::format("device {}", device.ordinal),
        fmt::format("{}, compute capability {}, {}, runs {}", device.name, device.capability.to_string(),
                    format_bytes(device.memory_bytes), join(names)));
    finding.described["devices"].push_back({{"ordinal", device.ordinal},
                                            {"name", device.name},
                                            {"uuid", device.uuid},
                                            {"capability", device.capability.to_string()},
                                            {"memory_bytes", device.memory_bytes},
                                            {"multiprocessors", device.multiprocessors},
                                            {"targets", names}});
  }
  return finding;
}

void list_candidates(Finding& finding, const CompilerReport& report) {
  finding.described["candidates"] = nlohmann::json::array();
  for (const CompilerReport::Library& candidate : report.candidates) {
    finding.lines.emplace_back("candidate", fmt::format("{} {}: {}", candidate.chosen ? "*" : " ",
                                                        candidate.source, candidate.library));
    finding.described["candidates"].push_back({{"source", candidate.source},
                                               {"library", candidate.library},
                                               {"builtins", candidate.builtins},
                                               {"chosen", candidate.chosen}});
  }
}

// A missing linker is not a problem, because only sources that are linked need it.
void describe_linker(Finding& finding, const CompilerReport& report) {
  const auto& linker = report.linker;
  finding.lines.emplace_back("linker", linker ? linker->identity : "none: " + report.why_no_linker);
  finding.described["linker"] =
      linker ? nlohmann::json{{"identity", linker->identity}, {"library", linker->library}}
             : nlohmann::json(nullptr);
}

Finding examine_compiler(const Context& context) {
  Finding finding;
  finding.part = "compiler";
  const CompilerReport report = report_compilers(context.session_options());
  finding.problem = report.error;
  finding.lines.emplace_back("compiler", report.identity.empty() ? "none" : report.identity);
  finding.described["searched"] = report.searched;
  for (const std::string& place : report.searched)
    finding.lines.emplace_back("searched", place);
  list_candidates(finding, report);
  if (report.identity.empty()) return finding;
  finding.described["identity"] = report.identity;
  finding.described["library"] = report.library;
  finding.described["builtins"] = report.builtins;
  describe_linker(finding, report);
  if (report.error) return finding;
  std::vector<std::string> names;
  for (const SmTarget target : report.targets)
    names.push_back(target.to_string());
  finding.lines.emplace_back("targets", join(names, " "));
  finding.described["targets"] = names;
  return finding;
}

// Returns why the home cannot be created, or nullopt. A home that does not exist yet is created on
// first use.
std::optional<Error> cannot_be_created(FileSystem& files, const std::filesystem::path& home) {
  std::filesystem::path ancestor = home;
  while (ancestor.has_relative_path()) {
    ancestor = ancestor.parent_path();
    const auto status = files.status(ancestor);
    if (!status) return status.error();
    if (!status->has_value()) continue;
    break;
  }
  const auto writable = files.check_writable(ancestor);
  if (writable) return std::nullopt;
  return Error{ErrorCode::unavailable,
               fmt::format("the home '{}' cannot be created: {}", home.string(), writable.error().message),
               "name another home with --home or CUBINET_HOME"};
}

// Describes the content of a home that could be opened.
Result<std::string> describe_content(Home& home, nlohmann::json& described) {
  CUBINET_TRY_ASSIGN(const HomeStats stats, home.stats());
  described["entries"] = stats.entries;
  described["bytes"] = stats.cubin_bytes;
  described["quarantined"] = stats.quarantined;
  described["sqlite_version"] = stats.sqlite_version;
  described["journal_mode"] = stats.journal_mode;
  return fmt::format("{}, {}, {} quarantined", stats.entries, format_bytes(stats.cubin_bytes),
                     stats.quarantined);
}

void examine_registry(const Context& context, Finding& finding) {
  const auto registry = context.open_registry(HomeOptions::Access::read_only);
  const auto content =
      registry ? describe_content(**registry, finding.described) : Result<std::string>(registry.error());
  if (!content) {
    finding.problem = content.error();
    return;
  }
  finding.lines.emplace_back("entries", *content);
  finding.lines.emplace_back("index", fmt::format("SQLite {}, journal mode {}",
                                                  finding.described["sqlite_version"].get<std::string>(),
                                                  finding.described["journal_mode"].get<std::string>()));
}

Finding examine_home(const Context& context) {
  Finding finding;
  finding.part = "home";
  const auto home = context.home();
  if (!home) {
    finding.lines.emplace_back("home", "none");
    finding.problem = home.error();
    return finding;
  }
  finding.described = {{"path", home->string()}, {"from", context.home_origin()}};
  const auto status = context.files()->status(*home);
  const bool exists = status && status->has_value();
  finding.described["exists"] = exists;
  finding.lines.emplace_back("home", fmt::format("{} (from {}){}", home->string(), context.home_origin(),
                                                 exists ? "" : ", created when it is first used"));
  const FileSystemKind kind = context.files()->kind(*home);
  finding.lines.emplace_back(
      "on", kind.name + (kind.network ? ", a network file system: no index there, and times may lag" : ""));
  finding.described["file_system"] = kind.name;
  finding.described["network_file_system"] = kind.network;
  if (exists) {
    examine_registry(context, finding);
  } else {
    finding.problem = cannot_be_created(*context.files(), *home);
  }
  finding.described["usable"] = !finding.problem.has_value();
  return finding;
}

// Reports the homes that others maintain. Verbs that search them fail if one cannot be opened.
Finding examine_site_homes(const Context& context) {
  Finding finding;
  finding.part = "site_homes";
  finding.described = nlohmann::json::array();
  const SessionOptions options = context.session_options();
  for (const std::string& folder : options.site_homes) {
    nlohmann::json described = {{"path", folder}};
    const auto home = open_site_home(options, folder);
    const auto content = home ? describe_content(**home, described) : Result<std::string>(home.error());
    described["usable"] = content.has_value();
    finding.described.push_back(std::move(described));
    finding.lines.emplace_back("site home", folder + ": " + (content ? *content : content.error().message));
    if (!content && !finding.problem) finding.problem = content.error();
  }
  return finding;
}

// Reports which signatures the policy accepts for bundles.
Finding examine_trust(const Context& context) {
  Finding finding;
  finding.part = "trust";
  const auto home = context.home();
  const std::string folder = home ? home->string() : "";
  const std::string file = context.policy_file();
  const auto status = context.files()->status(file);
  const bool exists = !file.empty() && status && status->has_value();
  finding.lines.emplace_back("policy", exists ? file : "none: bundles need no signature");
  finding.described = {{"policy", exists ? nlohmann::json(file) : nlohmann::json(nullptr)}};
  // The path of the bundle does not matter here; the call only shows whether the policy can be
  // read.
  const auto policy = find_trust_policy("/", folder, context.session_options().policy_file, context.files());
  if (!policy) finding.problem = policy.error();
  const BuiltinReport builtin = report_builtin_bundle(context.session_options());
  finding.lines.emplace_back(kBuiltinPlace, to_text(builtin));
  finding.described["builtin"] = describe(builtin);
  if (builtin.error && !finding.problem) finding.problem = builtin.error;
  finding.described["key_set"] = nullptr;
  if (folder.empty()) return finding;
  const auto keys = read_key_set(*context.files(), folder);
  if (!keys) finding.problem = keys.error();
  if (!keys || !keys->has_value()) return finding;
  finding.lines.emplace_back("key set", fmt::format("version {}, {} of {} have to sign", (*keys)->version,
                                                    (*keys)->threshold, plural((*keys)->keys.size(), "key")));
  nlohmann::json listed = nlohmann::json::array();
  for (const PublicKey& key : (*keys)->keys)
    listed.push_back(key.to_string());
  finding.described["key_set"] = {
      {"version", (*keys)->version}, {"threshold", (*keys)->threshold}, {"keys", std::move(listed)}};
  return finding;
}

Finding examine_libraries() {
  Finding finding;
  finding.part = "libraries";
  const std::string fmt_version =
      fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100);
  const std::string json_version = fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR,
                                               NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH);
  finding.lines.emplace_back("cubinet", CUBINET_VERSION);
  finding.lines.emplace_back("built with", fmt::format("CLI11 {}, fmt {}, nlohmann-json {}", CLI11_VERSION,
                                                       fmt_version, json_version));
  finding.described = {{"cubinet", CUBINET_VERSION},
                       {"cli11", CLI11_VERSION},
                       {"fmt", fmt_version},
                       {"nlohmann_json", json_version}};
  return finding;
}

void print(const Context& context, const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    for (const auto& [name, value] : finding.lines)
      text += fmt::format("{:<11} {}\n", name, printable(value));
  }
  bool problems = false;
  for (const Finding& finding : findings) {
    if (!finding.problem) continue;
    problems = true;
    text += fmt::format("\nproblem: {}", printable(finding.problem->message));
    if (!finding.problem->remedy.empty()) text += "\n  " + printable(finding.problem->remedy);
  }
  text += problems ? "" : "\nno problem found";
  context.console().text(text);
}

Result<ExitStatus> doctor(const Context& context, const DoctorOptions& options) {
  std::vector<Finding> findings;
  findings.push_back(examine_libraries());
  findings.push_back(examine_driver(context));
  findings.push_back(examine_compiler(context));
  findings.push_back(examine_home(context));
  findings.push_back(examine_site_homes(context));
  findings.push_back(examine_trust(context));
  nlohmann::json document = {{"problems", nlohmann::json::array()}};
  ExitStatus status = ExitStatus::done;
  for (const Finding& finding : findings) {
    document[finding.part] = finding.described;
    if (!finding.problem) continue;
    nlohmann::json problem = error_document(*finding.problem)["error"];
    problem["part"] = finding.part;
    document["problems"].push_back(std::move(problem));
    const std::string part = finding.part == "site_homes" ? "home" : finding.part;
    const bool required =
        std::find(options.required.begin(), options.required.end(), part) != options.required.end();
    if (required && status == ExitStatus::done) document.update(error_document(*finding.problem));
    if (required) status = ExitStatus::environment;
  }
  print(context, findings);
  context.console().document(document);
  return status;
}

}  // namespace

void add_doctor(CLI::App& root, Action& chosen) {
  CLI::App* verb =
      root.add_subcommand("doctor", "Say what is here and what is missing: driver, compiler, home");
  auto options = std::make_shared<DoctorOptions>();
  add_list(*verb, "--require", options->required, "PART",
           "Status 3 unless it works: driver, compiler or home (with the site homes); may be repeated")
      ->check(CLI::IsMember({"driver", "compiler", "home"}));
  verb->footer(
      R"(Status 0 when it could look, whatever it found; --require makes a check of it. Changes nothing.

Examples:
  cubinet doctor
  cubinet doctor --json
  cubinet doctor --require compiler --require home)");
  choose<DoctorOptions>(*verb, chosen, options, doctor);
}

}  // namespace cubinet::cli
