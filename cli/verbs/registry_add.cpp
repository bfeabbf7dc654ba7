// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "describe.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/kernel_table/published_header.hpp>
#include <cubinet/spec/user_image.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace cubinet::cli {
namespace {

struct AddOptions {
  std::string file;
  std::string name;
};

bool lies_there(const CubinRecords& there, const CubinRecord& record) {
  return std::any_of(there.begin(), there.end(), [&](const auto& each) {
    return each->kind == record.kind && each->identity == record.identity && each->digest == record.digest;
  });
}

// Returns the other images with the same name. The name then no longer identifies one kernel.
std::vector<std::string> namesakes(Home& home, const KernelSpec& spec) {
  const auto found = home.find_function(spec.name);
  if (!found) return {};
  const KernelId own = identify(spec);
  std::vector<std::string> names;
  for (const auto& record : *found) {
    if (!record->identity.is_of(own)) names.push_back(name_with_pin(spec_of(*record), spec.name));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Result<ExitStatus> add(const Context& context, const AddOptions& options) {
  CUBINET_TRY_ASSIGN(const Bytes file, context.files()->read(options.file, kMaximumUserImageBytes));
  const std::string name =
      options.name.empty() ? std::filesystem::path(options.file).stem().string() : options.name;
  CUBINET_TRY_ASSIGN(const KernelSpec spec, spec_of_user_image(name, file));
  // The image is checked before the home is opened, so that a file that is not an image creates no
  // home.
  CUBINET_TRY_ASSIGN(const std::vector<Cubin> builds, builds_of_user_image(spec, file));
  CUBINET_TRY_ASSIGN(const auto home, context.open_registry(HomeOptions::Access::read_write));
  CUBINET_TRY_ASSIGN(const CubinRecords there, home->find(identify(spec)));
  nlohmann::json entries = nlohmann::json::array();
  for (const Cubin& build : builds) {
    const CubinRecord& record = *build.record;
    CUBINET_TRY(home->publish(build));
    const bool added = !lies_there(there, record);
    nlohmann::json entry = describe_fully(record);
    entry["added"] = added;
    entries.push_back(std::move(entry));
    context.console().text(fmt::format(
        "{}  {}  {}  {}  {}", record.target_name(), record.identity.key().to_string(),
        format_bytes(record.size), printable(name_with_pin(spec, name)), added ? "added" : "there already"));
  }
  const std::vector<std::string> others = namesakes(*home, spec);
  if (!others.empty()) {
    context.console().message(LogLevel::warning,
                              fmt::format("'{}' is the name of other kernels too: {}; NAME@PIN says which",
                                          printable(name), printable(join(others))));
  }
  nlohmann::json document = describe(spec);
  document["home"] = home->description().place;
  document["entries"] = std::move(entries);
  context.console().document(document);
  return ExitStatus::done;
}

}  // namespace

void add_registry_add(CLI::App& registry, Action& chosen) {
  CLI::App* verb = registry.add_subcommand(
      "add", "Keep a cubin, PTX or fatbinary of your own; status 0 only if it is kept");
  auto options = std::make_shared<AddOptions>();
  verb->add_option("FILE", options->file,
                   "The image; every cubin and PTX of a fatbinary is a build of its kernel")
      ->required()
      ->type_name("");
  add_text(*verb, "--name", options->name, "NAME",
           "What it is known by (default: the file's, without its ending)");
  verb->footer(
      R"(The same file is added once, however often that is asked; another file of the name is another kernel.

Examples:
  cubinet registry add gemm.fatbin
  cubinet registry add build/gemm_v2.cubin --name gemm)");
  choose<AddOptions>(*verb, chosen, options, add);
}

}  // namespace cubinet::cli
