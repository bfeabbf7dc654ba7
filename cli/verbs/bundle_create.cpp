// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "bundle_arguments.hpp"
#include "describe.hpp"
#include "device_filter.hpp"
#include "record_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/session/output_file.hpp>
#include <cubinet/spec/image_check.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <set>

namespace cubinet::cli {
namespace {

struct BundleCreateOptions {
  std::vector<std::string> cubins;
  std::string output;
  BundleOptions bundle;
  bool all_builds = false;
  bool imports = false;
  bool tuning = false;
  RecordArguments filter;
  DeviceFilter device;
};

// Reads FILE and FILE.record, which `compile -o FILE --record` writes. Refuses a record of another
// file, because the bundle would then contain a kernel under a wrong name.
Result<Cubin> read_cubin(const Context& context, const std::string& file) {
  CUBINET_TRY_ASSIGN(Bytes image, context.files()->read(file, kMaximumImageBytes));
  const auto record_bytes = context.files()->read(file + ".record", kMaximumRecordBytes);
  if (!record_bytes) {
    Error error = record_bytes.error();
    error.remedy = "`cubinet compile … -o FILE --record` writes a cubin and its record";
    return error;
  }
  auto record = decode_record(*record_bytes);
  if (!record) {
    Error error = record.error();
    error.message = "'" + file + ".record': " + error.message;
    return error;
  }
  if (record->size != image.size() || record->digest != sha256(image)) {
    return Error{ErrorCode::corruption,
                 "'" + file + "' is not the cubin that '" + file + ".record' describes", "compile it again"};
  }
  if (auto checked = check_image(*record, image); !checked) {
    Error error = std::move(checked).error();
    error.message = "'" + file + "': " + error.message;
    return error;
  }
  Cubin cubin;
  cubin.record = std::make_shared<const CubinRecord>(*std::move(record));
  cubin.image = std::make_shared<const Bytes>(std::move(image));
  return cubin;
}

Result<std::vector<Cubin>> read_cubins(const Context& context, const std::vector<std::string>& files) {
  std::vector<Cubin> cubins;
  for (const std::string& file : files) {
    CUBINET_TRY_ASSIGN(cubins.emplace_back(), read_cubin(context, file));
  }
  return cubins;
}

// Returns the records to pack: only the newest build of each kernel, which comes first, unless all
// builds are requested.
Result<DeviceChoice> wanted_records(const Context& context, const BundleCreateOptions& options,
                                    const std::shared_ptr<Home>& registry) {
  CUBINET_TRY_ASSIGN(CubinRecords listed, registry->list());
  // A filter that names kernels also selects imported ones.
  const bool named =
      !options.filter.functions.empty() || !options.filter.keys.empty() || !options.device.problems.empty();
  if (!options.imports && !named) {
    std::erase_if(listed, [](const auto& record) { return record->origin == CubinOrigin::imported; });
  }
  DeviceChoice choice;
  CUBINET_TRY_ASSIGN(choice.records, select_records(options.filter, std::move(listed)));
  if (!options.device.empty()) {
    CUBINET_TRY_ASSIGN(const DeviceRequest request, device_request_of(context, options.device));
    CUBINET_TRY_ASSIGN(
        choice, choose_for_device(context.session_options(), request, registry, std::move(choice.records)));
  }
  // The choice for problems already has only the builds that a request would use.
  if (options.all_builds || !options.device.problems.empty()) return choice;
  CubinRecords newest;
  std::set<std::pair<ImageKind, Bytes>> seen;
  for (const auto& record : choice.records) {
    if (!seen.insert({record->kind, record->identity.encoding()}).second) continue;
    CUBINET_TRY_ASSIGN(const auto builds, registry->find(record->identity.kernel()));
    const auto first = std::find_if(builds.begin(), builds.end(), [&](const auto& build) {
      return build->kind == record->kind && build->identity == record->identity;
    });
    newest.push_back(first == builds.end() ? record : *first);
  }
  choice.records = std::move(newest);
  return choice;
}

struct Written {
  std::size_t kernels = 0;  // 0: nothing fits, and no file was written
  std::vector<UnservedProblem> unserved = {};
  std::optional<std::size_t> measurements = {};  // nullopt: not requested
};

Result<Written> write_from_home(const Context& context, const BundleCreateOptions& options,
                                const std::filesystem::path& output) {
  CUBINET_TRY_ASSIGN(const auto registry, context.open_registry(HomeOptions::Access::read_only));
  CUBINET_TRY_ASSIGN(DeviceChoice choice, wanted_records(context, options, registry));
  TuningTable tuning;
  if (options.tuning) {
    CUBINET_TRY_ASSIGN(tuning, registry->checked_tuning());
  }
  if (!choice.records.empty())
    CUBINET_TRY(create_bundle(output, *registry, choice.records, options.bundle, context.files(), tuning));
  Written written{choice.records.size(), std::move(choice.unserved)};
  if (options.tuning) written.measurements = tuning.rows().size();
  return written;
}

Result<Written> write_from_files(const Context& context, const BundleCreateOptions& options,
                                 const std::filesystem::path& output) {
  CUBINET_TRY_ASSIGN(std::vector<Cubin> cubins, read_cubins(context, options.cubins));
  std::set<Sha256Digest> builds;  // a build that is named twice is in the bundle once
  for (const Cubin& cubin : cubins)
    builds.insert(sha256(encode_record(*cubin.record)));
  CUBINET_TRY(create_bundle(output, std::move(cubins), options.bundle, context.files()));
  return Written{builds.size()};
}

Result<ExitStatus> create(const Context& context, const BundleCreateOptions& options) {
  if (!options.cubins.empty() && (!options.filter.empty() || !options.device.empty() || options.all_builds ||
                                  options.imports || options.tuning)) {
    return Error{ErrorCode::invalid_argument,
                 "--template, --target, --key, --function, --types, --device, --imports, --all-builds and "
                 "--tuning choose from the home",
                 "leave them out when cubin files are named"};
  }
  std::vector<std::string> inputs = options.cubins;
  for (const std::string& cubin : options.cubins)
    inputs.push_back(cubin + ".record");
  CUBINET_TRY_ASSIGN(
      const std::filesystem::path output,
      check_output_file(*context.files(), options.output, context.protected_files(std::move(inputs))));
  CUBINET_TRY(check_bundle_options(options.bundle));
  CUBINET_TRY_ASSIGN(const Written written, options.cubins.empty()
                                                ? write_from_home(context, options, output)
                                                : write_from_files(context, options, output));
  if (written.kernels == 0) {
    return context.fail(
        Error{ErrorCode::not_found, "the home holds no kernel that fits: no bundle is written",
              "`cubinet registry list` prints what it holds"},
        ExitStatus::negative);
  }
  const std::string measured =
      written.measurements ? ", " + plural(*written.measurements, "measurement") : std::string();
  context.console().text(fmt::format("{}: {}{}{}", printable(output.string()),
                                     plural(written.kernels, "kernel"), measured,
                                     unserved_text(written.unserved)));
  nlohmann::json document = {
      {"bundle", output.string()},         {"channel", options.bundle.channel},
      {"version", options.bundle.version}, {"profile", to_string(options.bundle.profile)},
      {"kernels", written.kernels},        {"unserved", describe(written.unserved)}};
  if (written.measurements) document["measurements"] = *written.measurements;
  context.console().document(document);
  return written.unserved.empty() ? ExitStatus::done : ExitStatus::negative;
}

}  // namespace

void add_bundle_create(CLI::App& bundle, Action& chosen) {
  CLI::App* verb = bundle.add_subcommand("create", "Write a bundle of the home's kernels, or of cubin files");
  auto options = std::make_shared<BundleCreateOptions>();
  verb->add_option("CUBIN", options->cubins, "Cubin files with their FILE.record; none: the home's kernels")
      ->type_name("");
  add_text(*verb, "-o,--output", options->output, "BUNDLE", "The bundle to write")->required();
  add_bundle_options(*verb, options->bundle);
  add_record_arguments(*verb, options->filter);
  add_function_arguments(*verb, options->filter);
  add_device_filter(*verb, options->device);
  verb->add_flag("--imports", options->imports,
                 "Kernels of imported folders too, which --function, --key and --problems name");
  verb->add_flag("--tuning", options->tuning, "What was measured too (cubinet tune)");
  verb->add_flag("--all-builds", options->all_builds, "Every build of a kernel, not only the newest");
  verb->footer(R"(Examples:
  cubinet bundle create -o all.bundle
  cubinet bundle create -o hopper.bundle --target sm_90a --template attention_decode
  cubinet bundle create -o published.bundle --imports --types bf16 --profile ship
  cubinet bundle create -o ours.bundle --device sm_100 --problems shapes.txt --profile ship
  cubinet bundle create -o mine.bundle scale_add.cubin rms_norm.cubin)");
  choose<BundleCreateOptions>(*verb, chosen, options, create);
}

}  // namespace cubinet::cli
