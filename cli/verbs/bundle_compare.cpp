// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "describe.hpp"
#include "verbs.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/session/bundle_comparison.hpp>
#include <cubinet/session/code_comparison.hpp>
#include <cubinet/session/output_file.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cubinet::cli {
namespace {

struct DiffOptions {
  std::vector<std::string> files;
  bool code = false;
};

struct RootOptions {
  std::string bundle;
  std::string output;
};

Result<std::shared_ptr<Bundle>> open_sound(const Context& context, const std::string& file) {
  return open_sound_bundle(context.session_options(), file);
}

void print_kernel(const Context& context, char mark, const CubinRecord& record,
                  const std::string& differences = "") {
  context.console().text(fmt::format("{} {}  {:<12}  {}{}", mark, record.identity.key().to_string(),
                                     record.target_name(), kernel_title(record),
                                     differences.empty() ? "" : "  (" + differences + ")"));
}

nlohmann::json describe_all(const CubinRecords& records) {
  nlohmann::json described = nlohmann::json::array();
  for (const auto& record : records)
    described.push_back(describe(*record));
  return described;
}

Result<ExitStatus> diff_code(const Context& context, const DiffOptions& options) {
  CUBINET_TRY_ASSIGN(const auto first, open_sound(context, options.files[0]));
  CUBINET_TRY_ASSIGN(const auto second, open_sound(context, options.files[1]));
  CUBINET_TRY_ASSIGN(const CodeComparison found, compare_code(*first, *second));
  nlohmann::json changed = nlohmann::json::array();
  for (const auto& record : found.only_in_first)
    print_kernel(context, '-', *record);
  for (const auto& [record, differences] : found.changed) {
    print_kernel(context, '!', *record, to_text(differences));
    changed.push_back(describe(*record));
    changed.back()["differences"] = describe(differences);
  }
  for (const auto& record : found.only_in_second)
    print_kernel(context, '+', *record);
  context.console().text(fmt::format(
      "{} and {}: the same code in {}, other code in {}, only in the first {}, only in the second {}",
      printable(options.files[0]), printable(options.files[1]), plural(found.same.size(), "kernel"),
      found.changed.size(), found.only_in_first.size(), found.only_in_second.size()));
  context.console().document({{"same", describe_all(found.same)},
                              {"changed", std::move(changed)},
                              {"only_in_first", describe_all(found.only_in_first)},
                              {"only_in_second", describe_all(found.only_in_second)},
                              {"versions", {first->root().options.version, second->root().options.version}},
                              {"equal", found.equal()}});
  return found.equal() ? ExitStatus::done : ExitStatus::negative;
}

Result<ExitStatus> diff(const Context& context, const DiffOptions& options) {
  if (options.code) return diff_code(context, options);
  CUBINET_TRY_ASSIGN(const auto first, open_sound(context, options.files[0]));
  CUBINET_TRY_ASSIGN(const auto second, open_sound(context, options.files[1]));
  CUBINET_TRY_ASSIGN(const BundleComparison found, compare_bundles(*first, *second));
  for (const auto& record : found.only_in_first)
    print_kernel(context, '-', *record);
  for (const auto& record : found.changed)
    print_kernel(context, '!', *record);
  for (const auto& record : found.only_in_second)
    print_kernel(context, '+', *record);
  const std::size_t count = found.differences();
  context.console().text(fmt::format("{} and {}: {}", printable(options.files[0]),
                                     printable(options.files[1]),
                                     count == 0 ? "the same kernels" : plural(count, "difference")));
  context.console().document_text(to_json(found));
  return count == 0 ? ExitStatus::done : ExitStatus::negative;
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
  compare->add_flag("--code", comparing->code, "Compare what kernels run, whatever their build fingerprints");
  compare->footer(R"(-: in the first alone, +: in the second alone, !: the same build with other bytes

With --code a kernel is its identity: template, parameters and target. Names in brackets say what differs:
  code        machine code: .text.KERNEL, its relocations, .nv.capmerc.text.KERNEL
  constants   .nv.constantN.KERNEL
  resources   registers and stack (.nv.info), .nv.shared.KERNEL, .nv.local.KERNEL
  attributes  .nv.info.KERNEL but the toolkit's version: arguments, launch bounds, barriers
  launch      the record's threads, dynamic shared memory, argument bytes, cluster, launch flags
  functions   code and resources of functions that are no kernels
  data        .nv.constant3, and variables that .nv.constant4 leads to, where an instruction reads the bank
  image       the bytes of PTX and of other compilers' cache entries
Names of variables and functions, the order of symbols, variables that no instruction reaches, notes,
debug sections and the interface version are not compared.

Examples:
  cubinet bundle diff kernels-7.bundle kernels-8.bundle
  cubinet bundle diff --code before.bundle after.bundle)");
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
