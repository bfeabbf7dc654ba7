// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "describe.hpp"
#include "output_file.hpp"
#include "verbs.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/cubin_registry/bundle.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <map>
#include <tuple>

namespace cubinet::cli {
namespace {

struct DiffOptions {
  std::vector<std::string> files;
};

struct RootOptions {
  std::string bundle;
  std::string output;
};

// What makes a build the same one, whatever bundle it lies in.
using BuildName = std::tuple<Bytes, ImageKind, BuildFingerprint>;
using Builds = std::map<BuildName, std::shared_ptr<const CubinRecord>>;

Result<Builds> builds_of(const Context& context, const std::string& file, BundleRoot& root) {
  CUBINET_TRY_ASSIGN(const auto bundle, context.open_bundle(file));
  root = bundle->root();
  CUBINET_TRY_ASSIGN(const CubinRecords records, bundle->list());
  Builds builds;
  for (const auto& record : records)
    builds.emplace(BuildName(record->identity.encoding(), record->kind, record->fingerprint), record);
  return builds;
}

// All that a record says but for the version of its bundle.
bool same_but_version(const CubinRecord& a, CubinRecord b) {
  b.version = a.version;
  return a == b;
}

struct Difference {
  const char* mark;  // "-" in the first alone, "+" in the second alone, "!" in both and not the same
  std::shared_ptr<const CubinRecord> record;
};

std::vector<Difference> differences(const Builds& first, const Builds& second) {
  std::vector<Difference> found;
  for (const auto& [name, record] : first) {
    const auto there = second.find(name);
    if (there == second.end()) {
      found.push_back({"-", record});
    } else if (!same_but_version(*record, *there->second)) {
      found.push_back({"!", there->second});
    }
  }
  for (const auto& [name, record] : second) {
    if (!first.contains(name)) found.push_back({"+", record});
  }
  return found;
}

Result<ExitStatus> diff(const Context& context, const DiffOptions& options) {
  BundleRoot roots[2];
  CUBINET_TRY_ASSIGN(const Builds first, builds_of(context, options.files[0], roots[0]));
  CUBINET_TRY_ASSIGN(const Builds second, builds_of(context, options.files[1], roots[1]));
  nlohmann::json document = {{"only_in_first", nlohmann::json::array()},
                             {"only_in_second", nlohmann::json::array()},
                             {"changed", nlohmann::json::array()}};
  const std::vector<Difference> found = differences(first, second);
  for (const Difference& difference : found) {
    const CubinRecord& record = *difference.record;
    const char mark = *difference.mark;
    document[mark == '-'   ? "only_in_first"
             : mark == '+' ? "only_in_second"
                           : "changed"]
        .push_back(describe(record));
    context.console().text(fmt::format("{} {}  {:<12}  {}", mark, record.identity.key().to_string(),
                                       record.target_name(), printable(spec_of(record).to_string())));
  }
  context.console().text(
      fmt::format("{} and {}: {}", printable(options.files[0]), printable(options.files[1]),
                  found.empty() ? "the same kernels" : plural(found.size(), "difference")));
  document["versions"] = {roots[0].options.version, roots[1].options.version};
  document["equal"] = found.empty();
  context.console().document(document);
  return found.empty() ? ExitStatus::done : ExitStatus::negative;
}

Result<ExitStatus> write_root(const Context& context, const RootOptions& options) {
  CUBINET_TRY_ASSIGN(const auto bundle, Bundle::open(options.bundle, context.files()));
  CUBINET_TRY_ASSIGN(
      const std::filesystem::path output,
      check_output_file(*context.files(), options.output, context.protected_files({options.bundle})));
  CUBINET_TRY(write_file_atomically(*context.files(), output, bundle->root_bytes()));
  const std::string digest = sha256(bundle->root_bytes()).to_hex();
  context.console().text(fmt::format("{}: {}, SHA-256 {}", printable(output.string()),
                                     format_bytes(bundle->root_bytes().size()), digest));
  context.console().document(
      {{"root", output.string()}, {"bytes", bundle->root_bytes().size()}, {"sha256", digest}});
  return ExitStatus::done;
}

}  // namespace

void add_bundle_compare(CLI::App& bundle, Action& chosen) {
  CLI::App* compare =
      bundle.add_subcommand("diff", "Print in which kernels two bundles differ; status 1 when they do");
  auto comparing = std::make_shared<DiffOptions>();
  compare->add_option("BUNDLE", comparing->files, "The two bundles")->required()->expected(2)->type_name("");
  compare->footer(R"(-: in the first alone, +: in the second alone, !: the same build with other bytes
Example:
  cubinet bundle diff kernels-7.bundle kernels-8.bundle)");
  choose<DiffOptions>(*compare, chosen, comparing, diff);

  CLI::App* root =
      bundle.add_subcommand("root", "Write the root of a bundle to a file: what a signature covers");
  auto options = std::make_shared<RootOptions>();
  root->add_option("BUNDLE", options->bundle, "The bundle")->required()->type_name("");
  add_text(*root, "-o,--output", options->output, "ROOT", "The file to write")->required();
  root->footer(R"(Example:
  cubinet bundle root kernels.bundle -o kernels.root)");
  choose<RootOptions>(*root, chosen, options, write_root);
}

}  // namespace cubinet::cli
